"""The processes of moodstream in a round: workers, and the query service. Who ends by himself is started again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.servers import launch
from support.waiting import eventually

STOP_SECONDS = 15.0
"""How long the end after SIGTERM may take."""
_AGAIN_SECONDS = 0.5


class Program:
    """One process with a log that outlives it."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.wanted = False
        """Whether it is to be started again when it ends."""
        self._arguments = list(arguments)
        self._environment = dict(environment)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and do not wait."""
        self.wanted = True
        self._process = launch([sys.executable, *self._arguments], self.log, self._environment, self._folder)

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return None if self._process is None else self._process.poll()

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        self.wanted = False
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    async def terminate(self) -> int:
        """Ask it to end. TimeoutError when it takes longer than it may."""
        self.wanted = False
        self.signal(signal.SIGTERM)
        await eventually(lambda: self.code is not None, seconds=STOP_SECONDS, what=f"the end of {self.name}")
        return self.code or 0


class Crew:
    """All processes of a round."""

    def __init__(self, worker: Sequence[str], folder: Path) -> None:
        self.workers: list[Program] = []
        self.guests: list[Program] = []
        """Workers that came for a while."""
        self.ended = 0
        """How often one ended by itself."""
        self._worker = list(worker)
        self._environment: Mapping[str, str] = {}
        self._folder = folder
        self._service: list[Program] = []
        self._watch: asyncio.Task[None] | None = None

    def start(self, workers: int, environment: Mapping[str, str]) -> None:
        """Start the query service and so many workers, and watch them."""
        self._environment = environment
        self._service = [Program("serve", ["-m", "moodstream", "serve"], environment, self._folder)]
        self._service[0].start()
        self.workers = [self._start_worker(f"worker-{number}") for number in range(workers)]
        self._watch = asyncio.create_task(self._start_again())

    def join(self) -> Program:
        """Start one more worker, which nobody but the caller may hurt."""
        one = self._start_worker(f"guest-{len(self.guests)}")
        self.guests.append(one)
        return one

    def _start_worker(self, name: str) -> Program:
        one = Program(name, self._worker, {**self._environment, "MOODSTREAM_WORKER__NAME": name}, self._folder)
        one.start()
        return one

    def end(self) -> None:
        """End all of them at once."""
        if self._watch is not None:
            self._watch.cancel()
        for program in (*self.workers, *self.guests, *self._service):
            program.kill()

    async def _start_again(self) -> None:
        """What init systems do."""
        while True:
            await asyncio.sleep(_AGAIN_SECONDS)
            for program in (*self.workers, *self.guests, *self._service):
                if program.wanted and program.code is not None:
                    self.ended += 1
                    program.start()
