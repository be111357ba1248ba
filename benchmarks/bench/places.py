"""Servers of a benchmark's own, and deployments on them."""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import structlog

from bench.filling import Filled, Template, fill
from bench.workload import publish
from moodstream.streams.changelog import KafkaChangelog
from moodstream.streams.sending import open_producer
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import create
from support.deployments import Deployment
from support.platforms import Platform, real
from support.real import choose


@contextmanager
def servers() -> Iterator[tuple[Platform, Path]]:
    """Start real Kafka and Redis in a folder that goes with them."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it complains of topics that were just made
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # so that servers and folder go too
    choice = choose()
    if choice.how is None:
        sys.exit(f"the benchmark needs real Kafka and Redis: {choice.why}")
    with tempfile.TemporaryDirectory(prefix="moodstream-bench-") as name:
        folder = Path(name)
        with real(choice, folder) as platform:
            yield platform, folder


async def deployed(
    platform: Platform, label: str, template: Template, agents: int, *, erased: int = 0
) -> tuple[Deployment, Filled]:
    """Make a deployment whose changelog holds so many agents; Redis does not know them yet. `erased`: as for `fill`."""
    deployment = Deployment(platform, f"{label}-{uuid.uuid4().hex[:8]}")
    await create(deployment.streams)
    async with changelog_of(deployment.streams) as changelog:
        filled = await fill(changelog, template, agents, deployment.streams.partitions, erased=erased)
    return deployment, filled


async def published(platform: Platform, records: Iterable[tuple[bytes, bytes]]) -> StreamSettings:
    """Make the topics of a deployment, and publish records (key, value) to it."""
    streams = Deployment(platform, f"bench-{uuid.uuid4().hex[:8]}").streams
    await create(streams)
    await publish(records, platform.bootstrap, streams.topics.events)
    return streams


@asynccontextmanager
async def changelog_of(settings: StreamSettings) -> AsyncIterator[KafkaChangelog]:
    """A changelog with a producer, for as long as the block lasts."""
    producer = await open_producer(settings)
    try:
        yield KafkaChangelog(settings, producer)
    finally:
        await producer.stop()


def pids(platform: Platform) -> list[int]:
    """The servers that this benchmark runs; their work is not foreign."""
    return [each.process.pid for each in (platform.broker, platform.redis) if each and each.process]


def say(text: str) -> None:
    """Tell on standard error what goes on."""
    print(text, file=sys.stderr, flush=True)
