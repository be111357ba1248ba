"""What the command `moodstream rebuild` does, apart from its flags."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from moodstream.cli.applied import send, wait_applied
from moodstream.cli.asking import confirm
from moodstream.cli.output import messages, screen, write_json
from moodstream.cli.progress import bar
from moodstream.cli.rebuild.plan import Plan, Target, plan_all, plan_one
from moodstream.cli.settings import Settings
from moodstream.schemas.identity import split_key
from moodstream.schemas.rebuild import Rebuild
from moodstream.state.reader import StateReader
from moodstream.streams.broker import reported
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import check

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
            now = datetime.now(UTC)
            receipts = await send(settings.streams, [_event(one, now, how) for one in targets])
            with bar(messages(), "rebuild", len(receipts)) as show:
                applied = await wait_applied(settings.streams, reader, receipts, how.wait, show)
            done = Done(len(receipts), applied)
    finally:
        await reader.close()
    return _report(plan, done, how)


async def _plan(streams: StreamSettings, reader: StateReader, tenant: str | None, agent: str | None, how: How) -> Plan:
    if agent is None or tenant is None:
        return await plan_all(streams, reader, tenant)
    return await plan_one(streams, reader, tenant, agent, how.from_offset)


def _ask(plan: Plan, how: How) -> None:
    """Ask before anything is lost."""
    if how.partial and plan.lost:
        question = f"{len(plan.lost):,} agents lose what the log no longer has. Make their rows from what is left?"
        confirm(question, yes=how.yes, as_json=how.as_json)


def _event(target: Target, now: datetime, how: How) -> Rebuild:
    tenant, agent = split_key(target.head.key)
    return Rebuild(tenant_id=tenant, agent_id=agent, occurred_at=now, partial=how.partial, from_offset=how.from_offset)


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
