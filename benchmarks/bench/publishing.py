"""Ways to publish the same events: those of the SDK, and a bare aiokafka producer that is given the bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaProducer

from moodstream.schemas.events import InputEvent
from moodstream.schemas.limits import DEFAULT_LIMITS
from moodstream.streams.bus import Bus
from moodstream.streams.outgoing import Checked
from moodstream.streams.settings import StreamSettings

Publish = Callable[[Sequence[Any]], Awaitable[None]]


@dataclass(frozen=True)
class Way:
    """One way to publish. `peer` is the bare way that does the same; `single`: one event at a time."""

    name: str
    single: bool
    peer: str | None
    bare: bool
    publish: Publish


def ways(bus: Bus, producer: AIOKafkaProducer, topic: str) -> list[Way]:
    """All of them. Those of the SDK take events, the bare ones take what the SDK makes of the events."""
    volume, single = "aiokafka: send", "aiokafka: send, wait"
    return [
        Way(volume, single=False, peer=None, bare=True, publish=lambda records: _send(producer, topic, records)),
        Way("Bus.stream", single=False, peer=volume, bare=False, publish=lambda events: _stream(bus, events)),
        Way("Bus.fire_all, batches of 500", single=False, peer=volume, bare=False, publish=lambda e: _batches(bus, e)),
        Way(single, single=True, peer=None, bare=True, publish=lambda records: _send_each(producer, topic, records)),
        Way("Bus.fire, one by one", single=True, peer=single, bare=False, publish=lambda e: _fire_each(bus, e)),
    ]


async def bare_producer(settings: StreamSettings, *, idempotent: bool) -> AIOKafkaProducer:
    """A producer with the settings of the SDK's."""
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.servers,
        acks="all",
        enable_idempotence=idempotent,
        linger_ms=settings.linger_ms,
        max_batch_size=settings.max_batch_bytes,
        max_request_size=max(settings.max_batch_bytes, 1 << 20),
    )
    await producer.start()
    return producer


async def _stream(bus: Bus, events: Sequence[InputEvent]) -> None:
    await bus.stream(events)


async def _batches(bus: Bus, events: Sequence[InputEvent]) -> None:
    """Batch after batch, as a caller does it that wants the receipts of each."""
    size = DEFAULT_LIMITS.batch_events
    for start in range(0, len(events), size):
        report = await bus.fire_all(events[start : start + size])
        if report.failures:
            raise report.failures[0].error


async def _fire_each(bus: Bus, events: Sequence[InputEvent]) -> None:
    for event in events:
        await bus.fire(event)


async def _send(producer: AIOKafkaProducer, topic: str, checked: Sequence[Checked]) -> None:
    """Send all with as much in flight as the SDK allows itself; then wait for the answers."""
    room, sent = asyncio.Semaphore(StreamSettings().max_flight_events), []
    for one in checked:
        await room.acquire()
        answer = await _posted(producer, topic, one)
        answer.add_done_callback(lambda _: room.release())
        sent.append(answer)
    await asyncio.gather(*sent)


async def _send_each(producer: AIOKafkaProducer, topic: str, checked: Sequence[Checked]) -> None:
    for one in checked:
        await (await _posted(producer, topic, one))


async def _posted(producer: AIOKafkaProducer, topic: str, one: Checked) -> asyncio.Future[Any]:
    record = one.record
    answer: asyncio.Future[Any] = await producer.send(
        topic, record.value, key=record.key, partition=record.partition, timestamp_ms=record.timestamp_ms
    )
    return answer
