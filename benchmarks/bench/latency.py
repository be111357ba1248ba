"""Times of many probes, summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench.outcome import Cell

ENOUGH = 2_000
"""Probes from which on p99.9 says something: two are beyond it."""


@dataclass(frozen=True)
class Latency:
    """Milliseconds: quantiles are probes that there were, not values in between."""

    probes: int
    median: float
    p99: float
    p999: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """Sum up times in seconds; ValueError where there are none."""
        if not seconds:
            raise ValueError("no probe has come through")
        ordered, count = sorted(seconds), len(seconds)
        found = (ordered[-(-permille * count // 1000) - 1] for permille in (500, 990, 999, 1000))
        return cls(count, *(round(value * 1000, 1) for value in found))

    @property
    def enough(self) -> bool:
        """Whether there were enough probes for p99.9."""
        return self.probes >= ENOUGH

    def cells(self) -> list[Cell]:
        """The values of a row: probes, then median, p99, p99.9 and max, in ms."""
        return list(asdict(self).values())
