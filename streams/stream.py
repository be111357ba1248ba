"""Send any number of events through a bus: bounded memory, progress, failures as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from moodstream.schemas.errors import MoodstreamError
from moodstream.streams.outgoing import Checked, Fireable, event_id_of
from moodstream.streams.report import Failure
from moodstream.streams.sender import failure, unanswered

if TYPE_CHECKING:
    from moodstream.streams.bus import Bus

_BREATH = 256
"""Events between two turns of the loop: sending never blocks by itself until the buffers are full."""

_LAST_SECONDS = 5.0
"""How long a run that has failed waits for the answers to what it had sent before."""


class EventStream:
    """One run of `Bus.stream`."""

    def __init__(
        self, bus: Bus, progress: Callable[[int], None] | None, failed: Callable[[Failure], None] | None
    ) -> None:
        self._bus = bus
        self._progress = progress or _ignore
        self._failed = failed
        self._first: MoodstreamError | None = None
        self._waiting = 0
        self._acknowledged = 0
        self._moved = asyncio.Event()

    async def run(self, events: Iterable[Fireable] | AsyncIterable[Fireable]) -> int:
        """Send all, wait for every answer, and return the number of events in the log."""
        index = 0
        async for event in _each(events):
            await self._send(index, event)
            index += 1
            if index % _BREATH == 0:
                await asyncio.sleep(0)
                self._progress(self._acknowledged)
            if self._first:
                break
        await self._settle()
        self._progress(self._acknowledged)
        if self._first:
            raise self._first
        return self._acknowledged

    async def _send(self, index: int, event: Fireable) -> None:
        try:
            checked = self._bus.check(event)
            posted = await self._bus.post(checked.record)
        except MoodstreamError as error:
            self._fail(index, event_id_of(event), error)
            return
        self._waiting += 1
        posted.add_done_callback(partial(self._landed, index, checked))

    def _landed(self, index: int, checked: Checked, posted: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        self._moved.set()
        error = posted.exception()
        if error is None:
            self._acknowledged += 1
        else:
            self._fail(index, checked.event_id, failure(error, self._bus.settings))

    def _fail(self, index: int, event_id: str | None, error: MoodstreamError) -> None:
        error.fields["index"] = index
        if self._failed:
            self._failed(Failure(index, event_id, error))
        else:
            self._first = self._first or error

    async def _settle(self) -> None:
        """Wait for the answers that are still out, as long as any come."""
        while self._waiting:
            self._moved.clear()
            try:
                await asyncio.wait_for(self._moved.wait(), self._patience())
            except TimeoutError as error:
                raise self._first or unanswered(self._bus.settings) from error
            self._progress(self._acknowledged)

    def _patience(self) -> float:
        patience = self._bus.settings.request_seconds
        return min(patience, _LAST_SECONDS) if self._first else patience


async def _each(events: Iterable[Fireable] | AsyncIterable[Fireable]) -> AsyncIterator[Fireable]:
    if isinstance(events, AsyncIterable):
        async for event in events:
            yield event
    else:
        for event in events:
            yield event


def _ignore(_: int) -> None:
    """Nobody wants to know."""
