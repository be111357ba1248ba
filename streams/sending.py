"""Records to one partition, in few large batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer

from moodstream.schemas.changelog import Span
from moodstream.streams.broker import connected, is_idempotent, reported
from moodstream.streams.settings import StreamSettings

_MEBIBYTE = 1 << 20

Headers = list[tuple[str, bytes]]
"""A list: the client takes nothing else."""


class Message(NamedTuple):
    """One record to send."""

    key: bytes | None
    value: bytes | None
    headers: Headers


async def open_producer(settings: StreamSettings) -> AIOKafkaProducer:
    """Start the worker's producer: acks from all replicas, idempotent where the broker can.

    Raises `BrokerUnavailable` within `connect_seconds`.
    """
    async with connected(settings) as admin, reported(settings):
        idempotent = await is_idempotent(admin)
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.servers,
        acks="all",
        enable_idempotence=idempotent,
        linger_ms=0,  # batches are made by hand
        max_batch_size=settings.max_batch_bytes,
        max_request_size=max(settings.max_batch_bytes, _MEBIBYTE),
        request_timeout_ms=int(settings.request_seconds * 1000),
    )
    async with reported(settings):
        await producer.start()
    return producer


async def send_batches(
    producer: AIOKafkaProducer,
    topic: str,
    partition: int,
    messages: Iterable[tuple[bytes | None, bytes | None, Headers]],
) -> list[Span]:
    """Send to one partition, in order, and wait for the broker. Gives where each batch came to lie.

    The last batch is sent when the broker has all others: the last message, such as a position in the changelog, must
    not be there without those before it.
    """
    pending: list[tuple[asyncio.Future[Any], int]] = []
    batch = producer.create_batch()
    for key, value, headers in messages:
        if batch.append(key=key, value=value, timestamp=None, headers=headers) is None:
            pending.append((await producer.send_batch(batch, topic, partition=partition), batch.record_count()))
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=None, headers=headers)
    answers = await asyncio.gather(*(sent for sent, _ in pending))
    spans = [Span(answer.offset, count) for answer, (_, count) in zip(answers, pending, strict=True)]
    if batch.record_count():
        sent = await producer.send_batch(batch, topic, partition=partition)
        spans.append(Span((await sent).offset, batch.record_count()))
    return spans
