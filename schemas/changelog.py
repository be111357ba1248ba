"""The changelog of the table `state`: how it is written, and the rule by which its records count.

A partition's changelog holds rows and three kinds of control records. A *claim* (`owner`) is written by a worker that
takes the partition; from there on only records with its mark count, so a frozen predecessor that wakes up can append
as much as it likes. A *position* closes a chunk: the rows before it become the state together, or not at all. The
*incarnation* tells one log from another that has taken its name. Rows after the last position, and records of a stale
writer, are *loose*: the next owner writes their true values again before it goes on (docs/durability.md).

A mark names the offset of its claim, for compaction keeps only the newest claim: a reader that starts before others
must still tell their writers from the stale ones.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Protocol

OWNER_KEY = b"\0owner"
POSITION_KEY = b"\0position"
INCARNATION_PREFIX = b"\0incarnation/"
_CONTROL = b"\0"
TOKEN_HEADER = "t"  # noqa: S105 - the name of a header

SPILL_ROWS = 100_000
"""Rows kept back at least, where more than twice as many wait for a position that is known to follow."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a partition stands: what the last record of a chunk says.

    `source` is the next offset of the events, `announced` that up to which outputs are acknowledged; the others count
    records of the events topic since its beginning.
    """

    source: int = 0
    announced: int = 0
    accepted: int = 0
    duplicate: int = 0
    erased: int = 0
    dead: int = 0
    conflict: int = 0
    ignored: int = 0

    @property
    def read(self) -> int:
        """Records read: each has ended as one of the four kinds."""
        return self.accepted + self.duplicate + self.erased + self.dead


class LogRecord(NamedTuple):
    """A record of the changelog as the rule sees it."""

    offset: int
    key: bytes
    value: bytes | None
    token: bytes
    """Who wrote it: the token in a claim, the mark of the claim in all other records."""


class Place(NamedTuple):
    """An offset of the log, and the mark of its owner there."""

    offset: int
    writer: bytes


class Commit(NamedTuple):
    """Rows that count. `position` is None while more rows of the same state follow."""

    rows: dict[bytes, bytes | None]
    position: Position | None
    end: int
    """Changelog offset behind the position record."""
    writer: bytes
    """Mark of the log's owner there."""


class Replay:
    """Tells which records of a changelog partition count. Feed it records in log order.

    `writer` is the mark of the log's owner where it begins; empty at the log's first record. `closed`: rows at offsets
    below it are known to be closed by a position. Of those, some may be given before it is read.
    """

    def __init__(self, writer: bytes = b"", closed: int = 0) -> None:
        self.writer = writer
        self._closed_below = closed
        self.foreign: dict[bytes, Place] = {}
        """Keys written by a stale writer and not written since: where."""
        self.closed = False
        """Whether a position has counted."""
        self._pending: dict[bytes, bytes | None] = {}

    def feed(self, records: Iterable[LogRecord]) -> list[Commit]:
        """Take the next records; give what they complete."""
        done: list[Commit] = []
        for record in records:
            _, key, value, mark = record
            if key.startswith(_CONTROL) or (mark != self.writer and not self._counts(mark)):
                done += self._control(record)
                continue
            if self.foreign:
                self.foreign.pop(key, None)
            pending = self._pending
            pending.pop(key, None)  # the order of the dict is that of the last write
            pending[key] = value
            if len(pending) >= 2 * SPILL_ROWS and record.offset < self._closed_below:
                done.append(self._spill())
        return done

    def _marker(self, record: LogRecord) -> None:
        """Take the marker row of an agent: the only rows whose keys begin as those of the partition itself."""
        self.foreign.pop(record.key, None)
        self._pending.pop(record.key, None)
        self._pending[record.key] = record.value

    def _control(self, record: LogRecord) -> list[Commit]:
        """Take a record that is no row of an agent, written by the owner."""
        if record.key == OWNER_KEY:
            self.writer = claim_mark(record.offset, record.token)
        elif record.key.startswith(INCARNATION_PREFIX):
            pass
        elif not self._counts(record.token):
            self._stale(record)
        elif record.key == POSITION_KEY:
            return [self._close(record)]
        else:
            self._marker(record)
        return []

    @property
    def loose(self) -> set[bytes]:
        """Keys whose last record does not count: to be written again."""
        return self._pending.keys() | self.foreign.keys()

    def _counts(self, mark: bytes) -> bool:
        """Whether the owner wrote it. A mark of a younger claim is the owner's: the claim itself was compacted away."""
        if mark == self.writer:
            return True
        if _fence(mark) <= _fence(self.writer):
            return False
        self.writer = mark
        return True

    def _stale(self, record: LogRecord) -> None:
        if record.key != POSITION_KEY:
            self.foreign[record.key] = Place(record.offset, self.writer)

    def _close(self, record: LogRecord) -> Commit:
        self.closed = True
        rows, self._pending = self._pending, {}
        return Commit(rows, decode_position(record.value), record.offset + 1, self.writer)

    def _spill(self) -> Commit:
        """Give early what is known to be closed: memory stays bounded on a compacted log with a single position."""
        keys = list(self._pending)[:SPILL_ROWS]
        return Commit({key: self._pending.pop(key) for key in keys}, None, -1, self.writer)


class Span(NamedTuple):
    """Where appended records came to lie: the offset of the first, and how many."""

    base: int
    length: int


class ChangelogLog(Protocol):
    """What the ownership of a partition needs of its changelog; a fake in tests, `KafkaChangelog` in life."""

    @property
    def remembers_ms(self) -> int:
        """How long at least the log tells that a row was deleted: compaction takes that away, too."""
        ...

    async def append(self, partition: int, token: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> list[Span]:
        """Append in order; return when the broker has all of them."""
        ...

    def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[LogRecord]]:
        """Give the records at offsets from `start` up to `end`, in order."""
        ...

    async def incarnation(self, partition: int) -> bytes | None:
        """Name of this log, None for one that is empty."""
        ...


def claim_mark(fence: int, token: bytes) -> bytes:
    """Give what the records of an owner carry: the offset of its claim, and its token."""
    return b"%d:%s" % (fence, token)


def _fence(mark: bytes) -> int:
    number, colon, _ = mark.partition(b":")
    return int(number) if colon else -1


def decode_position(value: bytes | None) -> Position:
    """Read the value of a position record."""
    return Position(**json.loads(value)) if value else Position()


def encode_position(position: Position) -> bytes:
    """Give the value of a position record."""
    return json.dumps(asdict(position)).encode()


def merged(commits: Sequence[Commit]) -> Commit | None:
    """Several commits in a row as one, which leaves the same state; None for none.

    A log of small chunks has a commit every few rows: to write each by itself would take a round trip each.
    """
    if len(commits) < 2:
        return commits[0] if commits else None
    rows: dict[bytes, bytes | None] = {}
    # Their order counts where not all of a state is there, and where rows are deleted, in calls of their own perhaps.
    ordered = any(commit.position is None or None in commit.rows.values() for commit in commits)
    for commit in commits:
        for key in commit.rows if ordered else ():
            rows.pop(key, None)
        rows |= commit.rows
    last = next((one for one in reversed(commits) if one.position is not None), commits[-1])
    return last._replace(rows=rows)


def apply_commits(commits: Iterable[Commit], rows: dict[bytes, bytes]) -> None:
    """Apply commits to a plain mapping: what a restore would give."""
    for commit in commits:
        for key, value in commit.rows.items():
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
