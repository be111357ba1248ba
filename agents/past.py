"""What a whole agent has beyond its small rows, as far as the erasures of a chunk are about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import NamedTuple

from moodstream.affect.mood import Shift
from moodstream.affect.trends import TrendRow
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.instants import to_ms, to_us
from moodstream.state.rows import (
    BUCKET_SECONDS,
    Kind,
    MemoryContent,
    MemoryRow,
    RowError,
    Stub,
    bucket_and_id,
    bucket_of,
    kind_of,
    split_row_key,
    unpack_row,
)

Erasure = Erase | Expire


class Dated(NamedTuple):
    """A row of a bucket, by what erasures ask of it."""

    kind: Kind
    """Of a memory, a shift, or what stands for an erased memory."""
    ident: bytes
    """H(event_id)."""
    ms: int
    domain: str = ""
    others: frozenset[str] = frozenset()
    """The other agents that a memory names."""

    @classmethod
    def of(cls, suffix: bytes, data: bytes) -> Dated:
        """Read what is needed of a row. Of one that cannot be read only the bucket tells how old it is."""
        bucket, ident = bucket_and_id(suffix)
        try:
            row = unpack_row(data)
            if row.kind is Kind.SHIFT:
                return cls.of_shift(ident, row.body)
            if row.kind is Kind.ERASED:
                return cls(row.kind, ident, Stub.decode(row.body).ms)
            return cls.of_memory(ident, MemoryRow.decode(row.body).content)
        except (RowError, PackingError):
            return cls(kind_of(suffix), ident, (bucket + 1) * BUCKET_SECONDS * 1000 - 1)

    @classmethod
    def of_shift(cls, ident: bytes, body: bytes) -> Dated:
        """The same of the body of a shift row."""
        return cls(Kind.SHIFT, ident, Shift.unpack(ident, body).t)

    @classmethod
    def of_memory(cls, ident: bytes, content: MemoryContent) -> Dated:
        """The same of a memory that is not packed yet."""
        return cls(
            Kind.MEMORY, ident, content.occurred_us // 1000, content.type.partition(".")[0], _others(content.attributes)
        )


_NOBODY: frozenset[str] = frozenset()


def _others(attributes: Mapping[str, str]) -> frozenset[str]:
    named = [attributes[key] for key in ("other-agent", "target-agent") if key in attributes]
    return frozenset(named) if named else _NOBODY


def reaches(event: Erasure, row: Dated) -> bool:
    """Whether an erasure takes a row of a bucket away."""
    if isinstance(event, Expire):
        domain = "mood" if row.kind is Kind.SHIFT else row.domain
        known = event.domain is None or (domain == event.domain and row.kind is not Kind.ERASED)
        return known and row.ms < to_ms(event.before)
    if event.scope == "agent":
        return True
    if event.scope == "domain":
        return event.domain == ("mood" if row.kind is Kind.SHIFT else row.domain)
    return event.scope == "other_agent" and event.other_agent_id in row.others


class Reach:
    """What many erasures take away together: a row is asked once, however many there are."""

    def __init__(self, erasures: Iterable[Erasure]) -> None:
        self._all = False
        self._domains: set[str | None] = set()
        self._others: set[str | None] = set()
        self._befores: dict[str | None, int] = {}
        for event in erasures:
            if isinstance(event, Expire):
                before = max(to_ms(event.before), self._befores.get(event.domain, 0))
                self._befores[event.domain] = before
            else:
                self._all |= event.scope == "agent"
                self._domains.add(event.domain)
                self._others.add(event.other_agent_id)

    def takes(self, row: Dated) -> bool:
        """Whether `reaches` holds of one of them."""
        domain = "mood" if row.kind is Kind.SHIFT else row.domain
        if self._all or domain in self._domains or not row.others.isdisjoint(self._others):
            return True
        mine = -1 if row.kind is Kind.ERASED else self._befores.get(domain, -1)
        return row.ms < max(mine, self._befores.get(None, -1))


@dataclass(slots=True)
class Past:
    """The rows of an agent that lie in Redis and are in reach of a chunk's erasures."""

    dated: dict[bytes, Dated] = field(default_factory=dict)
    """By suffix."""
    pairs: set[bytes] = field(default_factory=set)
    """Suffixes of all pair rows."""
    reports: TrendRow = field(default_factory=TrendRow)
    """Reports of the pairs that no event of the chunk is about, as many as the agent's trends can hold."""
    _noted: dict[bytes, bytes] = field(default_factory=dict)
    """The chunk's own rows that have been noted, by row key."""

    def copy(self) -> Past:
        """One to be changed while folding."""
        reports = TrendRow()
        reports.join(self.reports)
        return Past(dict(self.dated), set(self.pairs), reports)

    def note(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Add the rows that the chunk itself has written to buckets, by row key."""
        for key, data in rows.items():
            if data is not None and self._noted.get(key) is not data:
                self._noted[key] = data
                suffix = split_row_key(key)[1]
                self.dated[suffix] = Dated.of(suffix, data)

    def add_dated(self, rows: Mapping[bytes, bytes], reach: Reach) -> None:
        """Note those rows of buckets that are taken away."""
        for suffix, data in rows.items():
            row = Dated.of(suffix, data)
            if reach.takes(row):
                self.dated[suffix] = row

    def add_pairs(self, rows: Mapping[bytes, bytes], apart: Iterable[bytes]) -> None:
        """Note pair rows by suffix, and the reports of all but those that the chunk itself is about."""
        found = {suffix for suffix in rows if kind_of(suffix) is Kind.PAIR}
        self.pairs |= found
        for suffix in found.difference(apart):
            self.reports.join(TrendRow.unpack(unpack_row(rows[suffix]).body))
        self.reports.trim()


def erasures_of(events: Iterable[object]) -> list[Erasure]:
    """The events that need the agent whole: the erasure of one memory knows where to look."""
    found = [event for event in events if isinstance(event, Erase | Expire)]
    return [event for event in found if isinstance(event, Expire) or event.scope != "memory"]


def newest_bucket(erasures: Sequence[Erasure]) -> int | None:
    """The newest bucket that erasures reach; None: all of them."""
    befores = [to_us(event.before) for event in erasures if isinstance(event, Expire)]
    return bucket_of(max(befores)) if len(befores) == len(erasures) else None
