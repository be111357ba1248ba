"""Agents folded anew: their rows made from the log alone, from its first record up to where the partition stands.

It is the fold of every chunk, on an agent that has no rows yet. Nothing of what Redis holds is looked at, but for the
row `notice`, which is no function of the log, and for erasures from before the part of the log that is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

import structlog

from moodstream.affect.params import Fold
from moodstream.affect.trends import TrendRow
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.decode import Record, decode_records, others_of
from moodstream.agents.fold import Entry, Folding
from moodstream.schemas.limits import Limits
from moodstream.state.marker_row import IDS_KEPT, Markers
from moodstream.state.notice_row import unpack_notices
from moodstream.state.rows import (
    ERASED,
    NOTICE,
    RowError,
    bucket_and_id,
    pair_suffix,
    row_key,
    split_row_key,
    unpack_row,
)

log = structlog.get_logger(__name__)

Rows = dict[bytes, bytes]


class EventSource(Protocol):
    """The log of events: `streams.event_log.EventLog` in life, a list in tests."""

    async def start(self, partition: int) -> int:
        """Offset of the oldest record that there still is."""
        ...

    def read(self, partition: int, start: int, end: int) -> AsyncIterator[Sequence[Record]]:
        """Give the records at offsets from `start` up to `end`; raises where the log ends before."""
        ...


class Refolded:
    """One agent without rows, and what the log has made of it so far."""

    def __init__(
        self, key: bytes, fold: Fold, before: Markers, stubs: Mapping[bytes, bytes], without: Collection[int] = ()
    ) -> None:
        self.agent = AgentRows.load(key, dict.fromkeys(SMALL_ROWS), fold)
        self.agent.markers = Markers(dict(before.marks))
        self.before = before
        """Erasures from before the part of the log that is read: they still count."""
        self.stubs = stubs
        """Rows that stand for memories which were erased before it, by row key: so do these."""
        self.refused = set(without)
        """Offsets of the events that the fold cannot take: it is begun again without them."""
        self.spoiled = False
        """Whether an event has just turned out to be one of them."""
        self._folding = Folding({bucket_and_id(split_row_key(name)[1])[1]: None for name in stubs})
        self._folding.changes.rows.update(stubs)

    def fold(self, entries: Sequence[Entry]) -> None:
        """Fold the next events."""
        if self.spoiled:
            return
        for other in others_of(entries):
            self.agent.trends.setdefault(pair_suffix(other), TrendRow())
        for entry in entries:
            if entry.offset in self.refused:
                continue
            try:
                self._folding.fold(self.agent, entry)
            except Exception:
                log.exception("fold raised", offset=entry.offset)
                self.refused.add(entry.offset)
                self.spoiled = True
                return

    def rows(self, notice: bytes | None) -> Rows:
        """All rows by row key, once everything is folded; `notice`: the row as it is stored."""
        agent, before = self.agent, self.before
        if before:
            known = agent.markers.ids
            agent.markers.ids = [*(ident for ident in before.ids if ident not in known), *known][-IDS_KEPT:]
            agent.touched.setdefault(ERASED, max((mark.offset for mark in before.marks.values()), default=-1))
        if agent.facts.accepted and notice is not None:
            _keep_notices(agent, notice)
        packed = {**self._folding.changes.rows, **agent.pack_touched()}
        return {key: row for key, row in packed.items() if row is not None}


def _keep_notices(agent: AgentRows, stored: bytes) -> None:
    """Take over what was announced: else every trend would be announced again."""
    try:
        row = unpack_row(stored)
        agent.notices = unpack_notices(row.body)
    except (RowError, ValueError, TypeError, AttributeError):
        log.warning("notices cannot be read", agent=agent.key.decode(errors="replace"))
        return
    agent.touched[NOTICE] = row.offset


def _earlier(markers: Markers | None, start: int) -> Markers:
    """The erasures at offsets before `start`, with all ids: those of later ones come again."""
    if markers is None:
        return Markers()
    marks = {place: mark for place, mark in markers.marks.items() if mark.offset < start}
    return Markers(marks, list(markers.ids)) if marks else Markers()


def notice_of(key: bytes, stored: Rows) -> bytes | None:
    """The row `notice` among an agent's rows."""
    return stored.get(row_key(key, NOTICE))


async def refold(
    source: EventSource,
    partition: tuple[int, int],
    keys: Collection[bytes],
    bounds: tuple[int, int],
    fold: Fold,
    limits: Limits,
    before: Mapping[bytes, Markers],
    stubs: Mapping[bytes, Mapping[bytes, bytes]],
) -> dict[bytes, Refolded]:
    """Fold agents of a partition (number, and how many there are) from the records within the bounds.

    `before`: what was erased of them, as the marker rows say; what was within the bounds is erased again. `stubs`: what
    stands for single memories that were erased before the bounds.

    Everything is read once, and once more for an agent of which an event turns out to be one that no fold can take.
    """
    agents = {key: Refolded(key, fold, _earlier(before.get(key), bounds[0]), stubs.get(key, {})) for key in keys}
    todo = dict(agents)
    while todo:
        async for records in source.read(partition[0], *bounds):
            wanted = [record for record in records if record.key in todo]
            for key, entries in decode_records(wanted, *partition, limits).agents.items():
                todo[key].fold(entries)
            await asyncio.sleep(0)  # a page is as long as anybody else should wait
        todo = {
            key: Refolded(key, fold, one.before, one.stubs, one.refused) for key, one in todo.items() if one.spoiled
        }
        agents.update(todo)
    return agents
