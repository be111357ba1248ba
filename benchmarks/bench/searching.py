"""The search for the highest rate that something can bear."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

Holds = Callable[[float], Awaitable[bool]]
"""Whether a rate is borne."""

LEAST = 10.0
"""Events/s below which nothing is tried."""


@dataclass(frozen=True)
class Search:
    """Climb from `start` by `factor` until a rate is not borne, then halve the gap until it is under `resolution`.

    `resolution` is the ratio of the lowest rate not borne to the highest borne: 1.1 stands for 10 %.
    """

    start: float
    factor: float = 1.6
    resolution: float = 1.1
    most: float = 1e6

    async def highest(self, holds: Holds) -> Found:
        """Give the highest rate that was borne, events/s. Raises `RuntimeError` where none was."""
        found = Found()
        await self._climb(holds, found)
        while math.isfinite(found.bad) and found.bad / found.good > self.resolution:
            await found.try_(holds, math.sqrt(found.good * found.bad))
        return found

    async def _climb(self, holds: Holds, found: Found) -> None:
        rate = self.start
        while rate <= self.most and await found.try_(holds, rate):
            rate *= self.factor
        while not found.good:
            rate /= self.factor
            if rate < LEAST:
                raise RuntimeError(f"not even {rate * self.factor:.0f} events/s are borne")
            await found.try_(holds, rate)


@dataclass
class Found:
    """What a search has tried, in order, and between which rates the limit lies."""

    good: float = 0.0
    bad: float = math.inf
    tried: list[tuple[float, bool]] = field(default_factory=list)

    async def try_(self, holds: Holds, rate: float) -> bool:
        """Try a rate, and take note."""
        borne = await holds(rate)
        self.tried.append((rate, borne))
        if borne:
            self.good = max(self.good, rate)
        else:
            self.bad = min(self.bad, rate)
        return borne


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """How fast a lag grows, in events/s, from samples (time in s, events).

    From the lowest of the first third to the lowest of the last: a lag that swings, chunk by chunk, but comes back to
    where it was does not grow.
    """
    third = max(len(samples) // 3, 1)
    first, last = (min(part, key=lambda one: one[1]) for part in (samples[:third], samples[-third:]))
    return (last[1] - first[1]) / max(last[0] - first[0], 1e-9)


def flat(samples: Sequence[tuple[float, float]], rate: float, share: float = 0.05) -> bool:
    """Whether a lag stays: it grows by less than a share of the rate, which is noise."""
    return growth(samples) < share * rate
