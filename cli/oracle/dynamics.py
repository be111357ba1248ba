"""How one profile lets a displacement decay and where it bounds it (docs/rows.md, mood)."""

from __future__ import annotations

import math
from typing import NamedTuple

Triple = tuple[float, float, float]
AXES = (0, 1, 2)
MS_PER_HOUR = 3_600_000.0


def triple(values: list[float]) -> Triple:
    """Three numbers as a tuple."""
    pleasure, arousal, dominance = values
    return (pleasure, arousal, dominance)


class Dynamics(NamedTuple):
    """Baseline, time constants in hours and largest displacements of the three axes."""

    baseline: Triple
    tau_hours: Triple
    largest: Triple

    def tau_ms(self, axis: int) -> float:
        """Time constant of an axis in milliseconds."""
        return self.tau_hours[axis] * MS_PER_HOUR

    def limit(self, x: list[float]) -> Triple:
        """Keep baseline + x within [-1, 1] and x within the largest displacement."""
        return triple([self._limit(axis, x[axis]) for axis in AXES])

    def _limit(self, axis: int, x: float) -> float:
        b, m = self.baseline[axis], self.largest[axis]
        return min(max(x, max(-1 - b, -m)), min(1 - b, m))

    def fading(self, axis: int, dt: int) -> float:
        """What is left of 1 after dt milliseconds: exp(-dt / tau)."""
        return math.exp(-dt / self.tau_ms(axis))

    def decay(self, x: Triple, dt: int) -> Triple:
        """The displacement dt milliseconds later."""
        return triple([x[axis] * self.fading(axis, dt) for axis in AXES])
