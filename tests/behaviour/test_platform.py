"""What every other behaviour suite stands on: both platforms carry a record and keep a value."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from redis.asyncio import Redis

from support.deployments import Deployment


async def test_broker_carries_a_record(deployment: Deployment) -> None:
    topic = f"{deployment.prefix}probe"
    await create(deployment.platform.bootstrap, topic)
    async with AIOKafkaProducer(bootstrap_servers=deployment.platform.bootstrap) as producer:
        sent = await producer.send_and_wait(topic, b"value", key=b"key", headers=[("name", b"x")])
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=deployment.platform.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        record = await asyncio.wait_for(consumer.getone(), 20)
    assert (record.key, record.value, record.headers) == (b"key", b"value", (("name", b"x"),))
    assert (record.partition, record.offset) == (sent.partition, sent.offset)


async def test_redis_keeps_a_value_and_evicts_nothing(deployment: Deployment) -> None:
    async with Redis.from_url(deployment.platform.redis_url) as redis:
        key = f"{deployment.prefix}probe"
        await redis.set(key, b"value")
        assert await redis.get(key) == b"value"
        assert (await redis.config_get("maxmemory-policy"))["maxmemory-policy"] == "noeviction"


async def create(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])
    finally:
        await admin.close()
