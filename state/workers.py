"""What workers say of themselves, for readiness: one line each, which goes stale when a worker is gone."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from moodstream.state.connection import call, reported

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.state.settings import StateSettings

STALE_SECONDS: Final = 10.0
"""A worker that has said nothing for so long counts as gone."""
_FORGET_SECONDS: Final = 3_600.0
_NONE: Final[Mapping[int, Mapping[str, float]]] = {}


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """One worker: what it does, why it waits if it does, and where its partitions stand."""

    name: str
    at: float
    """Unix time of the report, seconds."""
    waiting: str | None
    phases: Mapping[str, str]
    progress: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of partitions that restore: rows, rows_per_s, percent, seconds_left."""
    broker: str = ""
    """Address of its broker; empty: not told."""

    @property
    def fresh(self) -> bool:
        """Whether the worker still speaks."""
        return time.time() - self.at < STALE_SECONDS


def workers_key(prefix: str) -> bytes:
    """The hash of the reports: worker name to JSON."""
    return f"{prefix}state:workers".encode()


async def report(
    redis: Redis,
    settings: StateSettings,
    name: str,
    waiting: str | None,
    phases: Mapping[int, str],
    progress: Mapping[int, Mapping[str, float]] = _NONE,
    broker: str = "",
) -> None:
    """Say how this worker is. Raises `StoreUnavailable`."""
    said = {"at": time.time(), "waiting": waiting, "phases": phases, "progress": progress, "broker": broker}
    text = json.dumps(said)
    async with reported(settings.address):
        await call(redis, "HSET", workers_key(settings.prefix), name, text)


async def retract(redis: Redis, settings: StateSettings, name: str) -> None:
    """Take the report back: the worker has stopped on purpose."""
    async with reported(settings.address):
        await call(redis, "HDEL", workers_key(settings.prefix), name)


async def read_reports(redis: Redis, settings: StateSettings) -> list[WorkerReport]:
    """All workers that have spoken within the last hour. Raises `StoreUnavailable`."""
    async with reported(settings.address):
        raw: dict[bytes, bytes] = await call(redis, "HGETALL", workers_key(settings.prefix))
    found = [_parse(name, text) for name, text in sorted(raw.items())]
    return [one for one in found if time.time() - one.at < _FORGET_SECONDS]


def _parse(name: bytes, text: bytes) -> WorkerReport:
    said = json.loads(text)
    more = said.get("progress", {}), said.get("broker", "")
    return WorkerReport(name.decode(), said["at"], said["waiting"], said["phases"], *more)
