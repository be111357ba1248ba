"""What the command `moodstream rebuild` does, apart from its flags."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import typer

from moodstream.cli.output import messages, screen, write_json
from moodstream.cli.progress import bar
from moodstream.cli.rebuild.plan import Plan, Target, plan_all, plan_one
from moodstream.cli.settings import Settings
from moodstream.schemas.errors import InvalidUsage
from moodstream.schemas.identity import split_key
from moodstream.schemas.rebuild import Rebuild
from moodstream.state.reader import StateReader
from moodstream.streams.broker import reported
from moodstream.streams.bus import Bus
from moodstream.streams.event_log import EventLog
from moodstream.streams.report import Receipt
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import check

_POLL_SECONDS: Final = 0.1
BEHIND, NOT_COVERED = 1, 3
"""Exit codes."""


class How(NamedTuple):
    """How a rebuild is to go about it."""

    partial: bool
    from_offset: int | None
    wait: float
    yes: bool
    as_json: bool


class Done(NamedTuple):
    """How it went."""

    sent: int
    applied: int
    """Agents whose rows are known to be made."""


async def run(settings: Settings, tenant: str | None, agent: str | None, how: How) -> int:
    """Plan, ask, send, wait, report; gives the exit code."""
    await check(settings.streams)
    reader = StateReader(settings.state)
    try:
        async with reported(settings.streams):
            plan = await _plan(settings.streams, reader, tenant, agent, how)
            _ask(plan, how)
            targets = plan.targets(partial=how.partial)
            receipts = await _send(settings.streams, targets, how)
            done = Done(len(receipts), await _applied(settings.streams, reader, receipts, how))
    finally:
        await reader.close()
    return _report(plan, done, how)


async def _plan(streams: StreamSettings, reader: StateReader, tenant: str | None, agent: str | None, how: How) -> Plan:
    if agent is None or tenant is None:
        return await plan_all(streams, reader, tenant)
    return await plan_one(streams, reader, tenant, agent, how.from_offset)


def _ask(plan: Plan, how: How) -> None:
    """Ask before anything is lost; who says no ends the command with code 1."""
    if not (how.partial and plan.lost) or how.yes:
        return
    if how.as_json:
        raise InvalidUsage("nobody can be asked with --json", hint="Add --yes.")
    question = f"{len(plan.lost):,} agents lose what the log no longer has. Make their rows from what is left?"
    typer.confirm(question, abort=True, err=True)


async def _send(streams: StreamSettings, targets: Sequence[Target], how: How) -> list[Receipt]:
    """Send an event for each agent, in batches."""
    now, receipts = datetime.now(UTC), list[Receipt]()
    size = streams.limits.batch_events
    async with Bus(streams) as bus:
        for at in range(0, len(targets), size):
            report = await bus.fire_all([_event(one, now, how) for one in targets[at : at + size]])
            report.raise_for_failures()
            receipts += report.receipts
    return receipts


def _event(target: Target, now: datetime, how: How) -> Rebuild:
    tenant, agent = split_key(target.head.key)
    return Rebuild(tenant_id=tenant, agent_id=agent, occurred_at=now, partial=how.partial, from_offset=how.from_offset)


async def _applied(streams: StreamSettings, reader: StateReader, receipts: Sequence[Receipt], how: How) -> int:
    """Wait until the workers are behind all of these events, for so long; how many they are behind."""
    wanted: dict[int, list[int]] = {}
    for receipt in receipts:
        wanted.setdefault(receipt.partition, []).append(receipt.offset)
    for partition, offsets in wanted.items():
        if -1 in offsets:  # a write that was repeated: it lies before the end
            end = await EventLog(streams).end(partition)
            wanted[partition] = [end - 1 if offset < 0 else offset for offset in offsets]
    with bar(messages(), "rebuild", len(receipts)) as show:
        return await _until(reader, wanted, time.monotonic() + how.wait, show)


async def _until(
    reader: StateReader, wanted: dict[int, list[int]], deadline: float, show: Callable[[int], None]
) -> int:
    while True:
        done = 0
        for partition, offsets in wanted.items():
            meta = await reader.partition_meta(partition)
            source = 0 if meta is None else meta.source
            done += sum(offset < source for offset in offsets)
        show(done)
        if done == sum(map(len, wanted.values())) or time.monotonic() >= deadline:
            return done
        await asyncio.sleep(_POLL_SECONDS)


def _report(plan: Plan, done: Done, how: How) -> int:
    lost = len(plan.lost)
    if how.as_json:
        write_json({"agents": done.sent, "applied": done.applied, "not_covered": lost, "partial": how.partial})
    else:
        screen().print(f"{done.applied:,} of {done.sent:,} agents rebuilt")
        if done.applied < done.sent:
            screen().print("The workers go on with the others: the events are in the log.")
        if lost and not how.partial:
            screen().print(f"{lost:,} agents left alone: the log no longer has all their events (--partial).")
    if done.applied < done.sent and how.wait:
        return BEHIND
    return NOT_COVERED if lost and not how.partial else 0
