"""One run of `moodstream worker`, followed by its log and by what it writes to Redis."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from bench.process import cpu_seconds, peak_mb, tree
from moodstream.state.layout import Layout
from support.deployments import Deployment
from support.running import WorkerProcess


@dataclass(frozen=True)
class Restored:
    """What the log of a worker says of its restore, over all partitions. Times in seconds."""

    rows: int
    seconds: float
    """From the first partition that begins to the last that is done."""

    @property
    def rows_per_s(self) -> float:
        """Records of the changelog per second."""
        return self.rows / self.seconds if self.seconds else 0.0


def restored(log: Path) -> Restored:
    """Read the log of a worker that is ready; ValueError where it says nothing of a restore."""
    lines = list(_lines(log))
    begun = [_time(one) for one in lines if one.get("event") == "partition" and one.get("phase") == "restoring"]
    ended = [one for one in lines if one.get("event") == "restored"]
    if not begun or not ended:
        raise ValueError(f"{log} tells of no restore")
    return Restored(sum(one["rows"] for one in ended), max(map(_time, ended)) - min(begun))


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _time(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


@contextmanager
def worker(deployment: Deployment, log: Path) -> Iterator[WorkerProcess]:
    """Start a worker, and stop it as an operator would."""
    one = WorkerProcess(deployment, log)
    one.start()
    try:
        yield one
        one.signal(signal.SIGTERM)
        one.wait(30)
    finally:
        one.end()


def check_alive(one: WorkerProcess) -> None:
    """Raise RuntimeError with the end of its log where a worker has ended."""
    if one.process is None or one.process.poll() is not None:
        raise RuntimeError(f"the worker has ended; its log ends:\n{one.log.read_text(errors='replace')[-3000:]}")


def used(one: WorkerProcess) -> tuple[float, float]:
    """CPU seconds so far, and the largest resident size in MB."""
    pids = tree(one.process.pid) if one.process else []
    return cpu_seconds(pids), peak_mb(pids)


async def epochs(redis: Redis, deployment: Deployment) -> list[bytes | None]:
    """The token of each partition's owner."""
    return [meta.get(b"epoch") for meta in await metas(redis, deployment)]


async def ready(redis: Redis, deployment: Deployment, before: list[bytes | None]) -> bool:
    """Whether every partition has a new owner, which has confirmed its claim."""
    for old, meta in zip(before, await metas(redis, deployment), strict=True):
        at = int(meta.get(b"changelog", b"0").partition(b"+")[0] or 0)
        if meta.get(b"epoch") == old or meta.get(b"state") != b"ready" or at <= int(meta[b"fence"]):
            return False
    return True


async def metas(redis: Redis, deployment: Deployment) -> list[dict[bytes, bytes]]:
    """What Redis says of each partition."""
    count = deployment.streams.partitions
    async with redis.pipeline(transaction=False) as pipe:
        for partition in range(count):
            pipe.hgetall(Layout(deployment.prefix, partition).meta)
        return await pipe.execute()
