"""The parts of a worker one by one, as it uses them: reading, decoding, the changelog, Redis, outputs."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord
from redis.asyncio import Redis

from bench.meter import Meter
from bench.recorded import Written
from moodstream.agents.decode import decode_records
from moodstream.schemas.limits import Limits
from moodstream.state.connection import connect
from moodstream.state.layout import Layout
from moodstream.state.partition import RedisPartition
from moodstream.state.settings import StateSettings
from moodstream.streams.changelog import KafkaChangelog
from moodstream.streams.sending import send_batches
from moodstream.streams.settings import StreamSettings

Records = dict[int, list[ConsumerRecord]]
"""Records by partition."""

_TOGETHER = 16_000
_FETCH_BYTES = 2 << 20
"""As much as a worker polls and fetches at once."""


async def poll(meter: Meter, settings: StreamSettings, *, decoding: bool) -> Records:
    """Read the whole log, and decode it or not. Pieces of the meter: `poll`, `poll and decode`."""
    found: Records = defaultdict(list)
    partitions = [TopicPartition(settings.topics.events, number) for number in range(settings.partitions)]
    async with AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap,
        enable_auto_commit=False,
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_wait_ms=settings.fetch_wait_ms,
    ) as consumer:
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        with meter.piece("poll and decode" if decoding else "poll"):
            await _poll(consumer, meter.events, settings, found, decoding=decoding)
    return found


async def _poll(
    consumer: AIOKafkaConsumer, events: int, settings: StreamSettings, found: Records, *, decoding: bool
) -> None:
    limits = Limits()
    while sum(map(len, found.values())) < events:
        for at, records in (await consumer.getmany(timeout_ms=1_000, max_records=_TOGETHER)).items():
            found[at.partition] += records
            for start in range(0, len(records) if decoding else 0, settings.chunk):
                some = records[start : start + settings.chunk]
                if decode_records(some, at.partition, settings.partitions, limits).refused:
                    raise RuntimeError("a valid event was refused")


async def changelog(meter: Meter, settings: StreamSettings, producer: AIOKafkaProducer, work: list[Written]) -> None:
    """Append the rows, chunk by chunk, each acknowledged before the next."""
    log = KafkaChangelog(settings, producer)
    with meter.piece("changelog"):
        for one in work:
            for mark, records in one.appended:
                await log.append(one.partition, mark, records)


async def flush(meter: Meter, url: str, work: list[Written]) -> float:
    """Write the rows to a Redis that has none of them; give the bytes that it was sent."""
    settings = StateSettings(url=url, prefix=f"floor-{uuid.uuid4().hex[:8]}.")
    redis = connect(settings)
    try:
        targets = [await _target(redis, settings, one) for one in work]
        before = await _received(redis)
        with meter.piece("Redis"):
            for target in targets:
                await target.run()
        return await _received(redis) - before
    finally:
        await redis.aclose()


@dataclass
class _Target:
    partition: RedisPartition
    token: bytes
    work: Written

    async def run(self) -> None:
        at = b""
        for number, (rows, meta) in enumerate(self.work.flushed, 1):
            after = b"%d" % number
            await self.partition.apply(self.token, at, after, rows, meta)
            at = after


async def _target(redis: Redis, settings: StateSettings, work: Written) -> _Target:
    partition = RedisPartition(redis, Layout(settings.prefix, work.partition))
    await partition.acquire(b"token", 0, b"floor", "floor")
    return _Target(partition, b"token", work)


async def _received(redis: Redis) -> float:
    found = await redis.info("stats")
    return float(found["total_net_input_bytes"])


async def outputs(meter: Meter, producer: AIOKafkaProducer, work: list[Written]) -> None:
    """Send what is announced, each batch acknowledged before the next."""
    with meter.piece("outputs"):
        for one in work:
            for topic, messages in one.sent:
                await send_batches(producer, topic, one.partition, messages)


def size_of(records: Iterable[tuple[bytes | None, bytes | None]]) -> int:
    """Bytes of keys and values."""
    return sum(len(key or b"") + len(value or b"") for key, value in records)
