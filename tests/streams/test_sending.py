"""Batches to one partition: in order, all confirmed, and the last only when the broker has the others."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError
from aiokafka.producer.message_accumulator import BatchBuilder

from moodstream.schemas.changelog import Span
from moodstream.streams.sending import Message, send_batches
from support.producers import Answer, Batch, FakeProducer

TOPIC = "t"


def messages(count: int) -> list[Message]:
    return [Message(b"k%d" % i, b"v", [("t", b"token")]) for i in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 9])
async def test_all_are_sent_in_order_and_their_places_told(count: int) -> None:
    producer = FakeProducer(most=3)
    spans = await send_batches(producer, TOPIC, 5, messages(count))  # type: ignore[arg-type]
    assert [sent.key for sent in producer.sent] == [message.key for message in messages(count)]
    assert all((sent.partition, sent.headers) == (5, {"t": b"token"}) for sent in producer.sent)
    sizes = [3] * (count // 3) + ([count % 3] if count % 3 else [])
    assert spans == [Span(3 * number, size) for number, size in enumerate(sizes)]


async def test_the_last_batch_waits_until_the_broker_has_the_others() -> None:
    confirmed: list[bytes | None] = []
    begun: list[bytes | None] = []
    answer = asyncio.Event()

    class Slow(FakeProducer):
        async def _answer(self, batch: Batch, topic: str, partition: int) -> object:  # type: ignore[override]
            begun.append(batch.records[0][0])
            await answer.wait()
            found = await super()._answer(batch, topic, partition)
            confirmed.append(batch.records[0][0])
            return found

    sending = asyncio.create_task(send_batches(Slow(most=2), TOPIC, 0, messages(7)))  # type: ignore[arg-type]
    for _ in range(10):
        await asyncio.sleep(0)
    assert begun == [b"k0", b"k2", b"k4"]
    answer.set()
    assert [span.length for span in await sending] == [2, 2, 2, 1]
    assert (begun[-1], confirmed[-1]) == (b"k6", b"k6")


@pytest.mark.parametrize("refused", [0, 1])
@pytest.mark.parametrize("error", [MessageSizeTooLargeError(), KafkaConnectionError()])
async def test_the_last_message_is_not_there_without_those_before_it(refused: int, error: Exception) -> None:
    seen = 0

    def judge(topic: str, batch: Batch) -> Exception | None:
        nonlocal seen
        seen += 1
        return error if seen == refused + 1 else None

    producer = FakeProducer(most=2, judge=judge)
    with pytest.raises(type(error)):
        await send_batches(producer, TOPIC, 0, messages(5))  # type: ignore[arg-type]
    for _ in range(10):
        await asyncio.sleep(0)
    assert b"k4" not in {sent.key for sent in producer.sent}


async def test_a_record_larger_than_a_batch_is_sent_alone() -> None:
    """With the client's own builder, which takes the first record whatever its size."""
    built: list[BatchBuilder] = []

    class Real(FakeProducer):
        def create_batch(self) -> BatchBuilder:  # type: ignore[override]
            return BatchBuilder(1_000, 0)

        async def _answer(self, batch: BatchBuilder, topic: str, partition: int) -> Answer:  # type: ignore[override]
            built.append(batch)
            return Answer(len(built))

    large = [Message(b"k", value, []) for value in (b"s", b"x" * 5_000, b"s")]
    spans = await send_batches(Real(), TOPIC, 0, large)  # type: ignore[arg-type]
    assert [batch.record_count() for batch in built] == [1, 1, 1] == [span.length for span in spans]
