"""What a run consists of: the pieces of each section, and how their results are put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any, Final

from evidence import moods, people, recalls, single, steps, streams
from evidence.feelings import FEELINGS
from evidence.jobs import Job
from evidence.recalls import CLOCKS
from evidence.series import WORLDS

SEED: Final = 20260105


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: series of one look, streams and their length, series with a step, what of a chat log."""

    series: int = 20_000
    streams: int = 30
    length: int = 10_000
    steps: int = 2_000
    permutations: int = 20
    agents: int = 100
    readings: int = 40
    messages: int | None = None

    part: int = 2_500
    """Series in one piece."""


FULL: Final = Size()
QUICK: Final = Size(
    series=200, streams=2, length=400, steps=60, permutations=2, agents=5, readings=10, messages=3_000, part=100
)


@dataclass(frozen=True, slots=True)
class Share:
    """A measured share or rate, with its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, count: float, total: float) -> Share:
        """A share of independent looks: the error is the binomial one, never quite 0."""
        if not total:
            return cls(0.0, 0.0)
        value = count / total
        return cls(value, sqrt(max(value * (1.0 - value), 1.0 / total) / total))

    @classmethod
    def among(cls, counts: Iterable[float], totals: Iterable[float], per: float = 1.0) -> Share:
        """A rate over streams: looks of one stream hang together, so the error comes from how streams differ."""
        pairs = list(zip(counts, totals, strict=True))
        total = sum(of for _, of in pairs)
        rate = sum(count for count, _ in pairs) / total
        apart = sum((count - rate * of) ** 2 for count, of in pairs)
        poisson = max(sum(count for count, _ in pairs), 1.0)
        error = sqrt(max(apart * len(pairs) / max(len(pairs) - 1, 1), poisson)) / total
        return cls(per * rate, per * error)


def synthetic(seed: int, size: Size) -> list[Job]:
    """Return the pieces that need no chat log."""
    parts = range(max(size.steps // size.part, 1))
    series = min(size.steps, size.part)
    return [
        *_streams_of(seed, size),
        *(
            Job("single", (world, n, at), single.false_looks, (seed, world, n, size.part, at))
            for world, n in product(range(len(WORLDS)), single.LENGTHS)
            for at in range(size.series // size.part)
        ),
        *(
            Job("drift", (n, drift), single.drifting, (seed, n, size.steps, drift))
            for n, drift in product(single.LENGTHS, single.DRIFTS)
        ),
        *(
            Job("steps", (each, at), steps.normal_step, (seed, each, series, at))
            for each in steps.SIZES
            for at in parts
        ),
        *(Job("yes", (each, at), steps.yes_step, (seed, each, series, at)) for each in steps.SHARES for at in parts),
    ]


def _streams_of(seed: int, size: Size) -> list[Job]:
    every = [(world, gap) for world in range(len(WORLDS)) for gap in (streams.GAPS if world == 0 else streams.GAPS[:1])]
    return [
        Job("streams", (*one, at), streams.false_onsets, (seed, *one, size.length, at))
        for one, at in product(every, range(size.streams))
    ]


def real(seed: int, size: Size, path: Path) -> list[Job]:
    """Return the pieces that need one."""
    log = path, size.messages
    mood = [
        Job("moods", (name,), moods.errors, (*log, seed, name, size.agents, size.readings)) for name in moods.SCENARIOS
    ]
    return [
        Job("people", (), people.trends, (*log, seed, size.permutations)),
        Job("clock", (), people.clock, (*log, seed, size.permutations)),
        *(
            Job("recall", each, recalls.tradeoff, (*log, seed, *each, size.agents, 5))
            for each in product(FEELINGS, CLOCKS)
        ),
        *mood,
        Job("day", (), moods.day, log),
    ]


class Results:
    """What the pieces gave, by section."""

    def __init__(self) -> None:
        self.found: dict[str, dict[tuple[Any, ...], Any]] = defaultdict(dict)

    def add(self, job: Job, result: object) -> None:
        """Keep what one piece gave."""
        self.found[job.section][job.name] = result

    def summed_up(self) -> dict[str, Any]:
        """Put the pieces together; sections that did not run are missing."""
        sections: dict[str, Callable[[dict[tuple[Any, ...], Any]], Any]] = {
            "single": _singles,
            "streams": _streams,
            "drift": partial(_by_name, names=("n", "drift")),
            "steps": _steps,
            "yes": _steps,
            "people": _only,
            "clock": _only,
            "moods": lambda found: {name: found[name,] for name in moods.SCENARIOS},
            "day": _only,
            "recall": lambda found: {" ".join(name): found[name] for name in product(FEELINGS, CLOCKS)},
        }
        return {name: summary(self.found[name]) for name, summary in sections.items() if self.found.get(name)}


def _only(found: dict[tuple[Any, ...], Any]) -> object:
    return found[()]


def _by_name(found: dict[tuple[Any, ...], Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [dict(zip(names, name, strict=True)) | found[name] for name in sorted(found)]


def _singles(found: dict[tuple[Any, ...], Any]) -> list[dict[str, Any]]:
    """Add up the parts of each kind of data and length."""
    total: dict[tuple[str, int], dict[str, int]] = {}
    for world, n, at in sorted(found):
        for kind, counts in found[world, n, at].items():
            _add(total.setdefault((kind, n), {}), counts)
    return [{"data": kind, "n": n, **counts} for (kind, n), counts in total.items()]


def _streams(found: dict[tuple[Any, ...], Any]) -> list[dict[str, Any]]:
    """Put the streams of each kind of data and gap side by side."""
    by: dict[tuple[str, float], dict[str, list[float]]] = {}
    for world, gap, at in sorted(found):
        for kind, counts in found[world, gap, at].items():
            for name, value in counts.items():
                by.setdefault((kind, gap), {}).setdefault(name, []).append(value)
    return [{"data": kind, "gap_hours": gap, **columns} for (kind, gap), columns in by.items()]


def _steps(found: dict[tuple[Any, ...], Any]) -> list[dict[str, Any]]:
    total: dict[Any, dict[str, int]] = {}
    for each, at in sorted(found):
        _add(total.setdefault(each, {}), found[each, at])
    return [{"step": each, **counts} for each, counts in total.items()]


def _add(total: dict[str, int], counts: dict[str, int]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count
