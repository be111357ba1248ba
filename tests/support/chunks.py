"""The pipeline of one partition over a log and a Redis in memory: chunks in, rows, counts and records out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moodstream.affect.params import STANDARD, Fold
from moodstream.agents.cache import RowCache
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.schemas.codec import encode
from moodstream.schemas.events import InputEvent
from moodstream.schemas.limits import Limits
from moodstream.state.layout import Layout
from moodstream.state.operations import operations
from moodstream.state.ownership import Ownership
from moodstream.state.partition import Wanted
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import Chunk
from support.fakes import FakeChangelog, FakePartition, Log, Store
from support.producers import FakeProducer

SETTINGS = StreamSettings(partitions=1)
LAYOUT = Layout("test.", 0)
COUNTS = ("accepted", "duplicate", "erased", "dead")
WRITTEN_MS = 1_800_000_000_000
"""When the records of tests were written: after all their events."""


@dataclass(frozen=True)
class Record:
    """A record as the client gives it."""

    offset: int
    key: Any
    value: Any
    headers: tuple[tuple[str, Any], ...] = ()
    timestamp: int = WRITTEN_MS
    timestamp_type: int = 0


def records_of(events: Iterable[InputEvent], start: int = 0) -> list[Record]:
    """The records that a publisher makes."""
    wires = (encode(event) for event in events)
    return [Record(offset, wire.key, wire.value, tuple(wire.headers)) for offset, wire in enumerate(wires, start)]


def chunk_of(records: Sequence[Record], start: int | None = None) -> Chunk:
    """A chunk of these records that begins with the first, or where it is said."""
    return Chunk(0, records[0].offset if start is None else start, records[-1].offset + 1, list(records))


@dataclass
class ListLog:
    """The log of events; `first` is what retention has left."""

    records: Sequence[Record] = ()
    first: int = 0
    reads: list[tuple[int, int]] = field(default_factory=list)

    async def start(self, partition: int) -> int:
        return self.first

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[Any]]:
        self.reads.append((start, end))
        found = [one for one in self.records if max(start, self.first) <= one.offset < end]
        for at in range(0, len(found), 30):
            yield found[at : at + 30]


class FullPartition(FakePartition):
    """Also answers for what is made from the rows, such as the known ids. `asked` is what was loaded last."""

    asked: Sequence[Wanted] = ()

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        self.asked = wanted
        return await super().load(token, at, wanted)

    def _fields(self, key: bytes) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        rows: Mapping[bytes, bytes | None] = dict(self.store.rows)
        for operation in operations(self.layout, rows):
            if operation.op == b"s" and operation.key == key:
                found.update(zip(operation.arguments[::2], operation.arguments[1::2], strict=True))
        return found


@dataclass
class Line:
    """Log and Redis of a partition, and one worker after the other on it. `steps` is what was done, in order."""

    log: Log = field(default_factory=Log)
    store: Store = field(default_factory=Store)
    steps: list[str] = field(default_factory=list)
    producer: FakeProducer = field(default_factory=FakeProducer)
    before: Callable[[str], object] = lambda step: None
    """Called before each step; may raise."""
    cache_bytes: int = 1 << 20
    fold: Fold = STANDARD
    source: ListLog = field(default_factory=ListLog)
    state: FullPartition | None = None
    """The newest worker's client of Redis."""

    async def worker(self) -> PartitionPipeline:
        """Let a new worker take the partition."""
        ownership = await self.owner()
        self.steps.clear()
        self.producer.asked = self._step
        cache = RowCache(self.cache_bytes)
        return PartitionPipeline(ownership, self.producer, SETTINGS, Limits(), cache, self.fold, self.source)  # type: ignore[arg-type]

    async def owner(self) -> Ownership:
        """Let a new owner take the partition."""
        self.state = FullPartition(self.store, LAYOUT, self._gate)
        ownership = Ownership(0, LAYOUT, FakeChangelog(self.log, self._gate), self.state, "w")
        await ownership.acquire()
        return ownership

    async def _gate(self, point: str) -> None:
        self._step(point)

    def _step(self, name: str) -> None:
        name = name.removeprefix(SETTINGS.prefix).removesuffix(".v1")
        self.before(name)
        self.steps.append(name)

    def counts(self) -> dict[str, int]:
        """The four counts in Redis."""
        return {name: int(self.store.meta[name]) for name in COUNTS}
