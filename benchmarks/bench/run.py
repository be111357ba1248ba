"""Run one subject on the backlog and measure it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.process import cpu_seconds, machine_seconds, peak_mb, tree
from bench.subjects import Subject
from bench.window import Sample, rates
from support.servers import launch

STEP_SECONDS = 0.1
LIMIT_SECONDS = 300
STOP_SECONDS = 20


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


async def measure(subject: Subject, servers: list[int], folder: Path) -> Result:
    """Start the subject, watch it until it has done its events, and stop it.

    Raises RuntimeError with the end of its log when it dies or is too slow.
    """
    log = folder / f"{subject.name}.log"
    log.unlink(missing_ok=True)  # of an earlier round
    process = launch(subject.command, log, {**os.environ, **subject.env}, folder)
    try:
        samples, peak = await _watch(subject, process, servers, log)
    finally:
        _stop(process)
    found = rates(samples, subject.events)
    return Result(subject.name, subject.events, found[0], found[1], peak, found[2])


async def _watch(
    subject: Subject, process: subprocess.Popen[bytes], servers: list[int], log: Path
) -> tuple[list[Sample], float]:
    samples: list[Sample] = []
    begin = time.monotonic()
    while not samples or samples[-1].done < subject.events:
        if process.poll() is not None or time.monotonic() - begin > LIMIT_SECONDS:
            raise RuntimeError(f"{subject.name} did not do its {subject.events} events; its log ends:\n{_end_of(log)}")
        done = await subject.progress()
        pids = tree(process.pid)
        at = time.monotonic()
        samples.append(Sample(at, done, cpu_seconds(pids), cpu_seconds(servers), machine_seconds()))
        await asyncio.sleep(STEP_SECONDS)
    return samples, peak_mb(tree(process.pid))


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
