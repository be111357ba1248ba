"""What may wait for the broker's answer: a bound on events and bytes, first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque


class Flight:
    """Counts events and bytes in flight and makes the next one wait for room.

    An event larger than the whole bound is let through alone.

    >>> flight = Flight(max_events=2, max_bytes=100)
    >>> flight.try_enter(60), flight.try_enter(60)
    (True, False)
    """

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self.max_events = max_events
        self.max_bytes = max_bytes
        self.events = 0
        self.size = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()

    def try_enter(self, size: int) -> bool:
        """Take room for one event of `size` bytes if there is any and nobody waits."""
        if self._waiting or not self._fits(size):
            return False
        self._take(size)
        return True

    async def enter(self, size: int) -> None:
        """Take room for one event of `size` bytes, waiting for it in order of arrival."""
        if self.try_enter(size):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, future))
        try:
            await future
        except asyncio.CancelledError:
            self._forget(size, future)
            raise

    def leave(self, size: int) -> None:
        """Give the room of one event back."""
        self.events -= 1
        self.size -= size
        self._admit()
        if not self.events and not self._waiting:
            self._idle.set()

    async def idle(self) -> None:
        """Wait until nothing is in flight and nobody waits."""
        await self._idle.wait()

    def _fits(self, size: int) -> bool:
        if not self.events:
            return True
        return self.events < self.max_events and self.size + size <= self.max_bytes

    def _take(self, size: int) -> None:
        self.events += 1
        self.size += size
        self._idle.clear()

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, future = self._waiting.popleft()
            if not future.cancelled():
                self._take(size)
                future.set_result(None)

    def _forget(self, size: int, future: asyncio.Future[None]) -> None:
        """Undo a wait that was cancelled: before its turn, or just after it was let in."""
        if future.done() and not future.cancelled():
            self.leave(size)
            return
        self._waiting = deque(item for item in self._waiting if item[1] is not future)
        self._admit()
        if not self.events and not self._waiting:
            self._idle.set()
