"""One partition's way through a worker: its chunks, one after the other, beside those of the other partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from moodstream.agents.pipeline import PartitionPipeline
from moodstream.state.ownership import Ownership, Phase

log = structlog.get_logger(__name__)

Crash = Callable[[BaseException], Awaitable[None]]


class Lane:
    """Takes the chunks of one ownership. `crash` is told why when one cannot be processed; `turn` bounds all lanes.

    A lane whose ownership has been closed ends by itself: its chunks will be read again by whoever has the partition.
    """

    def __init__(self, pipeline: PartitionPipeline, crash: Crash, turn: asyncio.Semaphore) -> None:
        self.ownership = pipeline.ownership
        self._pipeline = pipeline
        self._crash = crash
        self._turn = turn
        self._chunks: asyncio.Queue[tuple[Any, Any]] = asyncio.Queue(1)
        self._task = asyncio.create_task(self._run())

    async def put(self, event: Any, chunk: Any) -> None:  # noqa: ANN401 - Faust's types
        """Queue a chunk; waits while two are in hand. The event is acknowledged when all is done.

        A lane that has ended drops it.
        """
        putting = asyncio.ensure_future(self._chunks.put((event, chunk)))
        try:
            await asyncio.wait((putting, self._task), return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()

    def close(self) -> None:
        """Drop what is in hand: it will be read again."""
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            event, chunk = await self._chunks.get()
            try:
                async with self._turn:
                    await self._pipeline.process(chunk)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, the chunk is not done
                await self._failed(error)
                return
            event.ack()

    async def _failed(self, error: BaseException) -> None:
        if self.ownership.phase is Phase.CLOSED:
            log.info("chunk dropped", partition=self.ownership.partition, reason=str(error))
        else:
            await self._crash(error)


class Lanes:
    """The lanes of a worker, at most one a partition. `pipeline` makes the way of an ownership."""

    def __init__(self, pipeline: Callable[[Ownership], PartitionPipeline], crash: Crash, side_by_side: int) -> None:
        self._pipeline = pipeline
        self._crash = crash
        self._turn = asyncio.Semaphore(side_by_side)
        self._lanes: dict[int, Lane] = {}

    def of(self, owned: Ownership) -> Lane:
        """The lane of an ownership; one of an earlier ownership of the partition is closed."""
        found = self._lanes.get(owned.partition)
        if found is not None and found.ownership is owned:
            return found
        if found is not None:
            found.close()
        made = self._lanes[owned.partition] = Lane(self._pipeline(owned), self._crash, self._turn)
        return made

    def close(self) -> None:
        """Close all lanes, and forget them."""
        for one in self._lanes.values():
            one.close()
        self._lanes.clear()
