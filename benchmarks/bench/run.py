"""Run one subject on the backlog and measure it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from bench.process import cpu_seconds, machine_seconds, peak_mb, tree
from bench.subjects import Subject
from bench.window import Rates, Sample, Span, rates
from support.servers import launch

STEP_SECONDS = 0.1
LIMIT_SECONDS = 300
START_SECONDS = 90
"""How long a subject may take until its first progress."""
STOP_SECONDS = 20


class Enough(Protocol):
    """Says when a run has been watched for long enough."""

    def __call__(self, samples: Sequence[Sample], total: int) -> bool:
        """Whether these samples suffice, for so many events in all."""
        ...


@dataclass(frozen=True)
class Result:
    """One run. Rates are those of the middle of it, memory is the peak."""

    name: str
    events: int
    events_per_s: float
    cpu_s_per_million: float
    rss_mb: float
    other_cores: float

    def rounded(self) -> dict[str, object]:
        """Give the values as they are printed."""
        digits = {"events_per_s": None, "cpu_s_per_million": 1, "rss_mb": None, "other_cores": 2}
        return {name: round(value, digits[name]) if name in digits else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Timed:
    """One run over a fixed time."""

    rates: Rates
    done: int
    """Events that were done in all, warm-up included."""
    rss_mb: float
    """Peak of the process and its children."""
    ran_out: bool
    """Whether there was nothing left to do before the time was over."""


@dataclass(frozen=True)
class Load:
    """Processes whose work is known, and is not foreign: of the benchmark, and of the broker among them."""

    servers: list[int]
    broker: list[int]


async def measure(subject: Subject, servers: list[int], folder: Path) -> Result:
    """Start the subject, watch it until it has done its events, and stop it.

    Raises RuntimeError with the end of its log when it dies or is too slow.
    """
    with started(subject, folder) as process:
        samples = await watch(subject, process, Load(servers, []), _all_done, folder)
        peak = peak_mb(tree(process.pid))
    found = rates(samples, subject.events)
    return Result(subject.name, subject.events, found[0], found[1], peak, found[2])


async def measure_for(subject: Subject, span: Span, load: Load, folder: Path) -> Timed:
    """Start the subject, watch it for a warm-up and a fixed time, and stop it.

    Raises RuntimeError with the end of its log when it dies, or does nothing; ValueError when it does too little.
    """
    with started(subject, folder) as process:
        samples = await watch(subject, process, load, span.over, folder, START_SECONDS + LIMIT_SECONDS + span.seconds)
        peak = peak_mb(tree(process.pid))
    done = int(samples[-1].done)
    return Timed(span.rates(samples, subject.events), done, peak, done >= subject.events)


@contextmanager
def started(subject: Subject, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the subject for the time of a block."""
    log = log_of(subject, folder)
    log.unlink(missing_ok=True)  # of an earlier round
    process = launch(subject.command, log, {**os.environ, **subject.env}, folder)
    try:
        yield process
    finally:
        _stop(process)


def log_of(subject: Subject, folder: Path) -> Path:
    """Where a subject's output goes."""
    return folder / f"{subject.name}.log"


async def watch(
    subject: Subject,
    process: subprocess.Popen[bytes],
    load: Load,
    enough: Enough,
    folder: Path,
    limit: float = LIMIT_SECONDS,
) -> list[Sample]:
    """Look at a subject again and again until it is enough.

    Raises RuntimeError when it dies, has done nothing yet after a while, or is not through after `limit` seconds.
    """
    samples: list[Sample] = []
    begin = time.monotonic()
    while not samples or not enough(samples, subject.events):
        if problem := _problem(process, time.monotonic() - begin, limit, samples):
            end = _end_of(log_of(subject, folder))
            raise RuntimeError(f"{subject.name} {problem} ({subject.events:,} events); its log ends:\n{end}")
        done = await subject.progress()
        own = cpu_seconds(tree(process.pid))
        servers, broker = cpu_seconds(load.servers), cpu_seconds(load.broker)
        samples.append(Sample(time.monotonic(), done, own, servers, machine_seconds(), broker))
        await asyncio.sleep(STEP_SECONDS)
    return samples


def _all_done(samples: Sequence[Sample], total: int) -> bool:
    return samples[-1].done >= total


def _problem(process: subprocess.Popen[bytes], seconds: float, limit: float, samples: Sequence[Sample]) -> str | None:
    if process.poll() is not None:
        return f"ended with code {process.returncode}"
    if seconds > limit:
        return f"was not through after {limit:g} s"
    if seconds > START_SECONDS and not samples[-1].done:
        return f"did nothing in {START_SECONDS} s"
    return None


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
