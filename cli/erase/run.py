"""What the command `moodstream erase` does, apart from its flags."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from moodstream.cli.applied import send, wait_applied
from moodstream.cli.asking import confirm
from moodstream.cli.erase import screen
from moodstream.cli.erase.found import Result, Target
from moodstream.cli.erase.traces import scanned, traces
from moodstream.cli.output import messages, write_json
from moodstream.cli.output import screen as results
from moodstream.cli.progress import bar
from moodstream.cli.settings import Settings
from moodstream.schemas.erasure import TARGETS, Erase
from moodstream.schemas.errors import InvalidUsage
from moodstream.schemas.events import make
from moodstream.schemas.identity import split_key
from moodstream.schemas.instants import from_ms
from moodstream.state.reader import StateReader
from moodstream.state.rows import AGENT, HEADER, row_key
from moodstream.state.views import AgentFacts, ScannedAgent
from moodstream.streams.retention import last_copies

_MS: Final = timedelta(milliseconds=1)


@dataclass(frozen=True)
class How:
    """How to go about it."""

    yes: bool
    dry_run: bool
    wait: float
    as_json: bool


@dataclass(frozen=True)
class Asked:
    """What is to be erased: of an agent of one tenant, or, without one, everywhere."""

    agent: str
    tenant: str | None
    target: dict[str, str]
    """The field of `Erase` that says what of it; empty: all."""

    @classmethod
    def of(
        cls,
        agent: str,
        tenant: str | None,
        domain: str | None,
        memory: str | None,
        other: str | None,
        *,
        everywhere: bool,
    ) -> Asked:
        """Read the flags. Raises `InvalidUsage` where they do not go together."""
        given = {"domain": domain, "memory_id": memory, "other_agent_id": other}
        target = {name: value for name, value in given.items() if value is not None}
        if len(target) > 1:
            raise InvalidUsage("one thing at a time", hint="Give one of --domain, --memory and --other, or none.")
        if everywhere is (tenant is not None):
            raise InvalidUsage("whose agent is not said", hint="Give --tenant, or --everywhere for all tenants.")
        if everywhere and target:
            raise InvalidUsage("everywhere means all of it", hint="Leave out --domain, --memory and --other.")
        return cls(agent, tenant, target)


async def run(settings: Settings, asked: Asked, how: How) -> int:
    """Erase after showing what, and asking; give the exit code."""
    reader = StateReader(settings.state)
    try:
        targets = await _targets(reader, asked)
        if how.dry_run or not targets:
            _show(how, Result(targets, []))
            return 0
        look = partial(screen.show_targets, messages(), targets)
        confirm("Erase it for good?", yes=how.yes, as_json=how.as_json, show=look)
        receipts = await send(settings.streams, [target.event for target in targets])
        result = Result(targets, await last_copies(settings.streams), receipts=receipts)
        result.applied = await wait_applied(settings.streams, reader, receipts, how.wait) == len(receipts)
        if result.applied:
            result.left = [(await traces(reader, target.event))[0] for target in targets]
    finally:
        await reader.close()
    _show(how, result)
    return 0 if result.applied else 1


async def _targets(reader: StateReader, asked: Asked) -> list[Target]:
    if asked.tenant is None:
        return [one async for one in _everywhere(reader, asked.agent)]
    event = erasure(asked.tenant, asked.agent, 0, **asked.target)
    found, view = await traces(reader, event)
    newest = 0 if view is None else view.facts.newest
    return [Target(erasure(asked.tenant, asked.agent, newest, **asked.target), found, known=view is not None)]


def erasure(tenant: str, agent: str, newest_ms: int = 0, **target: str) -> Erase:
    """The event. It happens now, but after all that it erases: a publisher's clock may have been ahead.

    Raises `InvalidEvent`.
    """
    scope = next((scope for scope, name in TARGETS.items() if name is not None and name in target), "agent")
    at = max(datetime.now(UTC), from_ms(newest_ms) + _MS)
    fields: dict[str, Any] = {"tenant_id": tenant, "agent_id": agent, "occurred_at": at, "scope": scope, **target}
    return make(Erase, **fields)


async def _everywhere(reader: StateReader, agent: str) -> AsyncIterator[Target]:
    """Agents of that id in all tenants, and agents that have to do with it, by a look at every row."""
    partitions = await reader.partitions()
    with bar(messages(), "look", partitions) as done:
        for number in range(partitions):
            async for found in reader.scan_partition(number):
                target = _target(found, agent)
                if target is not None:
                    yield target
            done(number + 1)


def _target(found: ScannedAgent, agent: str) -> Target | None:
    tenant, name = split_key(found.key)
    target = {} if name == agent else {"other_agent_id": agent}
    event = erasure(tenant, name, _newest(found), **target)
    taken = scanned(found, event)
    return Target(event, taken) if taken or not target else None


def _newest(found: ScannedAgent) -> int:
    return AgentFacts.unpack(found.rows[row_key(found.key, AGENT)][HEADER.size :]).newest


def _show(how: How, result: Result) -> None:
    if how.as_json:
        write_json(result.as_json())
    else:
        screen.show(results(), result)
