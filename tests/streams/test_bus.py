"""The publisher without a broker: what is checked, what is sent, what is reported."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from moodstream.schemas.codec import decode
from moodstream.schemas.errors import (
    BatchTooLarge,
    BrokerUnavailable,
    EventTooLarge,
    FutureEvent,
    InvalidEvent,
    UnknownType,
)
from moodstream.schemas.events import MoodState, Outcome, Pad
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.limits import Limits
from moodstream.streams.bus import Bus
from moodstream.streams.report import Failure
from moodstream.streams.sender import Record
from moodstream.streams.settings import StreamSettings
from moodstream.streams.testing import MemorySender

AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int = 1, agent: str = "a", **more: Any) -> Outcome:
    fields = {"description": f"event {number}", "result": "success", **more}
    return Outcome(tenant_id="t", agent_id=agent, event_id=f"e{number}", occurred_at=AT, **fields)


def plain(number: int = 1, **more: Any) -> dict[str, object]:
    fields = {"tenant_id": "t", "agent_id": "a", "event_id": f"e{number}", "occurred_at": "2026-01-01T00:00:00Z"}
    return {"type": "experience.outcome", "description": "d", "result": "ok", **fields, **more}


def ids(sender: MemorySender) -> list[str]:
    return [decode(record.key, record.value).event.event_id for record in sender.records]


async def test_an_event_arrives_as_it_was_in_the_partition_of_its_key() -> None:
    sender = MemorySender(partitions=7)
    async with Bus(sender=sender) as bus:
        receipt = await bus.fire(event(agent="ä/ö"))
    (record,) = sender.records
    assert record.key == agent_key("t", "ä/ö")
    assert record.partition == receipt.partition == partition_of(record.key, 7)
    assert decode(record.key, record.value, record.headers).event == event(agent="ä/ö")
    assert receipt.position == f"{record.partition}:0"


async def test_offsets_count_on_and_position_names_them() -> None:
    async with Bus(sender=MemorySender(partitions=1)) as bus:
        receipts = [await bus.fire(event(number)) for number in range(3)]
    assert [receipt.position for receipt in receipts] == ["0:0", "0:1", "0:2"]
    assert [receipt.event_id for receipt in receipts] == ["e0", "e1", "e2"]


async def test_plain_json_is_taken_too() -> None:
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        await bus.fire(plain(5))
    assert ids(sender) == ["e5"]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (plain(importance=float("nan")), InvalidEvent),
        (plain(occurred_at="2026-01-01T00:00:00"), InvalidEvent),
        (plain(description=" "), InvalidEvent),
        (plain(metadata={"turn-id": "x"}), InvalidEvent),
        (plain(tenant_id="a\n"), InvalidEvent),
        (plain(agent_id="x" * 257), InvalidEvent),
        (plain(surprise=1), InvalidEvent),
        (plain(type="experience.dream"), UnknownType),
        (plain(occurred_at=(datetime.now(UTC) + timedelta(days=1)).isoformat()), FutureEvent),
    ],
)
async def test_a_bad_event_raises_before_anything_is_sent(bad: dict[str, object], error: type[Exception]) -> None:
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        with pytest.raises(error):
            await bus.fire(bad)
    assert sender.records == []


async def test_what_moodstream_makes_itself_cannot_be_fired() -> None:
    state = MoodState(
        tenant_id="t", agent_id="a", event_id="mood:e", occurred_at=AT, pleasure=0, arousal=0, dominance=0, cause="c"
    )
    async with Bus(sender=MemorySender()) as bus:
        with pytest.raises(UnknownType):
            await bus.fire(state)  # type: ignore[arg-type]


async def test_limits_of_the_settings_hold_for_events_made_under_others() -> None:
    sender = MemorySender()
    async with Bus(StreamSettings(limits=Limits(description_bytes=10)), sender=sender) as bus:
        with pytest.raises(InvalidEvent, match="description_bytes"):
            await bus.fire(event(description="x" * 11))
    assert sender.records == []


async def test_an_event_over_the_limit_is_named() -> None:
    async with Bus(StreamSettings(limits=Limits(event_bytes=1024)), sender=MemorySender()) as bus:
        with pytest.raises(EventTooLarge, match="event_bytes"):
            await bus.fire(event(description="x" * 1024))


async def test_a_refused_write_names_the_address_and_what_to_do() -> None:
    sender = MemorySender(refuse=lambda _: KafkaConnectionError("gone"))
    async with Bus(StreamSettings(bootstrap="there:1"), sender=sender) as bus:
        with pytest.raises(BrokerUnavailable, match=r"there:1.*gone") as raised:
            await bus.fire(event())
    assert "event_id" in raised.value.hint


async def test_a_broker_that_says_too_large_is_no_missing_broker() -> None:
    async with Bus(sender=MemorySender(refuse=lambda _: MessageSizeTooLargeError())) as bus:
        with pytest.raises(EventTooLarge):
            await bus.fire(event())


async def test_no_answer_in_time_is_told() -> None:
    async with Bus(StreamSettings(request_seconds=0.01), sender=MemorySender(held=True)) as bus:
        with pytest.raises(BrokerUnavailable, match="no answer within"):
            await bus.fire(event())


async def test_room_is_waited_for_and_never_passed() -> None:
    sender = MemorySender(held=True)
    async with Bus(StreamSettings(max_flight_events=2), sender=sender) as bus:
        firing = [asyncio.create_task(bus.fire(event(number))) for number in range(5)]
        while len(sender.records) < 5:
            for _ in range(5):
                await asyncio.sleep(0)
            waiting = len(sender._open)
            assert 1 <= waiting <= 2
            sender.release()
        await asyncio.gather(*firing)
    assert ids(sender) == ["e0", "e1", "e2", "e3", "e4"]


async def test_no_room_in_time_is_told() -> None:
    settings = StreamSettings(request_seconds=0.01, max_flight_events=1)
    async with Bus(settings, sender=MemorySender(held=True)) as bus:
        first = asyncio.create_task(bus.fire(event(1)))
        await asyncio.sleep(0)
        with pytest.raises(BrokerUnavailable):
            await bus.fire(event(2))
        with pytest.raises(BrokerUnavailable):
            await first


async def test_leaving_waits_for_what_is_in_flight() -> None:
    sender = MemorySender(held=True)
    async with Bus(sender=sender) as bus:
        firing = asyncio.create_task(bus.fire(event()))
        await asyncio.sleep(0)
    assert sender.closed
    assert (await firing).offset == 0


async def test_leaving_after_a_failure_does_not_wait_as_long() -> None:
    patient, hurried = MemorySender(), MemorySender(refuse=lambda _: KafkaConnectionError("gone"))
    async with Bus(sender=patient) as bus:
        await bus.fire(event())
    with pytest.raises(BrokerUnavailable):
        async with Bus(sender=hurried) as bus:
            await bus.fire(event())
    assert patient.patience == StreamSettings().request_seconds
    assert hurried.patience is not None
    assert hurried.patience < patient.patience


async def test_a_cancelled_fire_leaves_no_room_taken_and_no_loud_failure() -> None:
    sender = MemorySender(held=True, refuse=lambda _: KafkaConnectionError("gone"))
    async with Bus(StreamSettings(max_flight_events=1), sender=sender) as bus:
        firing = asyncio.create_task(bus.fire(event()))
        await asyncio.sleep(0)
        firing.cancel()
        await asyncio.gather(firing, return_exceptions=True)
        sender.release()
        await asyncio.sleep(0)
        assert bus._flight.events == 0
    gc.collect()  # "exception was never retrieved" would be a warning, and so an error here


async def test_all_sends_everything_in_order() -> None:
    sender = MemorySender(partitions=1)
    async with Bus(sender=sender) as bus:
        report = await bus.fire_all([event(number) for number in range(20)])
    assert report.ok
    assert ids(sender) == [f"e{number}" for number in range(20)]
    assert [receipt.offset for receipt in report.receipts] == list(range(20))


async def test_all_with_one_bad_event_sends_nothing_and_names_its_place() -> None:
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        with pytest.raises(InvalidEvent) as raised:
            await bus.fire_all([plain(1), plain(2), plain(3, description="")])
    assert raised.value.fields["index"] == 2
    assert raised.value.field == "description"
    assert sender.records == []


async def test_part_sends_the_good_and_reports_the_bad() -> None:
    sender = MemorySender(partitions=1)
    async with Bus(sender=sender) as bus:
        report = await bus.fire_all([plain(0), plain(1, type="nothing"), plain(2), plain(3, result="")], "part")
    assert ids(sender) == ["e0", "e2"]
    assert [(one.index, one.event_id, one.error.code) for one in report.failures] == [
        (1, "e1", "unknown_type"),
        (3, "e3", "invalid_event"),
    ]
    with pytest.raises(UnknownType):
        report.raise_for_failures()


@pytest.mark.parametrize("mode", ["all", "part"])
async def test_what_the_broker_refuses_is_reported_event_by_event(mode: Any) -> None:
    def odd(record: Record) -> Exception | None:
        return KafkaConnectionError("gone") if b"e1" in record.value else None

    sender = MemorySender(refuse=odd)
    async with Bus(sender=sender) as bus:
        report = await bus.fire_all([event(0), event(1), event(2)], mode)
    assert [(one.index, one.error.code) for one in report.failures] == [(1, "broker_unavailable")]
    assert [receipt.event_id for receipt in report.receipts] == ["e0", "e2"]


@pytest.mark.parametrize("mode", ["all", "part"])
@pytest.mark.parametrize("limits", [Limits(batch_events=2), Limits(batch_bytes=1024)])
async def test_a_batch_over_a_limit_sends_nothing(mode: Any, limits: Limits) -> None:
    sender = MemorySender()
    events = [event(number, description="x" * 300) for number in range(4)]
    async with Bus(StreamSettings(limits=limits), sender=sender) as bus:
        with pytest.raises(BatchTooLarge):
            await bus.fire_all(events, mode)
    assert sender.records == []


async def test_an_empty_batch_is_fine() -> None:
    async with Bus(sender=MemorySender()) as bus:
        assert (await bus.fire_all([])).ok


async def test_a_stream_sends_more_than_there_is_room_for() -> None:
    sender = MemorySender(partitions=1)
    seen: list[int] = []
    async with Bus(StreamSettings(max_flight_events=10), sender=sender) as bus:
        sent = await bus.stream((event(number) for number in range(1000)), progress=seen.append)
    assert sent == 1000
    assert ids(sender) == [f"e{number}" for number in range(1000)]
    assert seen == sorted(seen)
    assert seen[-1] == 1000


async def test_a_stream_takes_an_async_source() -> None:
    async def source() -> AsyncIterator[Outcome]:
        for number in range(3):
            yield event(number)
            await asyncio.sleep(0)

    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        assert await bus.stream(source()) == 3


async def test_a_stream_stops_at_the_first_failure_after_all_answers() -> None:
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        with pytest.raises(InvalidEvent) as raised:
            await bus.stream([plain(0), plain(1, result=""), plain(2)])
    assert raised.value.fields["index"] == 1
    assert ids(sender) == ["e0"]


async def test_a_stream_goes_on_where_failures_are_taken() -> None:
    sender = MemorySender(refuse=lambda record: KafkaConnectionError() if b"e3" in record.value else None)
    failures: list[Failure] = []
    async with Bus(sender=sender) as bus:
        events = [plain(0), plain(1, result=""), plain(2), plain(3), plain(4)]
        assert await bus.stream(events, failed=failures.append) == 3
    assert [(one.index, one.event_id) for one in failures] == [(1, "e1"), (3, "e3")]
    assert ids(sender) == ["e0", "e2", "e4"]


async def test_a_stream_without_answers_ends() -> None:
    settings = StreamSettings(request_seconds=0.01)
    async with Bus(settings, sender=MemorySender(held=True)) as bus:
        with pytest.raises(BrokerUnavailable):
            await bus.stream([event(1), event(2)])


async def test_an_annotator_sees_events_and_mappings_on_every_way_out() -> None:
    sender = MemorySender()
    bus = Bus(sender=sender, annotate=lambda text: Pad(pleasure=0.5) if text == "d" else None)
    own = event(4, description="d", pad=Pad(arousal=0.1))
    await bus.fire(plain(1))
    await bus.fire_all([event(2, description="d"), event(3), own])
    await bus.stream([plain(5)])
    found = {one.event_id: one.pad for one in (decode(record.key, record.value).event for record in sender.records)}
    half = Pad(pleasure=0.5)
    assert found == {"e1": half, "e2": half, "e3": None, "e4": Pad(arousal=0.1), "e5": half}


async def test_without_an_annotator_nothing_is_added() -> None:
    sender = MemorySender()
    await Bus(sender=sender).fire(event(description="wonderful"))
    assert decode(sender.records[0].key, sender.records[0].value).event.pad is None
