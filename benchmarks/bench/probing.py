"""Probes: events whose effect is looked for at the query service, from just before they are fired until it is seen.

The effect is the probe's own memory, `GET agents/{agent}/memories/{id}`: all rows that an event changes appear together
(docs/query.md), so its mood is there as soon as its memory is. It is asked for again and again from the moment the
broker has the event, with a pause in between; what counts is when the answer has come.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from aiohttp import ClientSession, TCPConnector

from moodstream.streams.bus import Bus
from support.events import outcome

TENANT = "probe"
AGENTS = 40
PAUSE_SECONDS = 0.004
PAUSE_SHARE = 0.05
"""Between an answer and the next question lies this long, or this share of the time waited so far: the time found is
at most so much and one answer too long. With the same pause for all, probes that wait long would be all the load."""
_LIMIT_SECONDS = 30.0
_FOUND, _NOT_YET = 200, 404


@dataclass
class Times:
    """Seconds from `fire`, in the order of arrival."""

    taken: list[float] = field(default_factory=list)
    """Until the broker had the event."""
    seen: list[float] = field(default_factory=list)
    """Until the query service showed it."""
    asked: int = 0
    """Questions."""


class Prober:
    """Fires probes at a steady rate, whether or not earlier ones have come through."""

    def __init__(self, bus: Bus, session: ClientSession, url: str) -> None:
        """`url`: of the query service."""
        self._bus = bus
        self._session = session
        self._url = f"{url}/v1/tenants/{TENANT}/agents"
        self._run = uuid.uuid4().hex[:6]
        self._number = 0

    async def run(self, rate: float, seconds: float) -> Times:
        """Fire `rate` probes a second for so long; wait until all of them are seen."""
        times = Times()
        await steadily(rate, seconds, lambda: self._probe(times))
        return times

    async def ask(self, rate: float, seconds: float) -> None:
        """Ask for a mood so many times a second: the work that the probes' questions make, without probes."""
        await steadily(rate, seconds, self._mood)

    async def _mood(self) -> None:
        async with self._session.get(f"{self._url}/agent-0/mood") as answer:
            await answer.read()

    async def _probe(self, times: Times) -> None:
        self._number += 1
        agent, ident = f"agent-{self._number % AGENTS}", f"{self._run}-{self._number}"
        event = outcome(TENANT, agent, ident, time.time_ns() // 1_000_000)
        began = time.perf_counter()
        await self._bus.fire(event)
        times.taken.append(time.perf_counter() - began)
        while not await self._seen(agent, ident, times):
            if time.perf_counter() - began > _LIMIT_SECONDS:
                raise RuntimeError(f"a probe was not seen within {_LIMIT_SECONDS:g} s")
            await asyncio.sleep(pause(time.perf_counter() - began))
        times.seen.append(time.perf_counter() - began)

    async def _seen(self, agent: str, ident: str, times: Times) -> bool:
        times.asked += 1
        async with self._session.get(f"{self._url}/{agent}/memories/{ident}") as answer:
            text = await answer.read()
            if answer.status not in (_FOUND, _NOT_YET):
                raise RuntimeError(f"the query service answers {answer.status}: {text[:300]!r}")
            return answer.status == _FOUND


def pause(waited: float) -> float:
    """Seconds until the next question, after so many seconds."""
    return max(PAUSE_SECONDS, PAUSE_SHARE * waited)


def new_session() -> ClientSession:
    """A client that keeps its connections, any number of them. Comes with Faust, and costs a third of httpx."""
    return ClientSession(connector=TCPConnector(limit=0))


async def steadily(rate: float, seconds: float, do: Callable[[], Coroutine[None, None, None]]) -> None:
    """Do something `rate` times a second, each time as a task of its own; return when all are done."""
    begin = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            due = begin + number / rate
            await asyncio.sleep(max(due - asyncio.get_running_loop().time(), 0))
            group.create_task(do())
