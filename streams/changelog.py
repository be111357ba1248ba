"""The changelog on Kafka: append in batches, read by position."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import ConsumerRecord, TopicPartition

from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    TOKEN_HEADER,
    LogRecord,
    Replay,
    Span,
    apply_commits,
)
from moodstream.schemas.errors import BrokerUnavailable, StateLost
from moodstream.streams.sending import send_batches

if TYPE_CHECKING:
    from moodstream.streams.settings import StreamSettings

_FETCH_WAIT_MS = 50
_IDLE_SECONDS = 30.0
"""A read that gets nothing for this long gives up."""


class Page(NamedTuple):
    """How much is read at a time: bytes of one fetch, and records given together."""

    fetch_bytes: int
    records: int


_LARGE = Page(4 << 20, 10_000)
_FIRST = Page(1, 1)
"""One record: the broker gives a whole batch whatever is asked for, but no more than that."""


class KafkaChangelog:
    """The changelog topic of a deployment, for writers (with a producer) and readers."""

    def __init__(self, settings: StreamSettings, producer: AIOKafkaProducer | None = None) -> None:
        self._settings = settings
        self._producer = producer
        self.topic = settings.topics.changelog

    @property
    def remembers_ms(self) -> int:
        """How long at least the log tells that a row was deleted."""
        return self._settings.tombstone_ms + self._settings.compaction_lag_ms

    async def append(self, partition: int, token: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> list[Span]:
        """Append in order, in batches as large as the producer allows; return when the broker has all of them."""
        assert self._producer is not None  # noqa: S101 - a reader has none and never appends
        headers = [(TOKEN_HEADER, token)]
        messages = ((key, value, headers) for key, value in records)
        return await send_batches(self._producer, self.topic, partition, messages)

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[LogRecord]]:
        """Give the records from `start` up to, not including, `end`; compacted offsets are skipped over."""
        async for records in read_records(self._settings, self.topic, partition, start, end):
            yield _log_records(records)

    async def incarnation(self, partition: int) -> bytes | None:
        """Name of this log: its first record, which compaction keeps. None for an empty log.

        Raises `StateLost` where the log begins with something else: it was not made by moodstream, or lost its head.
        """
        async for records in read_records(self._settings, self.topic, partition, 0, page=_FIRST):
            key = records[0].key or b""
            if not key.startswith(INCARNATION_PREFIX):
                raise StateLost(
                    f"{self.topic}-{partition} does not begin with the name of its log", partition=partition
                )
            return bytes(key[len(INCARNATION_PREFIX) :])
        return None


def _log_records(records: Iterable[ConsumerRecord]) -> list[LogRecord]:
    """A restore spends its time here and in `Replay.feed`: as little per record as can be."""
    return [LogRecord(one.offset, one.key or b"", one.value, _token(one.headers)) for one in records]


def _token(headers: Sequence[tuple[str, bytes]]) -> bytes:
    for name, value in headers:
        if name == TOKEN_HEADER:
            return value
    return b""


async def read_records(
    settings: StreamSettings, topic: str, partition: int, start: int, end: int | None = None, page: Page = _LARGE
) -> AsyncIterator[list[ConsumerRecord]]:
    """Read one partition from `start` up to the position `end` (None: as far as the log reaches now).

    Stops on the position, not on a record's offset, so that compaction and control records do not matter.
    """
    at = TopicPartition(topic, partition)
    async with reading(settings, at, page) as consumer:
        first, last = await log_bounds(consumer, at)
        position = max(start, first)
        consumer.seek(at, position)
        stop = last if end is None else end
        async for records in read_until(consumer, at, position, stop, known_end=last, limit=page.records):
            yield records


@asynccontextmanager
async def reading(settings: StreamSettings, at: TopicPartition, page: Page = _LARGE) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer of one partition that joins no group, for the time of a block."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.servers,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=page.fetch_bytes,
        fetch_max_wait_ms=_FETCH_WAIT_MS,
    )
    await consumer.start()
    try:
        consumer.assign([at])
        yield consumer
    finally:
        await consumer.stop()


async def read_until(
    consumer: AIOKafkaConsumer, at: TopicPartition, position: int, stop: int, known_end: int, limit: int
) -> AsyncIterator[list[ConsumerRecord]]:
    """Give records from where the consumer stands, `position`, up to `stop`, or to where the log ends.

    Raises `BrokerUnavailable` when the broker gives nothing for half a minute of what it should have.
    """
    idle = 0.0
    while position < min(stop, max(known_end, consumer.highwater(at) or 0)):
        got = await consumer.getmany(at, timeout_ms=500, max_records=limit)
        records = [record for record in got.get(at, ()) if record.offset < stop]
        if records:
            idle = 0.0
            yield records
        new = await consumer.position(at)
        idle = idle + 0.5 if new == position else 0.0
        if idle >= _IDLE_SECONDS:
            raise BrokerUnavailable(f"{at.topic}-{at.partition} gives nothing from {position} on, up to {stop}")
        position = new


async def log_bounds(consumer: AIOKafkaConsumer, at: TopicPartition) -> tuple[int, int]:
    """First offset of a partition and the offset behind its last record.

    The embedded broker answers ListOffsets(latest) with the base of the last batch + 1; a fetch there tells the truth.
    """
    first: int = (await consumer.beginning_offsets([at]))[at]
    last: int = (await consumer.end_offsets([at]))[at]
    if last > first:
        consumer.seek(at, last - 1)
        for _ in range(20):
            if consumer.highwater(at) is not None:
                break
            await consumer.getmany(at, timeout_ms=100, max_records=1)
        last = max(last, consumer.highwater(at) or 0)
    return first, last


async def read_changelog(settings: StreamSettings, partition: int) -> dict[bytes, bytes]:
    """Give the rows of a partition that a restore from nothing would give now."""
    changelog, replay, rows = KafkaChangelog(settings), Replay(), dict[bytes, bytes]()
    async for records in read_records(settings, changelog.topic, partition, 0):
        apply_commits(replay.feed(_log_records(records)), rows)
    return rows
