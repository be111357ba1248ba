"""The marker row of an agent (docs/rows.md, `erased`): what was erased, so that nothing of it can come back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from moodstream.schemas.identity import hash_id
from moodstream.state.rows import MARK, MARK_COUNT

IDS_KEPT: Final = 64
"""Ids of the newest erase and expire events: one that is published again is a duplicate."""
MARKS_KEPT: Final = 4_096
"""Erasures remembered of one agent: a marker row must fit into a record of the broker."""

_ID_BYTES = 12
_NO_HASH = bytes(_ID_BYTES)
_COUNT = Struct(">B")


class ScopeKind(IntEnum):
    """What an erasure was about, by its number in the row."""

    AGENT = 1
    DOMAIN = 2
    MEMORY = 3
    """An event that was not known when it was erased."""
    OTHER_AGENT = 4
    EXPIRE = 5


class Place(NamedTuple):
    """What of the agent was erased: a kind, and the hash of the name of a domain, another agent or an event."""

    kind: ScopeKind
    what: bytes

    @classmethod
    def of(cls, kind: ScopeKind, name: str | None = None) -> Place:
        """The place with that name; without one it is all there is of its kind."""
        return cls(kind, _NO_HASH if name is None else hash_id(name))


class Mark(NamedTuple):
    """When it was erased: records before `offset`, and those of events before `ms`, do not count any more."""

    offset: int
    ms: int
    """Time of the erasure; of an expiry the time before which it reaches."""

    def covers(self, offset: int, ms: int) -> bool:
        """Whether a record at an offset, with an event at a time, has been erased."""
        return offset < self.offset or ms < self.ms


@dataclass(slots=True)
class Markers:
    """The erasures of one agent: the newest per place, and the ids of the events that asked for them, oldest first."""

    marks: dict[Place, Mark] = field(default_factory=dict)
    ids: list[bytes] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.marks or self.ids)

    @property
    def erasing(self) -> bool:
        """Whether something was erased, and not only expired: that is remembered also without the agent."""
        return any(place.kind is not ScopeKind.EXPIRE for place in self.marks)

    def add(self, place: Place, offset: int, ms: int) -> None:
        """Note an erasure. The erasure of all forgets the others as far as it reaches."""
        before = self.marks.get(place)
        mark = Mark(offset, ms if before is None else max(ms, before.ms))
        self.marks[place] = mark
        if place.kind is ScopeKind.AGENT:
            self.marks = {other: m for other, m in self.marks.items() if other == place or m.ms > mark.ms}
        self._bound()

    def know(self, ident: bytes) -> None:
        """Note the id of an erase or expire event."""
        self.ids = [*self.ids, ident][-IDS_KEPT:]

    def forget(self, ms: int) -> None:
        """Forget erasures that are older than a time: no input can come from before. Expiries stay."""
        kept = {place: mark for place, mark in self.marks.items() if place.kind is ScopeKind.EXPIRE or mark.ms >= ms}
        self.marks = kept

    def covers(self, place: Place, offset: int, ms: int) -> bool:
        """Whether a record has been erased by an erasure of this place."""
        mark = self.marks.get(place)
        return mark is not None and mark.covers(offset, ms)

    def expired(self, domain: str, ms: int) -> bool:
        """Whether what happened in a domain at a time has expired."""
        return any(
            (mark := self.marks.get(Place.of(ScopeKind.EXPIRE, name))) is not None and ms < mark.ms
            for name in (None, domain)
        )

    def pack(self) -> bytes:
        """The row's body."""
        marks = [MARK.pack(*place, *mark) for place, mark in sorted(self.marks.items())]
        return b"".join((MARK_COUNT.pack(len(marks)), *marks, _COUNT.pack(len(self.ids)), *self.ids))

    @classmethod
    def unpack(cls, body: bytes | None) -> Markers:
        """Read a row's body; None is that of an agent of which nothing was ever erased."""
        if body is None:
            return cls()
        (count,) = MARK_COUNT.unpack_from(body)
        end = MARK_COUNT.size + count * MARK.size
        marks = {
            Place(ScopeKind(kind), what): Mark(offset, ms)
            for kind, what, offset, ms in MARK.iter_unpack(body[MARK_COUNT.size : end])
        }
        start = end + _COUNT.size
        return cls(marks, [body[at : at + _ID_BYTES] for at in range(start, len(body), _ID_BYTES)])

    def _bound(self) -> None:
        """Drop the oldest erasures of single events and other agents where there are too many."""
        while len(self.marks) > MARKS_KEPT:
            small = (place for place in self.marks if place.kind in (ScopeKind.MEMORY, ScopeKind.OTHER_AGENT))
            del self.marks[min(small, key=lambda place: (self.marks[place].offset, place))]
