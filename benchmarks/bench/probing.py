"""Probes: events whose effect is looked for at the query service, from just before they are fired until it is seen.

All are of one agent, whose mood they move. `GET agents/{agent}/mood` says by `applied.version` up to which event the
mood in the same answer goes; the publisher's receipt says which event the probe became. One question is under way at a
time, with a pause behind it, however many probes wait: so the probing itself costs the same whatever it finds.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from aiohttp import ClientSession

from moodstream.streams.bus import Bus
from support.events import outcome
from support.waiting import eventually

TENANT, AGENT = "probe", "probe"
PAUSE_SECONDS = 0.004
"""Between an answer and the next question."""
_LIMIT_SECONDS = 60.0
_FOUND, _NOT_YET = 200, 404


class Waiting(NamedTuple):
    """A probe that the broker has: its offset in the log, and when it was fired, in s."""

    offset: int
    began: float


@dataclass
class Times:
    """Seconds from `fire`, in the order of arrival."""

    taken: list[float] = field(default_factory=list)
    """Until the broker had the event."""
    seen: list[float] = field(default_factory=list)
    """Until the query service showed it."""
    questions: list[float] = field(default_factory=list)
    """How long an answer took, from its question."""


@dataclass
class Watch:
    """Probes that wait, and what became of the others."""

    times: Times = field(default_factory=Times)
    waiting: deque[Waiting] = field(default_factory=deque)

    def answered(self, version: int, now: float) -> None:
        """An answer has come: every probe up to this offset is in it."""
        while self.waiting and self.waiting[0].offset <= version:
            self.times.seen.append(now - self.waiting.popleft().began)
        if self.waiting and now - self.waiting[0].began > _LIMIT_SECONDS:
            raise RuntimeError(f"a probe was not seen within {_LIMIT_SECONDS:g} s")


class Prober:
    """Fires probes at a steady rate, whether or not earlier ones have come through."""

    def __init__(self, bus: Bus, session: ClientSession, url: str) -> None:
        """`url`: of the query service."""
        self._bus = bus
        self._session = session
        self._url = f"{url}/v1/tenants/{TENANT}/agents/{AGENT}/mood"

    async def run(self, rate: float, seconds: float) -> Times:
        """Fire `rate` probes a second for so long; wait until all of them are seen."""
        watch = Watch()
        async with self.asking(watch):
            await steadily(rate, seconds, lambda: self._fire(watch))
            await eventually(lambda: not watch.waiting, seconds=_LIMIT_SECONDS, what="the last probes")
        return watch.times

    @asynccontextmanager
    async def asking(self, watch: Watch | None = None) -> AsyncIterator[None]:
        """Ask for the mood again and again for the time of a block, whether or not probes wait."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._ask(watch or Watch()))
            yield
            task.cancel()

    async def _ask(self, watch: Watch) -> None:
        while True:
            began = time.perf_counter()
            version = await self._version()
            now = time.perf_counter()
            watch.times.questions.append(now - began)
            watch.answered(version, now)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _version(self) -> int:
        """Offset of the last event that the mood includes, -1 for an agent that is not known yet."""
        async with self._session.get(self._url) as answer:
            text = await answer.read()
        if answer.status == _NOT_YET:
            return -1
        if answer.status != _FOUND:
            raise RuntimeError(f"the query service answers {answer.status}: {text[:300]!r}")
        version: int = json.loads(text)["applied"]["version"]
        return version

    async def _fire(self, watch: Watch) -> None:
        event = outcome(TENANT, AGENT, f"probe-{uuid.uuid4().hex}", time.time_ns() // 1_000_000)
        began = time.perf_counter()
        receipt = await self._bus.fire(event)
        watch.times.taken.append(time.perf_counter() - began)
        if receipt.offset < 0:  # a write that the client has repeated: nobody knows where it lies
            return
        watch.waiting.append(Waiting(receipt.offset, began))


async def steadily(rate: float, seconds: float, do: Callable[[], Coroutine[None, None, None]]) -> None:
    """Do something `rate` times a second, each time as a task of its own; return when all are done."""
    begin = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            due = begin + number / rate
            await asyncio.sleep(max(due - asyncio.get_running_loop().time(), 0))
            group.create_task(do())
