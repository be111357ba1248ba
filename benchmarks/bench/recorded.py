"""The pipeline over a log and a Redis in memory, with a record of all that it writes: rows, letters, announcements."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiokafka.structs import ConsumerRecord

from bench.filling import Hashes
from bench.meter import Meter
from moodstream.affect.params import STANDARD
from moodstream.agents.cache import RowCache
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.schemas.changelog import Span
from moodstream.schemas.limits import Limits
from moodstream.state.layout import Layout
from moodstream.state.ownership import Ownership
from moodstream.state.partition import Wanted
from moodstream.streams.sending import Message
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import Chunk
from support.fakes import FakeChangelog, Log
from support.producers import Answer, Batch, FakeProducer

_CACHE_BYTES = 1 << 28


@dataclass
class Written:
    """What came of one partition's chunks, in order."""

    partition: int
    appended: list[tuple[bytes, Sequence[tuple[bytes, bytes | None]]]] = field(default_factory=list)
    """Mark and records of each append to the changelog."""
    flushed: list[tuple[Mapping[bytes, bytes | None], Mapping[str, object]]] = field(default_factory=list)
    """Rows and meta of each flush to Redis."""
    sent: list[tuple[str, list[Message]]] = field(default_factory=list)
    """Topic and messages of each batch of outputs."""


class _Changelog(FakeChangelog):
    def __init__(self, meter: Meter, written: Written) -> None:
        super().__init__(Log())
        self._meter, self._written = meter, written

    async def append(self, partition: int, token: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> list[Span]:
        with self._meter.outside():
            self._written.appended.append((token, records))
            return await super().append(partition, token, records)


class _State(Hashes):
    def __init__(self, meter: Meter, written: Written) -> None:
        super().__init__()
        self._meter, self._written = meter, written

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        with self._meter.outside():
            return await super().load(token, at, wanted)

    async def apply(
        self,
        token: bytes,
        before: bytes,
        after: bytes,
        rows: Mapping[bytes, bytes | None],
        meta: Mapping[str, object],
    ) -> None:
        with self._meter.outside():
            self._written.flushed.append((rows, meta))
            await super().apply(token, before, after, rows, meta)


class _Producer(FakeProducer):
    written: Written

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[Answer]:
        self.written.sent.append((topic, [Message(*one) for one in batch.records]))
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.set_result(Answer(0))
        return answer


async def processed(
    meter: Meter, records: Mapping[int, Sequence[ConsumerRecord]], settings: StreamSettings
) -> list[Written]:
    """Take all records through pipelines, as one worker would: what costs time here is decoding, folding, packing.

    The piece of the meter is `memory`; the log, Redis and the producer in memory are outside.
    """
    pairs = [await _pipeline(meter, partition, settings) for partition in records]
    for written, _ in pairs:
        written.appended.clear()  # what claimed the partition
        written.flushed.clear()
    with meter.piece("memory"):
        for written, pipeline in pairs:
            await _chunks(pipeline, written.partition, records[written.partition], settings.chunk)
    return [written for written, _ in pairs]


async def _pipeline(meter: Meter, partition: int, settings: StreamSettings) -> tuple[Written, PartitionPipeline]:
    written = Written(partition)
    owner = Ownership(partition, Layout("floor.", partition), _Changelog(meter, written), _State(meter, written), "w")
    await owner.acquire()
    producer: Any = _Producer()
    producer.written = written
    return written, PartitionPipeline(owner, producer, settings, Limits(), RowCache(_CACHE_BYTES), STANDARD)


async def _chunks(pipeline: PartitionPipeline, partition: int, records: Sequence[ConsumerRecord], size: int) -> None:
    for start in range(0, len(records), size):
        some = list(records[start : start + size])
        await pipeline.process(Chunk(partition, some[0].offset, some[-1].offset + 1, some))
