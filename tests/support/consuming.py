"""The consumer of chunks over a log in memory: its thread is a fake, all else is its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from faust.types import TP

from moodstream.schemas.changelog import Position
from moodstream.streams.app import create_app
from moodstream.streams.settings import StreamSettings
from moodstream.streams.transport import ChunkMessage
from support.chunks import Record

TOPIC = StreamSettings().topics.events
MOST = 100
"""Records of one partition in a fetch."""


def tp_of(partition: int) -> TP:
    """A partition of the events."""
    return TP(TOPIC, partition)


class FakeThread:
    """What the consumer asks of its thread, answered from offsets by partition."""

    def __init__(self, log: Mapping[int, Iterable[int]]) -> None:
        self.log = {tp_of(partition): list(offsets) for partition, offsets in log.items()}
        self.beginnings: dict[TP, int] = {}
        self.committed_offsets: dict[TP, int] = {}
        self.positions: dict[TP, int] = dict.fromkeys(self.log, 0)
        self.fetched_ends: dict[TP, int] = {}
        """Ends that the last fetch told, where it told another one than the broker does now."""
        self.seeks: list[tuple[int, int]] = []
        self.commits: list[dict[int, int]] = []
        self.answer = asyncio.Event()
        """Fetches that have records answer while this is set."""
        self.answer.set()
        self.before_commit: Callable[[], Awaitable[object]] | None = None
        self.before_earliest: Callable[[], Awaitable[object]] | None = None

    def assignment(self) -> set[TP]:
        return set(self.log)

    def seek(self, tp: TP, offset: int) -> None:
        self.positions[tp] = offset
        self.seeks.append((tp.partition, offset))

    async def getmany(self, active: set[TP], _timeout: float) -> dict[TP, list[Record]]:
        found = {tp: self._take(tp) for tp in sorted(active) if tp in self.log}
        if any(found.values()):
            await self.answer.wait()
        else:
            await asyncio.sleep(0.001)
        return {tp: records for tp, records in found.items() if records}

    def _take(self, tp: TP) -> list[Record]:
        offsets = [offset for offset in self.log[tp] if offset >= self.positions[tp]][:MOST]
        if offsets:
            self.positions[tp] = offsets[-1] + 1
        return [Record(offset, b"k", b"v") for offset in offsets]

    async def earliest_offsets(self, *tps: TP) -> dict[TP, int]:
        if self.before_earliest is not None:
            await self.before_earliest()
        return {tp: self.beginnings.get(tp, 0) for tp in tps}

    def highwater(self, tp: TP) -> int | None:
        return self.fetched_ends.get(tp, self.log[tp][-1] + 1 if self.log[tp] else 0)

    async def highwaters(self, *tps: TP) -> dict[TP, int]:
        return {tp: self.log[tp][-1] + 1 if self.log[tp] else 0 for tp in tps}

    async def call_thread(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        return await function(*args)

    def _ensure_consumer(self) -> FakeThread:
        return self

    async def committed(self, tp: Any) -> int | None:
        return self.committed_offsets.get(TP(tp.topic, tp.partition))

    async def commit(self, offsets: Mapping[TP, int]) -> bool:
        if self.before_commit is not None:
            await self.before_commit()
        self.commits.append({tp.partition: offset for tp, offset in offsets.items()})
        return True


class Reading:
    """A consumer that reads. `got` are the chunks' messages in order; `position` is where the state stands."""

    def __init__(self, log: Mapping[int, Iterable[int]], folder: Path, chunk: int = 10) -> None:
        self.app = create_app(StreamSettings(chunk=chunk), "memory://", str(folder))
        self.app.topics._acking_topics.add(TOPIC)
        self.app.source_position = lambda partition: self.position[partition]
        self.app.rebalancing_count = 0
        self.crashes: list[BaseException] = []
        self.app.on_crash = self.crashes.append
        self.position: dict[int, Position] = dict.fromkeys(log, Position())
        self.thread = FakeThread(log)
        self.consumer: Any = self.app.consumer
        self.consumer._thread.thread_loop.close()
        self.consumer._thread = self.thread
        self.consumer.callback = self._take
        self.got: list[ChunkMessage] = []
        self.room = asyncio.Event()
        """Chunks are taken while this is set."""
        self.room.set()

    async def _take(self, message: ChunkMessage) -> None:
        self.consumer.track_message(message)
        await self.room.wait()
        self.got.append(message)

    async def begin(self) -> None:
        """Seek and resume, as after a rebalance."""
        self.consumer.resume_partitions(self.thread.assignment())
        await self.consumer.perform_seek()
        self.consumer.resume_flow()

    async def revoke(self) -> None:
        """Have all partitions taken away, as at the beginning of a rebalance."""
        stopped = self.consumer._on_partitions_revoked

        async def suspend(revoked: set[TP]) -> None:
            self.consumer.stop_flow()

        self.consumer._on_partitions_revoked = suspend
        await self.consumer.on_partitions_revoked(self.thread.assignment())
        self.consumer._on_partitions_revoked = stopped

    def spans(self, partition: int = 0) -> list[tuple[int, int]]:
        """Where the chunks of a partition begin and end."""
        return [(one.value.start, one.value.end) for one in self.got if one.partition == partition]

    def offsets(self, partition: int = 0) -> list[int]:
        """The records of a partition that were delivered."""
        chunks = [one.value for one in self.got if one.partition == partition]
        return [record.offset for chunk in chunks for record in chunk.records]

    def ack(self, *numbers: int) -> None:
        """Acknowledge chunks by their number in `got`."""
        for number in numbers:
            self.got[number].ack(self.consumer)


@asynccontextmanager
async def reading(log: Mapping[int, Iterable[int]], folder: Path, chunk: int = 10) -> AsyncIterator[Reading]:
    """Read a log until the end of the block; nothing is delivered before `begin`."""
    one = Reading(log, folder, chunk)
    fetcher = SimpleNamespace(_stopped=asyncio.Event())
    task = asyncio.create_task(one.consumer._drain_messages(fetcher))
    try:
        yield one
        if task.done():
            task.result()
    finally:
        fetcher._stopped.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
