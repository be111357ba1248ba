"""A real deployment: the log and the changelog on Kafka, the rows in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord, TopicPartition

from moodstream.affect.params import revision_of
from moodstream.affect.settings import FoldSettings
from moodstream.cli.audit.sources import Folds, Meta, Record, Rows
from moodstream.cli.oracle import OracleFold
from moodstream.state.reader import StateReader
from moodstream.streams.changelog import log_bounds, read_changelog, reading
from moodstream.streams.settings import StreamSettings

_READ_RECORDS = 5_000
_WAIT_MS = 500
_IDLE_READS = 60
"""Empty answers after which a log is taken to end before the position that the broker names as its end."""


class LiveDeployment:
    """Reads what audit compares; joins no group and writes nothing."""

    def __init__(self, streams: StreamSettings, reader: StateReader, fold: FoldSettings) -> None:
        self._streams = streams
        self._reader = reader
        self._fold = fold
        self.partitions = streams.partitions

    async def folds(self) -> Folds:
        """The folds that workers have declared; those of the settings where Redis knows of none."""
        found = await self._reader.folds()
        known = {stamp: OracleFold.of(revision_of(stamp), default) for stamp, default in found.profiles.items()}
        own = OracleFold.of(self._fold.revision, self._fold.default_profile)
        return Folds(known.get(found.newest or b"", own), known)

    @asynccontextmanager
    async def open_log(self, partition: int) -> AsyncIterator[KafkaLog]:
        """A partition of the events topic; its consumer is closed at the end of the block."""
        at = TopicPartition(self._streams.topics.events, partition)
        async with reading(self._streams, at) as consumer:
            first, last = await log_bounds(consumer, at)
            yield KafkaLog(consumer, at, first, last)

    async def meta(self, partition: int) -> Meta | None:
        """Position and counts of a partition in Redis; None when no worker has taken it yet."""
        meta = await self._reader.partition_meta(partition)
        return None if meta is None else Meta(meta.source, meta.counts)

    async def redis(self, partition: int) -> AsyncIterator[tuple[bytes, Rows]]:
        """All agents of a partition. Raises `Restoring` while the rows come back from the changelog."""
        if await self.meta(partition) is None:
            return
        async for agent in self._reader.scan_partition(partition):
            yield agent.key, agent.rows

    async def markers(self, partition: int) -> Rows:
        """The marker rows in Redis."""
        return await self._reader.markers(partition)

    async def changelog(self, partition: int) -> Rows:
        """The rows that a restore would give."""
        return await read_changelog(self._streams, partition)


class KafkaLog:
    """One partition of the events topic, read forwards once."""

    def __init__(self, consumer: AIOKafkaConsumer, at: TopicPartition, start: int, end: int) -> None:
        self._consumer = consumer
        self._at = at
        self._next = start
        self.start = start
        self.end = end

    async def read(self, position: int) -> AsyncIterator[list[Record]]:
        """The records up to `position`; where the log has grown beyond `end` to reach it, up to its new end."""
        stop = position
        if position > self.end:
            _, self.end = await log_bounds(self._consumer, self._at)
            stop = self.end
        self._consumer.seek(self._at, self._next)
        idle = 0
        while self._next < stop and idle < _IDLE_READS:
            got = await self._consumer.getmany(self._at, timeout_ms=_WAIT_MS, max_records=_READ_RECORDS)
            idle = 0 if got else idle + 1
            yield _records(got.get(self._at, ()), stop)
            self._next = min(stop, await self._consumer.position(self._at))


def _records(found: Sequence[ConsumerRecord], stop: int) -> list[Record]:
    return [
        Record(one.offset, one.timestamp, one.key, one.value, tuple(one.headers)) for one in found if one.offset < stop
    ]
