"""Who is measured: our worker, or a peer. Each knows how far it has come."""

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

from bench.contenders import Peer
from moodstream.state.layout import Layout
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import create
from support.platforms import Platform

Progress = Callable[[], Awaitable[int]]

BENCHMARKS = Path(__file__).resolve().parents[1]
_TAIL_BYTES = 400


@dataclass(frozen=True)
class Subject:
    """A command to run on the backlog, until `progress` has reached `events`."""

    name: str
    events: int
    command: Sequence[str]
    env: Mapping[str, str]
    progress: Progress
    app: str
    """A word that is in the names of all topics and rows that it makes for itself."""


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
    return Subject("moodstream", events, command, {f"MOODSTREAM_{k}": v for k, v in env.items()}, progress, app)


async def theirs(peer: Peer, topics: StreamSettings, events: int, folder: Path, stack: AsyncExitStack) -> Subject:
    """Prepare a peer: a group, a folder, tables and an output topic of its own. Raises `MissingToolError`."""
    command = peer.command()
    app = f"{peer.name.replace('_', '-')}-{uuid.uuid4().hex[:8]}"
    output, own = output_of(app), folder / app
    own.mkdir()
    await _create(topics.bootstrap, output, topics.partitions)
    env = {
        **peer.env,
        "APP": app,
        "BOOTSTRAP": topics.bootstrap,
        "EVENTS": topics.topics.events,
        "OUTPUT": output,
        "PARTITIONS": str(topics.partitions),
        "FOLDER": str(own),
        "PYTHONPATH": str(BENCHMARKS),
    }
    counted = _counted(folder / f"{peer.name}.log")
    progress = counted if peer.counts_itself else await _given_out(topics, output, stack)
    return Subject(peer.name, events, command, env, progress, app)


def output_of(app: str) -> str:
    """The topic that a peer writes to."""
    return f"{app}-output"


async def _given_out(topics: StreamSettings, output: str, stack: AsyncExitStack) -> Progress:
    """Progress is the number of outputs, where there is one an event."""
    consumer = AIOKafkaConsumer(bootstrap_servers=topics.bootstrap)
    await stack.enter_async_context(consumer)
    partitions = [TopicPartition(output, partition) for partition in range(topics.partitions)]

    async def progress() -> int:
        return sum((await consumer.end_offsets(partitions)).values())

    return progress


def _counted(log: Path) -> Progress:
    """Progress is what the subject wrote to its log last: lines `done N`."""

    async def progress() -> int:
        return told(_end_of(log))

    return progress


def told(log: bytes) -> int:
    """The number in the last line `done N` that is whole."""
    lines = log.split(b"\n")[:-1]
    return next((int(line[5:]) for line in reversed(lines) if line.startswith(b"done ")), 0)


def _end_of(log: Path) -> bytes:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _TAIL_BYTES, 0))
        return file.read()


async def _create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
    finally:
        await admin.close()
