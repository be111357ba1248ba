"""Topics and the publisher on both brokers."""

from __future__ import annotations

import asyncio
import gc
import socket
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.cluster import ClusterMetadata
from aiokafka.errors import OutOfOrderSequenceNumber

from moodstream.schemas.codec import decode
from moodstream.schemas.errors import BrokerUnavailable, TopicMismatch, TopicMissing
from moodstream.schemas.events import Outcome
from moodstream.schemas.identity import partition_of
from moodstream.streams import topics
from moodstream.streams.bus import Bus
from moodstream.streams.settings import StreamSettings
from support.deployments import Deployment
from support.servers import free_ports
from support.waiting import eventually

AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int, agent: str = "a") -> Outcome:
    return Outcome(
        tenant_id="t", agent_id=agent, event_id=f"e{number}", occurred_at=AT, description=f"event {number}", result="ok"
    )


async def records(settings: StreamSettings, count: int) -> list[Any]:
    found: list[Any] = []
    async with AIOKafkaConsumer(bootstrap_servers=settings.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(settings.topics.events, number) for number in range(settings.partitions)])
        while len(found) < count:
            found.append(await asyncio.wait_for(consumer.getone(), 20))
    return found


async def test_topics_are_made_once_and_then_fit(deployment: Deployment) -> None:
    settings = deployment.streams
    with pytest.raises(TopicMissing, match=settings.topics.events):
        await topics.check(settings)
    assert all(one.created for one in await topics.create(settings))
    assert not any(one.created for one in await topics.create(settings))
    found = await topics.check(settings)
    assert {one.name for one in found} == set(settings.topics.all())
    assert {one.partitions for one in found} == {settings.partitions}


async def test_checking_makes_no_topic(deployment: Deployment) -> None:
    for _ in range(2):  # the embedded broker makes each topic that a question names
        with pytest.raises(TopicMissing):
            await topics.check(deployment.streams)


async def test_topics_of_another_count_are_refused_with_what_to_do(deployment: Deployment) -> None:
    await topics.create(deployment.streams)
    wider = deployment.streams.model_copy(update={"partitions": 6})
    for refuse in (topics.check, topics.create):
        with pytest.raises(TopicMismatch, match="4 partitions, the settings say 6") as raised:
            await refuse(wider)
        assert "MOODSTREAM_STREAMS__PARTITIONS=4" in raised.value.hint


async def test_a_changelog_that_forgets_is_refused(deployment: Deployment) -> None:
    settings = deployment.streams
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap)
    await admin.start()
    try:
        config = {"cleanup.policy": "delete"}
        await admin.create_topics([NewTopic(settings.topics.changelog, settings.partitions, 1, topic_configs=config)])
    finally:
        await admin.close()
    with pytest.raises(TopicMismatch, match=r"cleanup\.policy=delete") as raised:
        await topics.create(settings)
    assert "cleanup.policy=compact" in raised.value.hint


async def test_a_changelog_that_may_keep_what_is_erased_is_refused(deployment: Deployment) -> None:
    settings = deployment.streams
    await topics.create(settings)
    shorter = settings.model_copy(update={"compaction_within_ms": settings.compaction_within_ms // 2})
    with pytest.raises(TopicMismatch, match=r"max\.compaction\.lag\.ms=604800000") as raised:
        await topics.check(shorter)
    assert "max.compaction.lag.ms=302400000" in raised.value.hint
    longer = settings.model_copy(update={"compaction_within_ms": settings.compaction_within_ms * 2})
    await topics.check(longer)


async def test_events_arrive_in_order_in_the_partition_of_their_key(deployment: Deployment) -> None:
    settings = deployment.streams
    await topics.create(settings)
    async with Bus(settings) as bus:
        assert bus.idempotent == deployment.platform.is_real
        assert bus.partitions == settings.partitions
        first = await bus.fire(event(0))
        report = await bus.fire_all([event(number) for number in range(1, 100)])
        report.raise_for_failures()
        sent = await bus.stream(event(number) for number in range(100, 3000))
    assert sent == 2900
    found = await records(settings, 3000)
    assert {record.partition for record in found} == {partition_of(b"t/a", settings.partitions)} == {first.partition}
    assert [decode(record.key, record.value, record.headers).event for record in found] == [
        event(number) for number in range(3000)
    ]
    assert [receipt.offset for receipt in (first, *report.receipts)] == list(range(100))


async def test_the_partition_count_is_the_topics_own(deployment: Deployment) -> None:
    await topics.create(deployment.streams.model_copy(update={"partitions": 3}))
    async with Bus(deployment.streams) as bus:
        assert bus.partitions == 3
        for number in range(20):
            receipt = await bus.fire(event(number, agent=f"agent-{number}"))
            assert receipt.partition == partition_of(f"t/agent-{number}".encode(), 3)


async def test_missing_topic_names_the_command(deployment: Deployment) -> None:
    with pytest.raises(TopicMissing, match=r"events\.v1") as raised:
        await Bus(deployment.streams).start()
    assert "moodstream topics create" in raised.value.hint


async def test_a_frozen_broker_is_waited_for(deployment: Deployment) -> None:
    broker = deployment.platform.broker
    if broker is None:
        pytest.skip("the broker is not ours to freeze")
    settings = deployment.streams.model_copy(update={"max_flight_events": 5})
    await topics.create(settings)
    async with Bus(settings) as bus:
        await bus.fire(event(0))
        broker.pause()
        try:
            streaming = asyncio.create_task(bus.stream(event(number) for number in range(1, 50)))
            await eventually(lambda: bus._flight.events == 5, what="five events in flight")
            assert not streaming.done()
        finally:
            broker.resume()
        assert await streaming == 49
    assert len(await records(settings, 50)) == 50


async def test_a_broker_that_stays_away_is_told_and_left_in_time(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    broker = deployment.platform.broker
    if broker is None:
        pytest.skip("the broker is not ours to freeze")
    settings = deployment.streams.model_copy(update={"request_seconds": 1.0})
    await topics.create(settings)
    bus = Bus(settings)
    await bus.start()
    await bus.fire(event(0))
    broker.pause()
    try:
        async with asyncio.timeout(20):
            with pytest.raises(BrokerUnavailable, match=r"RequestTimedOutError|no answer within 1 s"):
                await bus.stream(event(number) for number in range(1, 20_000))
            await bus.close(0.5)
    finally:
        broker.resume()
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


async def test_closing_waits_for_what_is_in_flight(deployment: Deployment) -> None:
    await topics.create(deployment.streams)
    settings = deployment.streams.model_copy(update={"linger_ms": 500})
    bus = Bus(settings)
    await bus.start()
    firing = asyncio.create_task(bus.fire(event(1)))
    await eventually(lambda: bus._flight.events == 1, what="an event in flight")
    await bus.close()
    assert (await firing).offset == 0
    with pytest.raises(BrokerUnavailable):
        await bus.fire(event(2))


async def test_a_producer_that_gave_up_is_replaced(deployment: Deployment) -> None:
    await topics.create(deployment.streams)
    async with Bus(deployment.streams) as bus:
        await bus.fire(event(1))
        # As aiokafka does when the broker says that a sequence number is out of order.
        bus._sender._producer._message_accumulator.fail_all(OutOfOrderSequenceNumber())  # type: ignore[attr-defined]
        await bus.fire(event(2))
    assert len(await records(deployment.streams, 2)) == 2


async def test_no_broker_names_the_address(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)
    settings = StreamSettings(bootstrap=f"127.0.0.1:{port}", connect_seconds=0.3)
    for attempt in (Bus(settings).start, lambda: topics.create(settings), lambda: topics.check(settings)):
        with pytest.raises(BrokerUnavailable, match=f"127.0.0.1:{port}.*connection refused"):
            await attempt()
    assert caplog.records == []


async def test_a_broker_that_does_not_yet_name_itself_is_waited_for(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Kafka does for a moment after it was frozen for longer than its session."""
    named = ClusterMetadata.update_metadata
    answers = 0

    def late(cluster: ClusterMetadata, metadata: object) -> None:
        nonlocal answers
        answers += 1
        if answers > 2:
            named(cluster, metadata)

    monkeypatch.setattr(ClusterMetadata, "update_metadata", late)
    await topics.create(deployment.streams)
    assert answers > 2
    monkeypatch.setattr(ClusterMetadata, "update_metadata", lambda cluster, metadata: None)
    with pytest.raises(BrokerUnavailable, match="no broker is up"):
        await topics.check(deployment.streams.model_copy(update={"connect_seconds": 1.0}))


async def test_something_else_on_the_port_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        settings = StreamSettings(bootstrap=f"127.0.0.1:{port}", connect_seconds=0.5)
        with pytest.raises(BrokerUnavailable, match="does not answer as a Kafka broker"):
            await Bus(settings).start()
