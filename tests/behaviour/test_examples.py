"""The examples in the docs do what they say."""

import importlib.util
from pathlib import Path
from types import ModuleType

from aiokafka import AIOKafkaConsumer, TopicPartition

from moodstream.schemas.codec import decode
from moodstream.schemas.limits import Limits
from moodstream.streams.bus import Bus
from moodstream.streams.topics import create
from support.deployments import Deployment

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_publish_reports_an_outcome_and_an_engagement(deployment: Deployment) -> None:
    await create(deployment.streams)
    async with Bus(deployment.streams) as bus:
        await example("publish").report(bus)
    events = await published(deployment, 2)
    assert [event.type_name for event in events] == ["experience.outcome", "engagement"]
    assert {(event.tenant_id, event.agent_id) for event in events} == {("acme", "support-1")}


async def published(deployment: Deployment, count: int) -> list:
    topic = deployment.streams.topics.events
    consumer = AIOKafkaConsumer(bootstrap_servers=deployment.platform.bootstrap, auto_offset_reset="earliest")
    async with consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in range(deployment.streams.partitions)])
        records = [await consumer.getone() for _ in range(count)]
    return [
        decode(each.key, each.value, list(each.headers), limits=Limits(), timestamp_ms=each.timestamp).event
        for each in records
    ]
