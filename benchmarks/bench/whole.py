"""Everything that a deployment needs, running: broker, Redis, a worker, the query service; and how far it lags."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from bench.process import cpu_seconds, machine_seconds, tree
from bench.worker import check_alive, metas, ready
from moodstream.streams.topics import create
from support.deployments import Deployment
from support.platforms import Platform
from support.running import WorkerProcess
from support.servers import Server, free_ports
from support.waiting import eventually

_START_SECONDS = 60


@dataclass
class Whole:
    """A deployment at work."""

    deployment: Deployment
    worker: WorkerProcess
    service: Server
    redis: Redis
    consumer: AIOKafkaConsumer

    @property
    def url(self) -> str:
        """Where the query service answers."""
        return f"http://127.0.0.1:{self.service.port}"

    async def lag(self) -> int:
        """Events in the log that are not in Redis yet."""
        check_alive(self.worker)
        found = await metas(self.redis, self.deployment)
        topic, count = self.deployment.streams.topics.events, self.deployment.streams.partitions
        ends = await self.consumer.end_offsets([TopicPartition(topic, partition) for partition in range(count)])
        return int(sum(ends.values())) - sum(int(meta.get(b"source", 0)) for meta in found)

    async def counts(self) -> dict[str, int]:
        """Records accepted, refused and so on, over all partitions."""
        found = await metas(self.redis, self.deployment)
        names = ("accepted", "duplicate", "dead")
        return {name: sum(int(meta.get(name.encode(), 0)) for meta in found) for name in names}

    def cpu(self) -> dict[str, float]:
        """CPU seconds so far, by part; `machine` is the whole machine's."""
        platform = self.deployment.platform
        each = {"Kafka": platform.broker, "Redis": platform.redis, "worker": self.worker, "query service": self.service}
        used = {name: cpu_seconds(tree(one.process.pid)) for name, one in each.items() if one and one.process}
        return {**used, "machine": machine_seconds()}


@asynccontextmanager
async def whole(platform: Platform, folder: Path) -> AsyncIterator[Whole]:
    """Start it, for the time of a block."""
    deployment = Deployment(platform, f"whole-{uuid.uuid4().hex[:8]}")
    await create(deployment.streams)
    worker = WorkerProcess(deployment, folder / "worker.log")
    service = _service(deployment, folder)
    async with (
        Redis.from_url(platform.redis_url) as redis,
        AIOKafkaConsumer(bootstrap_servers=platform.bootstrap) as consumer,
    ):
        try:
            worker.start()
            service.spawn()
            one = Whole(deployment, worker, service, redis, consumer)
            nobody: list[bytes | None] = [None] * deployment.streams.partitions
            await eventually(lambda: ready(redis, deployment, nobody), seconds=_START_SECONDS, what="the worker")
            await eventually(lambda: _is_ready(one.url), seconds=_START_SECONDS, what="the query service")
            yield one
        finally:
            service.stop()
            worker.end()


def _service(deployment: Deployment, folder: Path) -> Server:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moodstream", "serve", "--port", str(port)]
    return Server("query service", command, port, folder / "service.log", deployment.environment)


async def _is_ready(url: str) -> bool:
    return await asyncio.to_thread(_ready_now, url)


def _ready_now(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as answer:  # noqa: S310 - a URL of our own
            return bool(json.load(answer)["ready"])
    except (urllib.error.URLError, OSError):
        return False
