"""Some workers on one backlog: from when each has partitions until the time is up or all is done."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from redis.asyncio import Redis

from bench.process import cpu_seconds, machine_seconds, peak_mb, tree
from bench.subjects import Subject, ours
from bench.window import Sample, rates
from moodstream.state.layout import Layout
from moodstream.streams.settings import StreamSettings
from support.platforms import Platform
from support.servers import launch

STEP_SECONDS = 0.1
START_SECONDS = 60
_STOP_SECONDS = 20


@dataclass(frozen=True)
class Backlog:
    """A log to be read: its topics, and its number of events."""

    topics: StreamSettings
    events: int


@dataclass(frozen=True)
class Run:
    """What the workers did together; memory is the peak of each."""

    events_per_s: float
    cpu_s_per_million: float
    other_cores: float
    rss_mb: list[float]


@dataclass
class Crew:
    """The processes, and what Redis says of their partitions."""

    subject: Subject
    redis: Redis
    metas: list[bytes]
    log: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start so many workers."""
        env = {**os.environ, **self.subject.env}
        self.processes = [launch(self.subject.command, self.log, env) for _ in range(count)]

    @property
    def pids(self) -> list[int]:
        """All processes and what they have started."""
        return [pid for process in self.processes for pid in tree(process.pid)]

    async def settled(self) -> bool:
        """Whether every partition is ready, and each worker has one."""
        async with self.redis.pipeline(transaction=False) as pipeline:
            for meta in self.metas:
                pipeline.hmget(meta, "worker", "state")
            found = await pipeline.execute()
        names = {name for name, state in found if state == b"ready"}
        return all(state == b"ready" for _, state in found) and len(names) == len(self.processes)

    def check(self) -> None:
        """Raise RuntimeError with the end of their log where one has ended."""
        if any(process.poll() is not None for process in self.processes):
            raise RuntimeError(f"a worker has ended; the log ends:\n{self.log.read_text(errors='replace')[-3000:]}")

    def stop(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def run(
    platform: Platform, backlog: Backlog, workers: int, seconds: float, servers: list[int], folder: Path
) -> Run:
    """Let so many workers read a backlog from its beginning, for so long at most."""
    async with AsyncExitStack() as stack:
        subject = await ours(platform, backlog.topics, backlog.events, stack)
        partitions = {"MOODSTREAM_STREAMS__PARTITIONS": str(backlog.topics.partitions)}
        subject = replace(subject, env={**subject.env, **partitions})
        redis = await stack.enter_async_context(Redis.from_url(platform.redis_url))
        prefix = subject.env["MOODSTREAM_STATE__PREFIX"]
        metas = [Layout(prefix, number).meta for number in range(backlog.topics.partitions)]
        crew = Crew(subject, redis, metas, folder / f"workers-{prefix}log")
        stack.callback(crew.stop)
        crew.start(workers)
        await _until_settled(crew)
        samples = await _watched(crew, seconds, servers)
        peaks = [peak_mb(tree(process.pid)) for process in crew.processes]
    return summed(samples, peaks)


async def _until_settled(crew: Crew) -> None:
    end = time.monotonic() + START_SECONDS
    while not await crew.settled():
        crew.check()
        if time.monotonic() > end:
            raise RuntimeError(f"the workers did not share the partitions within {START_SECONDS} s")
        await asyncio.sleep(STEP_SECONDS)


async def _watched(crew: Crew, seconds: float, servers: list[int]) -> list[Sample]:
    samples: list[Sample] = []
    end = time.monotonic() + seconds
    while not samples or (samples[-1].at < end and samples[-1].done < crew.subject.events):
        crew.check()
        done, pids = await crew.subject.progress(), crew.pids
        samples.append(Sample(time.monotonic(), done, cpu_seconds(pids), cpu_seconds(servers), machine_seconds()))
        await asyncio.sleep(STEP_SECONDS)
    return samples


def summed(samples: list[Sample], peaks: list[float]) -> Run:
    """The middle of what was done while it was watched."""
    start = samples[0].done
    own = [one._replace(done=one.done - start) for one in samples]
    found = rates(own, int(own[-1].done))
    return Run(found.events_per_s, found.cpu_s_per_million, found.other_cores, peaks)
