"""Processes that live and end together: started, watched, and ended for sure."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_KILL_SECONDS = 1.0


class Stopped(Exception):  # noqa: N818 - no error: somebody asked for the end
    """The end was asked for."""


class ChildEnded(Exception):  # noqa: N818 - named by what happened
    """A process has ended that should not have."""

    def __init__(self, child: Child) -> None:
        super().__init__(f"the {child.name} has ended with code {child.code}")
        self.child = child


@dataclass
class Child:
    """One process; what it writes goes to `log`."""

    name: str
    command: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    process: Process | None = None

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.process.returncode if self.process else None

    async def start(self) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches the parent alone, which ends all in order."""
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.env},
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    async def wait(self) -> None:
        """Wait for its end."""
        if self.process:
            await self.process.wait()

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.process and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    async def stop(self, seconds: float) -> None:
        """Ask it to end, and kill it when it has not after so many seconds."""
        self.signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), seconds)
        self.signal(signal.SIGKILL)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), _KILL_SECONDS)

    def last_lines(self, count: int = 15) -> list[str]:
        """Give the end of its log."""
        with suppress(OSError), self.log.open(errors="replace") as log:
            return [line.rstrip("\n") for line in deque(log, maxlen=count)]
        return []


def _end_with_parent() -> None:
    """Make the kernel end the child when the parent dies, even by kill -9 (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Family:
    """The children of one run. `stop` is set to ask for the end."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.children: list[Child] = []
        self._watchers: list[asyncio.Task[Child]] = []

    async def start(self, child: Child) -> Child:
        """Start a child and watch it."""
        await child.start()
        self.children.append(child)
        self._watchers.append(asyncio.create_task(_watched(child)))
        return child

    async def during(self, work: Awaitable[T]) -> T:
        """Do some work; give up with `Stopped` or `ChildEnded` when one of these comes first."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait([task, stopping, *self._watchers], return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                raise Stopped
            for watcher in self._watchers:
                if watcher.done():
                    raise ChildEnded(watcher.result())
            return await task
        finally:
            await _cancelled(task, stopping)

    async def forever(self) -> NoReturn:
        """Wait for `Stopped` or `ChildEnded`."""
        await self.during(asyncio.Event().wait())
        raise Stopped

    async def end(self, *, first: Sequence[str], first_seconds: float, rest_seconds: float) -> None:
        """End the children named `first` together, then the others."""
        await _cancelled(*self._watchers)
        early = [child for child in self.children if child.name in first]
        late = [child for child in self.children if child.name not in first]
        await asyncio.gather(*(child.stop(first_seconds) for child in early))
        await asyncio.gather(*(child.stop(rest_seconds) for child in late))


async def _watched(child: Child) -> Child:
    await child.wait()
    return child


async def _cancelled(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
