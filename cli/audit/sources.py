"""What audit needs to know of a deployment: small protocols, so that tests can stand in for broker and Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from moodstream.cli.oracle import OracleFold
from moodstream.cli.oracle.layout import STAMP

Rows = dict[bytes, bytes]
"""Row key (agent key, zero byte, suffix) to the full row."""


class Record(NamedTuple):
    """One record of the events topic, as the broker gave it. The timestamp is in ms."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


class Meta(NamedTuple):
    """What Redis says of a partition: the next position in the log, and the counts up to it."""

    source: int
    counts: Mapping[str, int]
    """By name: accepted, duplicate, erased, dead."""


class Folds(NamedTuple):
    """By which rules the rows of a deployment may have been folded."""

    newest: OracleFold
    known: Mapping[bytes, OracleFold]
    """By stamp."""

    def of(self, key: bytes, rows: Rows) -> OracleFold:
        """The rules that an agent's rows name; the newest ones where there are no rows, or rows that nobody knows."""
        head = rows.get(key + b"\x00agent", b"")
        return self.known.get(head[STAMP], self.newest)


class Log(Protocol):
    """One partition of the events topic, read once from its start."""

    start: int
    """Offset of the oldest record that the broker still has."""
    end: int
    """Offset after the newest record, when the log was opened or last grew."""

    def read(self, position: int) -> AsyncIterator[list[Record]]:
        """The records from where the last call stopped up to `position` (not included) or beyond, in batches.

        Ends early where the log ends now, so that a nonsense position in a broken row cannot hang the audit.
        """
        ...


class Deployment(Protocol):
    """A deployment as audit sees it."""

    partitions: int

    async def folds(self) -> Folds:
        """The folds that workers have declared."""
        ...

    def open_log(self, partition: int) -> AbstractAsyncContextManager[Log]:
        """The log of a partition, open for the time of a block."""
        ...

    async def meta(self, partition: int) -> Meta | None:
        """Positions and counts of a partition in Redis; None when Redis knows nothing of it."""
        ...

    def redis(self, partition: int) -> AsyncIterator[tuple[bytes, Rows]]:
        """Agent key and all rows of each agent in Redis, its marker row among them; they are read together."""
        ...

    async def markers(self, partition: int) -> Rows:
        """The marker rows in Redis, also those of agents that have no other row."""
        ...

    async def changelog(self, partition: int) -> Rows:
        """The rows that a restore from the changelog would give."""
        ...
