"""Runs the pieces of all sections side by side, each with its own seed, so the result knows nothing of their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of a section: a function of this package, its arguments, and the name under which it is found again."""

    section: str
    name: tuple[Any, ...]
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


def rng_of(seed: int, *name: object) -> np.random.Generator:
    """Make the generator of one job: the same for the same name, whatever else runs."""
    words = [crc32(repr(part).encode()) for part in name]
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


def run(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Any]]:
    """Give each job with its result, as they come. What a job raises goes through."""
    if workers <= 1:
        for job in jobs:
            yield job, job.work(*job.arguments)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: dict[Future[Any], Job] = {pool.submit(job.work, *job.arguments): job for job in jobs}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def cores() -> int:
    """Return how many processes are of use here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
