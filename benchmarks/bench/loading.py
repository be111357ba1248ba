"""A publisher of load in a process of its own: so many events a second, as its standard input says.

The process is `python -m bench.loading BOOTSTRAP TOPIC PARTITIONS AGENTS`; each line that it reads is a new rate in
events/s, the end of its input ends it. It makes batches by hand, which costs a tenth of sending events one by one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiokafka import AIOKafkaProducer

from bench.feed import By, Feed
from bench.workload import Workload
from moodstream.streams.sending import open_producer, send_batches
from moodstream.streams.settings import StreamSettings

TEMPLATE = 20_000
TICK_SECONDS = 0.01
"""As long as a publisher that fills its batches would wait."""
_FLIGHT = 64
"""Ticks whose batches may wait for the broker."""
_FOLDER = Path(__file__).resolve().parents[1]
_STOP_SECONDS = 10


class Load:
    """The process, seen from outside."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Steer a process that waits for its first rate."""
        self._process = process

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    async def at(self, rate: float) -> None:
        """Publish so many events a second from now on."""
        assert self._process.stdin is not None  # noqa: S101 - it was opened with a pipe
        self._process.stdin.write(f"{rate}\n".encode())
        await self._process.stdin.drain()


@asynccontextmanager
async def load(streams: StreamSettings, agents: int) -> AsyncIterator[Load]:
    """Run the process for the time of a block. It publishes nothing before it is told a rate."""
    words = ["-m", "bench.loading", streams.bootstrap, streams.topics.events, str(streams.partitions), str(agents)]
    path = os.pathsep.join([str(_FOLDER), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe, env=env)
    try:
        assert process.stdout is not None  # noqa: S101 - it was opened with a pipe
        if not await process.stdout.readline():
            raise RuntimeError("the publisher of load did not start")
        yield Load(process)
    finally:
        await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


# --- Inside the process


class Pace:
    """How many events are due, by the clock. What was missed is made up for, a second's worth at most."""

    def __init__(self, now: float) -> None:
        """Begin at rest."""
        self.rate = 0.0
        self.ended = False
        self._owed = 0.0
        self._at = now

    def due(self, now: float) -> int:
        """Events due since the last call; `now` in seconds."""
        self._owed = min(self._owed + self.rate * (now - self._at), max(self.rate, 1.0))
        self._at = now
        count = int(self._owed)
        self._owed -= count
        return count


async def _listen(pace: Pace) -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        pace.rate = float(line)
    pace.ended = True


async def _send(producer: AIOKafkaProducer, topic: str, events: By, room: asyncio.Semaphore) -> None:
    """Send one tick's events, a batch a partition."""
    try:
        for partition, records in events.items():
            await send_batches(producer, topic, partition, [(key, value, []) for key, value in records])
    finally:
        room.release()


async def publish(bootstrap: str, topic: str, feed: Feed) -> None:
    """Publish as told until the input ends."""
    pace, room, sent = Pace(time.monotonic()), asyncio.Semaphore(_FLIGHT), set[asyncio.Task[None]]()
    producer = await open_producer(StreamSettings(bootstrap=bootstrap))
    listening = asyncio.create_task(_listen(pace))
    print("ready", flush=True)
    while not pace.ended:
        await asyncio.sleep(TICK_SECONDS)
        if count := pace.due(time.monotonic()):
            await room.acquire()
            task = asyncio.create_task(_send(producer, topic, feed.take(count), room))
            sent.add(task)
            task.add_done_callback(sent.discard)
    await asyncio.gather(listening, *sent)
    await producer.stop()


def main() -> None:
    """Read the words of the command line."""
    bootstrap, topic, partitions, agents = sys.argv[1:]
    feed = Feed(Workload(TEMPLATE, int(agents)), int(partitions))
    asyncio.run(publish(bootstrap, topic, feed))


if __name__ == "__main__":
    main()
