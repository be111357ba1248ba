"""How encoded events reach the log: the interface of the publisher, and the one that talks to Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError, MessageSizeTooLargeError, ProducerClosed

from moodstream.schemas.errors import EventTooLarge, MoodstreamError, TopicMissing
from moodstream.streams.broker import connected, is_idempotent, list_topics, reported, unavailable
from moodstream.streams.settings import StreamSettings

_AGAIN = "Fire it again with the same event_id: it counts once."
_MEBIBYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class Record:
    """One encoded event, the partition that its key belongs to, and the record's own time (ms since 1970)."""

    partition: int
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]
    timestamp_ms: int

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        return len(self.key) + len(self.value) + sum(len(name) + len(value) for name, value in self.headers)


class Sender(Protocol):
    """Takes records to the log. `start` before anything else; `close` waits for what is in flight."""

    partitions: int
    idempotent: bool

    async def start(self) -> None:
        """Connect; learn the topic's partition count and whether the broker drops repeated writes."""

    async def post(self, record: Record) -> asyncio.Future[Any]:
        """Queue one record; the future gives an object with its `offset`, or a `KafkaError`."""

    async def close(self, seconds: float) -> None:
        """Send what is queued, for so many seconds at most, and disconnect."""


class KafkaSender:
    """The producer of aiokafka: acks from all replicas, idempotent where the broker can."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.topic = settings.topics.events
        self.partitions = 0
        self.idempotent = False
        self._producer: AIOKafkaProducer | None = None
        self._reopening = asyncio.Lock()

    async def start(self) -> None:
        """Connect.

        Raises `BrokerUnavailable` within `connect_seconds`, or `TopicMissing`.
        """
        async with connected(self.settings) as admin, reported(self.settings):
            topics = await list_topics(admin)
            if self.topic not in topics:
                text = f"{self.topic} is not on the broker at {self.settings.bootstrap}"
                raise TopicMissing(text, topics=[self.topic])
            self.partitions = topics[self.topic].partitions
            self.idempotent = await is_idempotent(admin)
        self._producer = await self._open()

    async def _open(self) -> AIOKafkaProducer:
        settings = self.settings
        producer = AIOKafkaProducer(
            bootstrap_servers=settings.servers,
            acks="all",
            enable_idempotence=self.idempotent,
            linger_ms=settings.linger_ms,
            max_batch_size=settings.max_batch_bytes,
            max_request_size=max(settings.max_batch_bytes, _MEBIBYTE),
            request_timeout_ms=int(settings.request_seconds * 1000),
        )
        try:
            async with reported(settings):
                await asyncio.wait_for(producer.start(), settings.connect_seconds)
        except BaseException:
            await stop_producer(producer, 0.0)
            raise
        return producer

    async def post(self, record: Record) -> asyncio.Future[Any]:
        """Queue one record, waiting for room in its partition's batch."""
        producer = self._ready()
        try:
            return await self._send(producer, record)
        except MessageSizeTooLargeError as error:
            raise EventTooLarge(f"the event has {record.size} bytes, more than one write may have") from error
        except (KafkaTimeoutError, ProducerClosed) as error:
            raise failure(error, self.settings) from error
        except KafkaError:
            # The producer has given up for good, and before it took this record: a new one can go on.
            return await self._send(await self._reopen(producer), record)

    def _ready(self) -> AIOKafkaProducer:
        if self._producer is None:
            raise unavailable(self.settings, "the bus is not open", "Use it inside `async with Bus(...)`.")
        return self._producer

    async def _send(self, producer: AIOKafkaProducer, record: Record) -> asyncio.Future[Any]:
        posted: asyncio.Future[Any] = await producer.send(
            self.topic,
            record.value,
            key=record.key,
            partition=record.partition,
            timestamp_ms=record.timestamp_ms,
            headers=record.headers,
        )
        return posted

    async def _reopen(self, broken: AIOKafkaProducer) -> AIOKafkaProducer:
        async with self._reopening:
            if self._producer is broken:
                self._producer = await self._open()
                await stop_producer(broken, 1.0)
            return self._ready()

    async def close(self, seconds: float) -> None:
        """Send what is queued and disconnect; what the broker has not taken by then fails."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await stop_producer(producer, seconds)


async def stop_producer(producer: AIOKafkaProducer, seconds: float) -> None:
    """Stop the producer within bounds: by itself it would wait for ever for a broker that is gone."""
    stopping = asyncio.ensure_future(producer.stop())
    await asyncio.wait([stopping], timeout=seconds)
    if not stopping.done():
        _give_up(producer)
        await asyncio.wait([stopping], timeout=1.0)
    if not stopping.done():
        stopping.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await stopping


class _Forgiving(set[Any]):
    """A set from which may be removed what is not in it."""

    remove = set.discard


def _give_up(producer: AIOKafkaProducer) -> None:
    """Fail what the broker has not taken, and see each failure: our own futures are seen by who waits for them."""
    accumulator = producer._message_accumulator
    batches = [*accumulator._pending_batches, *(one for queue in accumulator._batches.values() for one in queue)]
    # A batch that failed is removed twice when it was to be tried again, which a plain set takes badly.
    accumulator._pending_batches = _Forgiving(batches)
    accumulator.fail_all(ProducerClosed())
    for future in (future for batch in batches for future in (batch.future, batch._drain_waiter)):
        if future.done() and not future.cancelled():
            future.exception()


def unanswered(settings: StreamSettings) -> MoodstreamError:
    """Make the error of a write that was not answered in time: it may or may not be in the log."""
    return unavailable(settings, f"no answer within {settings.request_seconds:g} s", _AGAIN)


def failure(error: BaseException, settings: StreamSettings) -> MoodstreamError:
    """Name why one record was not written."""
    if isinstance(error, MoodstreamError):
        return error
    if isinstance(error, MessageSizeTooLargeError):
        return EventTooLarge("the broker refuses the event: it is larger than max.message.bytes allows")
    if isinstance(error, TimeoutError | KafkaTimeoutError):
        return unanswered(settings)
    return unavailable(settings, str(error) or type(error).__name__, _AGAIN)
