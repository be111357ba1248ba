"""`/livez` and `/readyz`: whether the process runs, and whether it can answer."""

from __future__ import annotations

import time
from collections.abc import Iterator

from fastapi import APIRouter, Response

from moodstream.query.access import Reader
from moodstream.query.answers import Check, Health
from moodstream.schemas.errors import StoreUnavailable
from moodstream.state.layout import FORMAT
from moodstream.state.reader import StateReader
from moodstream.state.views import AHEAD, RESTORING, PartitionMeta, StateFormat
from moodstream.state.workers import WorkerReport

router = APIRouter()

_PROGRESS = " {percent:.1f} %, {rows:,.0f} rows, {rows_per_s:,.0f} rows/s, {seconds_left:.0f} s left"


@router.get("/livez")
async def livez() -> dict[str, str]:
    """Tell that the process runs; it asks nobody else."""
    return {"status": "alive"}


@router.get("/readyz", responses={503: {"model": Health}})
async def readyz(reader: Reader, response: Response) -> Health:
    """Check what answers depend on: Redis, the format of its state, each partition, and that workers go on."""
    checks = await _checks(reader)
    ready = all(check.ok for check in checks)
    response.status_code = 200 if ready else 503
    return Health(ready=ready, checks=checks)


async def _checks(reader: StateReader) -> list[Check]:
    address = reader.settings.address
    try:
        found = await reader.format()
        reached = Check(name="redis", ok=True, reason=f"answers at {address}")
        checks = [reached, _format_check(found, address)]
        if found is not None and checks[-1].ok:
            workers = await reader.workers()
            metas = [await reader.partition_meta(number) for number in range(found.partitions)]
            checks += [_partition_check(number, meta, workers) for number, meta in enumerate(metas)]
            checks.append(_workers_check(workers))
    except StoreUnavailable as error:
        return [Check(name="redis", ok=False, reason=error.detail)]
    return checks


def _format_check(found: StateFormat | None, address: str) -> Check:
    if found is None:
        reason = f"Redis at {address} holds no state of this prefix yet: start a worker"
        return Check(name="state", ok=False, reason=reason)
    if found.format != FORMAT:
        reason = f"the state has format {found.format}, this program reads format {FORMAT}"
        return Check(name="state", ok=False, reason=reason)
    return Check(name="state", ok=True, reason=f"format {found.format}, {found.partitions} partitions")


def _partition_check(number: int, meta: PartitionMeta | None, workers: list[WorkerReport]) -> Check:
    name = f"partition {number}"
    doing = [text for one in workers if one.fresh for text in _doing(number, one)]
    if meta is None:
        return Check(name=name, ok=False, reason="; ".join(["no worker has taken it over yet", *doing]))
    if meta.state == RESTORING:
        reason = f"being restored from the changelog, now at {meta.changelog}"
        return Check(name=name, ok=False, reason="; ".join([reason, *doing]), lag=meta.lag)
    if meta.state == AHEAD:
        reason = "Redis is ahead of the changelog, which has lost records: see docs/durability.md"
        return Check(name=name, ok=False, reason=reason)
    reason = f"applied up to offset {meta.source}"
    return Check(name=name, ok=True, reason="; ".join([reason, *doing]), lag=meta.lag)


def _doing(number: int, worker: WorkerReport) -> Iterator[str]:
    """What a worker says of a partition that it has and cannot fold yet."""
    phase = worker.phases.get(str(number), "")
    if phase in ("", "ready", "closed"):
        return
    text = f"{worker.name}: {phase}"
    facts = worker.progress.get(str(number))
    if facts:
        text += _PROGRESS.format(**facts)
    yield text


def _workers_check(reports: list[WorkerReport]) -> Check:
    """Workers that have stopped on purpose take their report back: where none has ever spoken, nothing is wrong."""
    fresh = [one for one in reports if one.fresh]
    waiting = [f"{one.name} waits: {one.waiting}" for one in fresh if one.waiting]
    if waiting:
        return Check(name="workers", ok=False, reason="; ".join(waiting))
    if fresh:
        return Check(name="workers", ok=True, reason=f"{len(fresh)} at work")
    if reports:
        age = time.time() - max(one.at for one in reports)
        return Check(name="workers", ok=False, reason=f"no worker has spoken for {age:.0f} s: answers grow old")
    return Check(name="workers", ok=True, reason="none has reported here")
