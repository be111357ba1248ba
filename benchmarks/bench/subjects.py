"""Who is measured: our worker, and a stock Faust agent with the same folds. Each knows how far it has come."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from redis.asyncio import Redis

from moodstream.state.layout import Layout
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import create
from support.platforms import Platform

PEERS = Path(__file__).resolve().parents[1] / "peers"

Progress = Callable[[], Awaitable[int]]


@dataclass(frozen=True)
class Subject:
    """A command to run on the backlog, until `progress` has reached `events`."""

    name: str
    events: int
    command: Sequence[str]
    env: Mapping[str, str]
    progress: Progress


async def ours(platform: Platform, topics: StreamSettings, events: int, stack: AsyncExitStack) -> Subject:
    """Prepare `moodstream worker` as a deployment that has seen nothing of the log yet."""
    app = f"bench-{uuid.uuid4().hex[:8]}"
    settings = topics.model_copy(update={"app_id": app})
    await create(settings)
    redis = Redis.from_url(platform.redis_url)
    stack.push_async_callback(redis.aclose)
    metas = [Layout(f"{app}.", partition).meta for partition in range(settings.partitions)]

    async def progress() -> int:
        async with redis.pipeline(transaction=False) as pipeline:
            for meta in metas:
                pipeline.hget(meta, "source")
            return sum(int(position or 0) for position in await pipeline.execute())

    env = {
        "STREAMS__BOOTSTRAP": settings.bootstrap,
        "STREAMS__PREFIX": settings.prefix,
        "STREAMS__APP_ID": app,
        "STATE__URL": platform.redis_url,
        "STATE__PREFIX": f"{app}.",
    }
    command = [str(Path(sys.executable).with_name("moodstream")), "worker"]
    return Subject("moodstream", events, command, {f"MOODSTREAM_{k}": v for k, v in env.items()}, progress)


async def stock_faust(
    platform: Platform, topics: StreamSettings, events: int, folder: Path, stack: AsyncExitStack
) -> Subject:
    """Prepare the stock agent: its own group, tables and output topic."""
    app = f"stock-{uuid.uuid4().hex[:8]}"
    output = f"{app}-changes"
    await _create(platform.bootstrap, output, topics.partitions)
    consumer = AIOKafkaConsumer(bootstrap_servers=platform.bootstrap)
    await stack.enter_async_context(consumer)
    partitions = [TopicPartition(output, partition) for partition in range(topics.partitions)]

    async def progress() -> int:
        return sum((await consumer.end_offsets(partitions)).values())

    env = {
        "APP": app,
        "BOOTSTRAP": platform.bootstrap,
        "EVENTS": topics.topics.events,
        "CHANGES": output,
        "PARTITIONS": str(topics.partitions),
        "FOLDER": str(folder),
        "PYTHONPATH": str(PEERS),
    }
    command = [sys.executable, "-m", "faust", "-A", "stock_faust", "worker", "--without-web", "-l", "info"]
    return Subject("stock_faust", events, command, env, progress)


async def _create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
    finally:
        await admin.close()
