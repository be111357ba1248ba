"""A state as large as one likes: a few agents' events are folded once, and their rows written for many names."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from moodstream.affect.params import STANDARD
from moodstream.agents.cache import RowCache
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    Position,
    claim_mark,
    encode_position,
)
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.limits import Limits
from moodstream.state.layout import Layout
from moodstream.state.operations import operations
from moodstream.state.ownership import Ownership
from moodstream.state.partition import Wanted
from moodstream.state.rows import from_before, split_row_key
from moodstream.streams.changelog import KafkaChangelog
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import Chunk
from support.chunks import Record
from support.fakes import FakeChangelog, FakePartition, Log, Store
from support.producers import FakeProducer

TENANT = "bench"
APPENDED_TOGETHER = 50_000

Rows = list[tuple[bytes, bytes | None]]


@dataclass
class Template:
    """Rows in the order in which a worker appended them: number of the agent, suffix, row, chunk by chunk."""

    chunks: list[list[tuple[int, bytes, bytes | None]]] = field(default_factory=list)
    agents: int = 0

    @property
    def rows(self) -> int:
        """Rows of all chunks, each version of a row counted."""
        return sum(map(len, self.chunks))


class Hashes(FakePartition):
    """A partition in memory that answers for hashes as Redis does, without a search."""

    def __init__(self) -> None:
        super().__init__(Store(), Layout("template.", 0))
        self.hashes: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)

    def _apply(
        self,
        token: bytes,
        before: bytes,
        after: bytes,
        rows: Mapping[bytes, bytes | None],
        meta: Mapping[str, object],
    ) -> None:
        super()._apply(token, before, after, {}, meta)
        for operation in operations(self.layout, rows):
            if operation.op == b"s":
                fields = operation.arguments
                self.hashes[operation.key].update(zip(fields[::2], fields[1::2], strict=True))

    def _values(self, wanted: Wanted) -> list[bytes | None]:
        found = self.hashes[wanted.key]
        return [found.get(name) for name in wanted.fields]


async def fold(events: Iterable[tuple[bytes, bytes]], chunk: int = 4_000) -> Template:
    """Fold events, key and value each, as a worker would, and keep what it appends to the changelog."""
    log, settings = Log(), StreamSettings(partitions=1)
    owner = Ownership(0, Layout("template.", 0), FakeChangelog(log), Hashes(), "template")
    await owner.acquire()
    cache = RowCache(1 << 28)
    pipeline = PartitionPipeline(owner, FakeProducer(), settings, Limits(), cache, STANDARD)  # type: ignore[arg-type]
    records = (Record(offset, key, value) for offset, (key, value) in enumerate(events))
    log.records.clear()
    while some := list(islice(records, chunk)):
        await pipeline.process(Chunk(0, some[0].offset, some[-1].offset + 1, some))
    return _template(log)


def _template(log: Log) -> Template:
    template, numbers = Template([[]]), dict[bytes, int]()
    for record in log.records:
        if record.key == POSITION_KEY:
            template.chunks.append([])
            continue
        agent, suffix = split_row_key(record.key)
        number = numbers.setdefault(agent, len(numbers))
        # The log of events stays empty: so the rows are from before it.
        template.chunks[-1].append((number, suffix, from_before(record.value) if record.value else None))
    template.chunks = [chunk for chunk in template.chunks if chunk]
    template.agents = len(numbers)
    return template


@dataclass
class Filled:
    """What was written."""

    agents: int = 0
    rows: int = 0
    size: int = 0
    """Bytes of keys and rows."""
    marks: list[bytes] = field(default_factory=list)
    """What the records of each partition's owner carry."""


async def fill(
    changelog: KafkaChangelog, template: Template, agents: int, partitions: int, *, erased: int = 0
) -> Filled:
    """Write a changelog for so many agents, each partition as one owner would have.

    `erased`: every so many-th agent is deleted again at the end; 0: none.
    """
    filled = Filled()
    names = _names(agents, partitions)
    for partition in range(partitions):
        filled.marks.append(await _begin(changelog, partition))
        chunks = _chunks(template, names[partition])
        gone = _deletions(template, names[partition], erased) if erased else ()
        for rows in _pieces(chain(chunks, gone)):
            await changelog.append(partition, filled.marks[-1], rows)
            filled.rows += len(rows)
            filled.size += sum(len(key) + len(row or b"") for key, row in rows)
        filled.agents += len(names[partition])
    return filled


POSITION: tuple[bytes, bytes] = (POSITION_KEY, encode_position(Position()))


def _names(agents: int, partitions: int) -> list[list[bytes]]:
    """Agent keys by partition, as every client would place them."""
    names: list[list[bytes]] = [[] for _ in range(partitions)]
    for number in range(agents):
        key = agent_key(TENANT, f"agent-{number:07}")
        names[partition_of(key, partitions)].append(key)
    return names


async def _begin(changelog: KafkaChangelog, partition: int) -> bytes:
    token = secrets.token_hex(8).encode()
    await changelog.append(partition, token, [(INCARNATION_PREFIX + token, b"1")])
    (span,) = await changelog.append(partition, token, [(OWNER_KEY, b"{}")])
    mark = claim_mark(span.base, token)
    await changelog.append(partition, mark, [POSITION])
    return mark


def _pieces(chunks: Iterable[Rows]) -> Iterator[Rows]:
    """Whole chunks, each with its position, some at a time."""
    rows: Rows = []
    for chunk in chunks:
        rows += [*chunk, POSITION]
        if len(rows) >= APPENDED_TOGETHER:
            yield rows
            rows = []
    if rows:
        yield rows


def _chunks(template: Template, names: Sequence[bytes]) -> Iterator[Rows]:
    for start in range(0, len(names), template.agents):
        some = names[start : start + template.agents]
        for chunk in template.chunks:
            yield [(some[number] + b"\0" + suffix, row) for number, suffix, row in chunk if number < len(some)]


def _deletions(template: Template, names: Sequence[bytes], every: int) -> Iterator[Rows]:
    gone = set(names[::every])
    for chunk in _chunks(template, names):
        yield [(key, None) for key in dict.fromkeys(key for key, _ in chunk) if split_row_key(key)[0] in gone]
