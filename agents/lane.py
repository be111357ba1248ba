"""One partition's way through a worker: its chunks, one after the other, beside those of the other partitions.

What has come meanwhile is taken together: a chunk costs its trips to Redis and the broker whether it has one record or
thousands. So a worker that falls behind gets faster, and one that keeps up answers at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog

from moodstream.agents.pipeline import PartitionPipeline
from moodstream.state.ownership import Ownership, Phase
from moodstream.streams.transport import Chunk

log = structlog.get_logger(__name__)

Crash = Callable[[BaseException], Awaitable[None]]


class Room:
    """How many records all lanes may have in hand together: first come, first served.

    A chunk that is larger is taken when nothing else is.
    """

    def __init__(self, records: int) -> None:
        self._free = self._all = records
        self._given_back = asyncio.Condition()
        self._first = asyncio.Lock()

    async def take(self, size: int) -> None:
        """Wait for room for so many records, behind those who came before."""
        async with self._first, self._given_back:
            await self._given_back.wait_for(lambda: size <= self._free or self._free == self._all)
            self._free -= size

    async def give_back(self, size: int) -> None:
        """Say that they are done, or dropped."""
        async with self._given_back:
            self._free += size
            self._given_back.notify_all()


class Lane:
    """Takes the chunks of one ownership. `crash` is told why when one cannot be processed.

    `most`: records that are folded together, and that wait. A lane whose ownership has been closed ends by itself: its
    chunks will be read again by whoever has the partition.
    """

    def __init__(self, pipeline: PartitionPipeline, crash: Crash, room: Room, most: int) -> None:
        self.ownership = pipeline.ownership
        self._pipeline = pipeline
        self._crash = crash
        self._room = room
        self._most = most
        self._waiting: deque[tuple[Any, Chunk]] = deque()
        self._records = 0
        """Records that wait."""
        self._came, self._taken = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def put(self, event: Any, chunk: Chunk) -> None:  # noqa: ANN401 - Faust's type
        """Queue a chunk, once there is room. The event is acknowledged when all is done.

        A lane that has ended drops it.
        """
        size = len(chunk.records)
        while self._waiting and self._records + size > self._most and not self._task.done():
            self._taken.clear()
            taken = asyncio.ensure_future(self._taken.wait())
            try:
                await asyncio.wait((taken, self._task), return_when=asyncio.FIRST_COMPLETED)
            finally:
                taken.cancel()
        if self._task.done():
            return
        self._waiting.append((event, chunk))
        self._records += size
        self._came.set()

    def close(self) -> None:
        """Drop what is in hand: it will be read again."""
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            await self._came.wait()
            size = self._next_size()
            await self._room.take(size)
            try:
                events, chunk = self._take(size)
                await self._pipeline.process(chunk)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, the chunk is not done
                self._waiting.clear()
                await self._failed(error)
                return
            finally:
                await self._room.give_back(size)
            for event in events:
                event.ack()
            del event, events, chunk  # until the next one comes

    def _next_size(self) -> int:
        """Records of the chunks that can be taken together now: those that follow each other, up to the most."""
        size, end = 0, self._waiting[0][1].start
        for _, chunk in self._waiting:
            if chunk.start != end or (size and size + len(chunk.records) > self._most):
                break
            size, end = size + len(chunk.records), chunk.end
        return size

    def _take(self, size: int) -> tuple[Sequence[Any], Chunk]:
        """Take chunks with so many records."""
        events: list[Any] = []
        chunks: list[Chunk] = []
        self._records -= size
        while size:
            event, chunk = self._waiting.popleft()
            events.append(event)
            chunks.append(chunk)
            size -= len(chunk.records)
        self._taken.set()
        if not self._waiting:
            self._came.clear()
        return events, Chunk.joined(chunks)

    async def _failed(self, error: BaseException) -> None:
        if self.ownership.phase is Phase.CLOSED:
            log.info("chunk dropped", partition=self.ownership.partition, reason=str(error))
        else:
            await self._crash(error)


class Lanes:
    """The lanes of a worker, at most one a partition. `pipeline` makes the way of an ownership.

    `chunk`: records that a lane folds together at most; twice as many may be in hand over all lanes.
    """

    def __init__(self, pipeline: Callable[[Ownership], PartitionPipeline], crash: Crash, chunk: int) -> None:
        self._pipeline = pipeline
        self._crash = crash
        self._chunk = chunk
        self._room = Room(2 * chunk)
        self._lanes: dict[int, Lane] = {}

    def of(self, owned: Ownership) -> Lane:
        """The lane of an ownership; one of an earlier ownership of the partition is closed."""
        found = self._lanes.get(owned.partition)
        if found is not None and found.ownership is owned:
            return found
        if found is not None:
            found.close()
        made = Lane(self._pipeline(owned), self._crash, self._room, self._chunk)
        self._lanes[owned.partition] = made
        return made

    def close(self) -> None:
        """Close all lanes, and forget them."""
        for one in self._lanes.values():
            one.close()
        self._lanes.clear()
