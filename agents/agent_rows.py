"""The rows of one agent in memory: read from their bytes, changed by the folds, packed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from moodstream.affect.mood import MoodRow
from moodstream.affect.params import Fold, order_of
from moodstream.affect.trends import TrendRow
from moodstream.agents.past import Past
from moodstream.schemas.errors import FoldMismatch
from moodstream.state.marker_row import Markers
from moodstream.state.notice_row import Notices, pack_notices, unpack_notices
from moodstream.state.profile_row import Profile
from moodstream.state.rows import (
    AGENT,
    ERASED,
    HEADER,
    MOOD,
    NOTICE,
    PAIR_PREFIX,
    PROFILE,
    TRENDS,
    Kind,
    erased_key,
    kind_of,
    maker_of,
    pack_erased,
    pack_row,
    pair_suffix,
    row_key,
    unpack_row,
)

SMALL_ROWS: Final = (AGENT, MOOD, TRENDS, PROFILE, NOTICE)
"""Suffixes that are read for every agent in a chunk."""

_FACTS = Struct(">qQq")

_AGENT, _TREND_ROW, _DECODED = 2_500, 350, 8
"""Bytes of memory: of an agent and of a trend row without anything in it, and per stored byte of other rows."""


@dataclass(slots=True)
class Facts:
    """What the row `agent` says: first offset, accepted events, newest time in ms."""

    first: int = -1
    accepted: int = 0
    newest: int = 0


@dataclass(slots=True)
class AgentRows:
    """One agent: its rows decoded, the bytes that they were decoded from, and which of them a chunk has changed."""

    key: bytes
    fold: Fold
    stored: dict[bytes, bytes] = field(default_factory=dict)
    """Rows by suffix, as Redis holds them; of trend rows the header alone: `trends` has the rest."""
    facts: Facts = field(default_factory=Facts)
    mood: MoodRow = field(default_factory=MoodRow)
    mood_offset: int = -1
    profile: Profile = field(init=False)
    notices: Notices = field(default_factory=dict)
    trends: dict[bytes, TrendRow] = field(default_factory=dict)
    """Trend rows by suffix: that of the agent, and those of the pairs that were asked for."""
    markers: Markers = field(default_factory=Markers)
    past: Past | None = None
    """What else it has, as stored, for as long as a chunk with an erasure is in hand."""
    touched: dict[bytes, int] = field(default_factory=dict)
    """Suffixes of the rows that have changed, with the offset of the last record that did it."""
    dropped: set[bytes] = field(default_factory=set)
    """Suffixes of rows that were deleted; one that has been touched since exists again."""

    def __post_init__(self) -> None:
        self.profile = Profile(self.fold.default_profile)

    @classmethod
    def load(cls, key: bytes, stored: Mapping[bytes, bytes | None], fold: Fold) -> AgentRows:
        """Decode rows. Raises `FoldMismatch` for rows of another fold: nothing may be folded onto them."""
        agent = cls(key, fold)
        agent.add(stored)
        return agent

    def fresh(self) -> AgentRows:
        """The same agent as its stored rows say, without what the folds have done since."""
        missing = dict.fromkeys(self.trends.keys() - self.stored.keys())
        agent = AgentRows.load(self.key, {**missing, **self.rows()}, self.fold)
        agent.past = self.past
        return agent

    @property
    def complete(self) -> bool:
        """Whether the rows that every chunk needs have been read."""
        return TRENDS in self.trends

    def rows(self) -> dict[bytes, bytes]:
        """Rows by suffix, as Redis holds them, in full; only before a chunk with an erasure (`keep_rows`) is folded."""
        return {suffix: self._row(suffix, data) for suffix, data in self.stored.items()}

    def _row(self, suffix: bytes, data: bytes) -> bytes:
        return data + self.trends[suffix].body if len(data) == HEADER.size and suffix in self.trends else data

    def keep_rows(self) -> None:
        """Keep all rows as they are stored: what follows replaces trend rows, and `rows` could not tell any more."""
        self.stored = self.rows()

    def add(self, stored: Mapping[bytes, bytes | None]) -> None:
        """Decode further rows, such as those of pairs; None is a row that does not exist."""
        for suffix, data in stored.items():
            body = None if data is None else self._body(suffix, data)
            self._decode(suffix, body)

    def _body(self, suffix: bytes, data: bytes) -> bytes:
        row = unpack_row(data)
        if row.kind is not Kind.ERASED and maker_of(data) != self.fold.maker:
            raise other_fold(maker_of(data), self.fold)
        self._keep(suffix, data)
        if suffix == MOOD:
            self.mood_offset = row.offset
        return row.body

    def _keep(self, suffix: bytes, data: bytes) -> None:
        self.stored[suffix] = data[: HEADER.size] if suffix == TRENDS or is_pair(suffix) else data

    def _decode(self, suffix: bytes, body: bytes | None) -> None:
        kind = kind_of(suffix)
        if kind in (Kind.TRENDS, Kind.PAIR):
            self.trends[suffix] = TrendRow.unpack(body)
        elif body is None:
            return
        elif kind is Kind.AGENT:
            self.facts = Facts(*_FACTS.unpack(body))
        elif kind is Kind.MOOD:
            self.mood = MoodRow.unpack(body)
        elif kind is Kind.PROFILE:
            self.profile = Profile.unpack(body, self.fold.default_profile)
        elif kind is Kind.NOTICE:
            self.notices = unpack_notices(body)
        elif kind is Kind.ERASED:
            self.markers = Markers.unpack(body)

    def pair(self, other: str) -> TrendRow:
        """The trend row of the pair with another agent; it has been loaded with the chunk."""
        return self.trends[pair_suffix(other)]

    def exists(self, suffix: bytes) -> bool:
        """Whether there is such a row by now; that of a pair must have been loaded."""
        return suffix in self.touched or (suffix in self.stored and suffix not in self.dropped)

    def drop(self, suffix: bytes) -> None:
        """Delete a row, if it exists; of a trend row also what it says."""
        if suffix in self.touched or suffix in self.stored or is_pair(suffix):
            self.dropped.add(suffix)
        self.touched.pop(suffix, None)
        if suffix == TRENDS or is_pair(suffix):
            self.trends[suffix] = TrendRow()
        elif suffix == MOOD:
            self.mood_offset = -1

    def pack_touched(self) -> dict[bytes, bytes | None]:
        """Pack what has changed: rows by row key, None for a deleted one. They count as stored from then on."""
        rows: dict[bytes, bytes | None] = {}
        for suffix in self.dropped - self.touched.keys():
            self.stored.pop(suffix, None)
            rows[self._key(suffix)] = None
        for suffix, offset in self.touched.items():
            row = rows[self._key(suffix)] = self._pack_row(suffix, offset)
            self._keep(suffix, row)
        self.mood_offset = self.touched.get(MOOD, self.mood_offset)
        self.touched.clear()
        self.dropped.clear()
        return rows

    def _key(self, suffix: bytes) -> bytes:
        return erased_key(self.key) if suffix == ERASED else row_key(self.key, suffix)

    def _pack_row(self, suffix: bytes, offset: int) -> bytes:
        if suffix == ERASED:
            return pack_erased(offset, self.markers.pack())
        return pack_row(kind_of(suffix), offset, self._pack(suffix), self.fold.stamp)

    def _pack(self, suffix: bytes) -> bytes:
        if suffix == AGENT:
            return _FACTS.pack(self.facts.first, self.facts.accepted, self.facts.newest)
        if suffix == MOOD:
            return self.mood.pack()
        if suffix == PROFILE:
            return self.profile.pack()
        if suffix == NOTICE:
            return pack_notices(self.notices)
        return self.trends[suffix].pack()

    @property
    def weight(self) -> int:
        """Bytes of memory that the agent takes, as measured: trend rows stay packed, the others become objects."""
        trends = sum(_TREND_ROW + len(row.body) for row in self.trends.values())
        return _AGENT + _DECODED * sum(map(len, self.stored.values())) + trends


def is_pair(suffix: bytes) -> bool:
    """Whether a suffix names a pair row."""
    return suffix.startswith(PAIR_PREFIX)


def other_fold(maker: bytes, fold: Fold) -> FoldMismatch:
    """The error for rows of another fold (`maker_of`), by its order: nothing may be folded onto them."""
    version, revision = order_of(maker)
    mine = f"fold {fold.order[0]}, revision {fold.order[1]}"
    if (version, revision) == fold.order:
        return FoldMismatch(
            f"rows were made by {mine} with other parameters than this worker has",
            hint="Set fold.default_profile as it was, or raise fold.revision (docs/upgrades.md).",
        )
    return FoldMismatch(
        f"rows were made by fold {version}, revision {revision}, this worker has {mine}",
        hint="Start it with the settings, or the release, of the newer workers (docs/upgrades.md).",
    )
