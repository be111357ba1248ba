"""A deployment that runs: topics made, workers as processes of their own, positions waited for, audits asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from moodstream.schemas.events import InputEvent
from moodstream.state.cluster import is_cluster
from moodstream.state.connection import connect
from moodstream.state.layout import Layout
from moodstream.streams import topics
from moodstream.streams.bus import Bus
from support.deployments import Deployment
from support.servers import launch
from support.waiting import eventually, wait_until

COUNTS = ("accepted", "duplicate", "erased", "dead")


@dataclass
class WorkerProcess:
    """One `moodstream worker`; its log outlives it."""

    deployment: Deployment
    log: Path
    process: subprocess.Popen[bytes] | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment, besides those of the deployment."""

    def start(self) -> None:
        """Start it; it is not waited for."""
        command = [sys.executable, "-m", "moodstream", "worker"]
        self.process = launch(command, self.log, {**os.environ, **self.deployment.environment, **self.more})

    def signal(self, number: int) -> None:
        """Send a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, seconds: float = 20) -> int:
        """Wait for its end; give the exit code."""
        assert self.process is not None
        return self.process.wait(seconds)

    def said(self, word: str) -> bool:
        """Whether its log holds a word."""
        return self.log.exists() and word in self.log.read_text(errors="replace")

    def end(self) -> None:
        """End it for sure."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()


@dataclass
class Running:
    """A deployment with topics, a bus and any number of workers."""

    deployment: Deployment
    bus: Bus
    redis: Redis
    folder: Path
    workers: list[WorkerProcess] = field(default_factory=list)

    def worker(self, more: Mapping[str, str] | None = None) -> WorkerProcess:
        """Start one more worker, with more variables in its environment."""
        log = self.folder / f"worker-{len(self.workers)}.log"
        one = WorkerProcess(self.deployment, log, more=more or {})
        one.start()
        self.workers.append(one)
        return one

    async def meta(self, partition: int) -> dict[str, str]:
        """What Redis says of a partition."""
        raw = await self.redis.hgetall(Layout(self.deployment.prefix, partition).meta)  # type: ignore[misc]
        return {name.decode(): value.decode() for name, value in raw.items()}

    async def counts(self) -> dict[str, int]:
        """The four counts, over all partitions."""
        metas = [await self.meta(p) for p in range(self.deployment.streams.partitions)]
        return {name: sum(int(meta.get(name, 0)) for meta in metas) for name in COUNTS}

    async def read(self, records: int, seconds: float = 60) -> dict[str, int]:
        """Wait until so many records have been read and every partition is ready; give the counts."""

        async def done() -> dict[str, int] | None:
            counts = await self.counts()
            metas = [await self.meta(p) for p in range(self.deployment.streams.partitions)]
            ready = all(meta.get("state") == "ready" for meta in metas)
            return counts if ready and sum(counts.values()) >= records else None

        try:
            return await eventually(done, seconds=seconds, what=f"{records} records read")
        except TimeoutError as error:
            tails = [f"{one.log.name}:\n{one.log.read_text(errors='replace')[-3000:]}" for one in self.workers]
            raise TimeoutError(f"{error}; {await self.counts()}\n" + "\n".join(tails)) from error

    async def fire(self, events: Sequence[InputEvent]) -> None:
        """Publish events."""
        for start in range(0, len(events), 500):
            await self.bus.fire_all(events[start : start + 500])

    async def audit(self) -> tuple[int, dict[str, Any]]:
        """Run `moodstream audit --json`; give its exit code and its last line."""
        code, found = await self.command("audit")
        return code, found[-1]

    async def command(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        """Run a command with `--json`; give its exit code, and its lines, or its error as the only one."""
        code, out, err = await self.output(*words, "--json")
        lines = (out or err).decode().strip().splitlines()
        assert lines, err.decode()
        return code, [json.loads(line) for line in lines]

    async def output(self, *words: str) -> tuple[int, bytes, bytes]:
        """Run a command; give its exit code and what it wrote on standard output and standard error."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "moodstream", *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self.deployment.environment},
        )
        out, err = await process.communicate()
        return process.returncode or 0, out, err

    async def consume(self, topic: str, count: int, seconds: float = 30) -> list[Any]:
        """The first records of a topic, over all partitions."""
        found: list[Any] = []
        parts = [TopicPartition(topic, p) for p in range(self.deployment.streams.partitions)]
        async with AIOKafkaConsumer(
            bootstrap_servers=self.deployment.platform.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign(parts)
            await consumer.seek_to_beginning(*parts)

            async def enough() -> bool:
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    found.extend(records)
                return len(found) >= count

            await eventually(enough, seconds=seconds, what=f"{count} records in {topic}")
        return found


@asynccontextmanager
async def running(deployment: Deployment, folder: Path) -> AsyncIterator[Running]:
    """Make the topics and open a bus; end all workers afterwards."""
    await topics.create(deployment.streams)
    async with Bus(deployment.streams) as bus, _client(deployment) as redis:
        one = Running(deployment, bus, redis, folder)
        try:
            yield one
        finally:
            for worker in one.workers:
                worker.end()


def _client(deployment: Deployment) -> Redis:
    """A client that is more patient than ours, but for a cluster."""
    url = deployment.platform.redis_url
    return connect(deployment.state) if is_cluster(url) else Redis.from_url(url)


def wait_for_line(worker: WorkerProcess, word: str, seconds: float = 30) -> None:
    """Wait until a worker has logged a word."""
    wait_until(lambda: worker.said(word), seconds=seconds, what=f"{word!r} in {worker.log.name}")


def by_agent(events: Iterable[InputEvent]) -> dict[str, int]:
    """How many events each agent has."""
    found: dict[str, int] = {}
    for event in events:
        found[event.agent_id] = found.get(event.agent_id, 0) + 1
    return found
