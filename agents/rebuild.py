"""Replaces the rows of agents by others, through the log: what readers see is an agent before or after, never between.

The position in the events stays where it is. A crash in between leaves some agents replaced, the others as they were.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import Final, Protocol

import structlog

from moodstream.affect.params import Fold
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.decode import Record
from moodstream.agents.migrations import Migration
from moodstream.agents.refold import EventSource, Rows, notice_of, refold
from moodstream.schemas.errors import Fenced
from moodstream.state.marker_row import Markers
from moodstream.state.ownership import Ownership, Phase
from moodstream.state.partition import Wanted
from moodstream.state.rows import MOOD, PROFILE, Kind, Row, RowError, hash_key, row_key, unpack_row
from moodstream.streams.settings import StreamSettings

log = structlog.get_logger(__name__)

WRITTEN_ROWS: Final = 5_000
"""Rows of one append and one script call, but for the last agent in it: Redis serves nobody else meanwhile."""
_READ_AGENTS: Final = 64


class Replaced:
    """An agent whose rows have just been replaced."""

    def __init__(self, agent: AgentRows, moved: bool) -> None:
        self.agent = agent
        self.moved = moved
        """Whether its newest mood, or the way that goes on from there, is another one now."""


class Rebuilder:
    """Replaces agents of one partition, for its owner."""

    def __init__(self, ownership: Ownership, source: EventSource, settings: StreamSettings, fold: Fold) -> None:
        self.ownership = ownership
        self.source = source
        self.fold = fold
        self._settings = settings

    async def start(self) -> int:
        """Offset of the oldest record of the log."""
        return await self.source.start(self.ownership.partition)

    async def rebuild(
        self, keys: Collection[bytes], start: int, parts: Collection[bytes] = ()
    ) -> AsyncIterator[list[Replaced]]:
        """Replace agents by what the log says; gives them as they become visible.

        None has an event before `start`, but those of `parts`: they lose what it did.
        """
        before = await self._markers(sorted(keys))
        if before:  # what was erased comes again with its erasures, and those may be older than the agent's life
            start = await self.start()
        bounds = start, self.ownership.position.source
        partition = self.ownership.partition, self._settings.partitions
        stubs = await self._stubs([key for key in keys if key in parts and key in before], start)
        made = await refold(_WhileOwned(self), partition, keys, bounds, self.fold, self._settings.limits, before, stubs)

        def convert(key: bytes, stored: Rows) -> tuple[AgentRows, Rows]:
            rows = made[key].rows(notice_of(key, stored))
            return made.pop(key).agent, rows

        async for done in self._replace(sorted(keys), convert):
            yield done

    async def migrate(self, keys: Collection[bytes], migration: Migration) -> AsyncIterator[list[Replaced]]:
        """Replace agents by what a migration makes of their rows."""

        def convert(key: bytes, stored: Rows) -> tuple[AgentRows, Rows]:
            rows = migration.convert(stored, self.fold)
            small = {suffix: rows.get(row_key(key, suffix)) for suffix in SMALL_ROWS}
            return AgentRows.load(key, small, self.fold), rows

        async for done in self._replace(sorted(keys), convert):
            yield done

    async def loaded(self, keys: Sequence[bytes]) -> list[AgentRows]:
        """Agents as they are stored, with the rows that tell their mood."""
        stored = await self.ownership.whole(keys)
        return [
            AgentRows.load(key, {suffix: stored[key].get(row_key(key, suffix)) for suffix in SMALL_ROWS}, self.fold)
            for key in keys
        ]

    async def _markers(self, keys: Sequence[bytes]) -> dict[bytes, Markers]:
        """What was erased of these agents; of a row that cannot be read, what the log says of it."""
        found: dict[bytes, Markers] = {}
        wanted = Wanted(self.ownership.layout.erased, [hash_key(key) for key in keys])
        (rows,) = await self.ownership.load([wanted])
        for key, data in zip(keys, rows, strict=True):
            try:
                if data is not None:
                    found[key] = Markers.unpack(unpack_row(data).body)
            except (RowError, PackingError, ValueError):
                found[key] = Markers()
                log.warning("marker row cannot be read", partition=self.ownership.partition)
        return found

    async def _stubs(self, keys: Sequence[bytes], start: int) -> dict[bytes, Rows]:
        """What stands for memories that were erased before the log begins: nothing there tells of them any more."""
        found: dict[bytes, Rows] = {}
        for at in range(0, len(keys), _READ_AGENTS):
            for key, stored in (await self.ownership.whole(keys[at : at + _READ_AGENTS])).items():
                found[key] = {name: data for name, data in stored.items() if _is_stub(data, start)}
        return found

    async def _replace(self, keys: Sequence[bytes], convert: _Convert) -> AsyncIterator[list[Replaced]]:
        rows: dict[bytes, bytes | None] = {}
        done: list[Replaced] = []
        for at in range(0, len(keys), _READ_AGENTS):
            some = keys[at : at + _READ_AGENTS]
            for key, stored in (await self.ownership.whole(some)).items():
                agent, new = convert(key, stored)
                rows.update(dict.fromkeys(stored.keys() - new.keys()))
                rows.update(new)
                done.append(Replaced(agent, _moved(key, stored, new)))
                if len(rows) >= WRITTEN_ROWS:
                    await self._write(rows)
                    yield done
                    rows, done = {}, []
        if done:
            await self._write(rows)
            yield done

    async def _write(self, rows: Mapping[bytes, bytes | None]) -> None:
        position = self.ownership.position
        await self.ownership.append(rows, position)
        await self.ownership.flush(rows, position)


class _WhileOwned:
    """The log, for as long as the partition is this owner's: a read takes long, a rebalance comes any time."""

    def __init__(self, rebuilder: Rebuilder) -> None:
        self._source = rebuilder.source
        self._owned = rebuilder.ownership

    async def start(self, partition: int) -> int:
        return await self._source.start(partition)

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[Sequence[Record]]:
        async for records in self._source.read(partition, start, end):
            if self._owned.phase is Phase.CLOSED:
                raise Fenced(f"partition {partition} was taken away while its agents were folded again")
            yield records


class _Convert(Protocol):
    def __call__(self, key: bytes, stored: Rows) -> tuple[AgentRows, Rows]: ...


def _moved(key: bytes, stored: Rows, new: Rows) -> bool:
    """Whether the mood is another one, or, under a default profile that may have changed, will be."""
    before, after = (_readable(rows.get(row_key(key, MOOD))) for rows in (stored, new))
    if (before and before.body) != (after and after.body):
        return True
    own_profile = row_key(key, PROFILE) in new
    return before is not None and after is not None and before.stamp != after.stamp and not own_profile


def _is_stub(data: bytes, before: int) -> bool:
    row = _readable(data)
    return row is not None and row.kind is Kind.ERASED and row.offset < before


def _readable(data: bytes | None) -> Row | None:
    try:
        return None if data is None else unpack_row(data)
    except RowError:
        return None
