"""What the command `moodstream sweep` does, apart from its flags."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

from moodstream.cli.output import messages, write_json
from moodstream.cli.output import screen as results
from moodstream.cli.progress import bar
from moodstream.cli.settings import Settings
from moodstream.cli.sweep.plan import Planner
from moodstream.schemas.erasure import Expire
from moodstream.schemas.errors import NotFound
from moodstream.state.reader import StateReader
from moodstream.streams.bus import Bus
from moodstream.streams.retention import last_copies

_PAGE: Final = 1_000
_BATCH: Final = 200


@dataclass
class Swept:
    """What one look found."""

    agents: int = 0
    """Agents that were looked at."""
    expiries: int = 0
    """Events that were, or would be, published."""
    published: bool = False


async def run(settings: Settings, *, once: bool, dry_run: bool, as_json: bool) -> None:
    """Look, publish, and look again after a while. Raises `BrokerUnavailable`, `StoreUnavailable`, `Restoring`."""
    reader = StateReader(settings.state)
    try:
        while True:
            swept = await look(settings, reader, datetime.now(UTC), dry_run=dry_run)
            if as_json:
                write_json(asdict(swept))
            else:
                word = "published" if swept.published else "to be published"
                results().print(f"{swept.agents:,} agents, {swept.expiries:,} expiries {word}")
            if once or dry_run:
                return
            await asyncio.sleep(settings.sweep.every_hours * 3_600)
    finally:
        await reader.close()


async def look(settings: Settings, reader: StateReader, now: datetime, *, dry_run: bool) -> Swept:
    """Look at every agent once, and publish what is to expire as of `now`."""
    swept = Swept(published=not dry_run)
    planner = Planner(reader, settings.sweep, now, await _input_retention(settings))
    batch: list[Expire] = []
    total = sum([await reader.count_agents(tenant) for tenant in await reader.tenants()])
    async with Bus(settings.streams) as bus:
        with bar(messages(), "sweep", total) as done:
            async for tenant, agent in _agents(reader):
                with suppress(NotFound):  # erased since it was listed
                    batch += await planner.plan(tenant, agent)
                swept.agents += 1
                done(swept.agents)
                if len(batch) >= _BATCH:
                    await _publish(bus, batch, swept)
        await _publish(bus, batch, swept)
    return swept


async def _publish(bus: Bus, batch: list[Expire], swept: Swept) -> None:
    """Send what has gathered; on a dry run it is only counted."""
    swept.expiries += len(batch)
    if batch and swept.published:
        (await bus.fire_all(list(batch))).raise_for_failures()
    batch.clear()


async def _agents(reader: StateReader) -> AsyncIterator[tuple[str, str]]:
    """All agents of all tenants."""
    for tenant in await reader.tenants():
        after: str | None = None
        while True:
            page = await reader.agents(tenant, after, _PAGE)
            for entry in page:
                yield tenant, entry.agent
            if len(page) < _PAGE:
                break
            after = page[-1].agent


async def _input_retention(settings: Settings) -> int | None:
    """How long the log and the dead letters, which may be replayed, keep inputs at most (ms); None: for ever."""
    topics = settings.streams.topics
    kept = [one.after_ms for one in await last_copies(settings.streams) if one.topic in (topics.events, topics.dead)]
    known = [ms for ms in kept if ms is not None]
    return max(known) if len(known) == len(kept) else None
