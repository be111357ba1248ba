"""Values without any trend, by kind of data, and how they are laid into the signals of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

SIGMA: Final = 1.5
"""Of the lognormal values."""


@dataclass(frozen=True, slots=True)
class Data:
    """One kind of data: `draw` gives rows of values as people would record them, `stored` what a row keeps of them.

    `scale` brings recorded values to a standard deviation of 1 for the rules with fixed thresholds; yes/no and counts
    stay as they are. `promised`: independent values of a kind that a signal has, so the promises are for them.
    """

    label: str
    draw: Draw
    stored: Callable[[Floats], Floats] = lambda values: values
    scale: float = 1.0
    promised: bool = True


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw white noise."""
    return rng.standard_normal(shape)


def lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw skewed values, as waiting times are."""
    return np.exp(SIGMA * rng.standard_normal(shape))


def yes(share: float) -> Draw:
    """Make a draw of answers of which this share is yes."""
    return lambda rng, shape: (rng.random(shape) < share).astype(np.float64)


def poisson(mean: float) -> Draw:
    """Make a draw of counts."""
    return lambda rng, shape: rng.poisson(mean, shape).astype(np.float64)


def autocorrelated(rho: float) -> Draw:
    """Make a draw of an AR(1) process with standard deviation 1, in its stationary state from the first value on."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        noise = rng.standard_normal(shape)
        noise[:, 1:] *= sqrt(1.0 - rho * rho)
        for at in range(1, shape[1]):
            noise[:, at] += rho * noise[:, at - 1]
        return noise

    return draw


_LOGNORMAL_SD = sqrt((exp(SIGMA**2) - 1.0) * exp(SIGMA**2))

DATA: Final[Mapping[str, Data]] = {
    "normal": Data("normal", normal),
    "logged": Data("lognormal, logged", lognormal, np.log, 1.0 / _LOGNORMAL_SD),
    "raw": Data("lognormal, raw", lognormal, scale=1.0 / _LOGNORMAL_SD, promised=False),
    **{f"yes{p}": Data(f"yes/no, {p}", yes(p)) for p in (0.5, 0.8, 0.9, 0.95, 0.99)},
    **{f"count{m}": Data(f"counts, mean {m}", poisson(m), np.log1p) for m in (0.1, 0.3, 1, 3, 10)},
    **{f"ar{r}": Data(f"AR(1), {r}", autocorrelated(r), promised=False) for r in (0.2, 0.4, 0.6)},
}

World = Mapping[str, str]
"""Which data each signal of a row has; a signal that is not named is unknown."""

WORLDS: Final[tuple[World, ...]] = (
    {
        "responded": "yes0.5",
        "response_time_ms": "logged",
        "response_length": "count0.3",
        "sentiment_shift": "normal",
        "reaction_count": "count1",
        "continued": "yes0.8",
        "outcome_success": "yes0.9",
    },
    {
        "responded": "yes0.95",
        "response_time_ms": "raw",
        "response_length": "count3",
        "sentiment_shift": "ar0.2",
        "reaction_count": "count10",
        "continued": "yes0.99",
    },
    {"response_time_ms": "ar0.4", "sentiment_shift": "ar0.6", "response_length": "count0.1"},
)
"""Every kind of data once, in a signal whose rules it is for."""


def times_ms(rng: np.random.Generator, shape: tuple[int, int], gap_hours: float) -> NDArray[np.int64]:
    """Draw times in ms with exponential gaps, rising in each row."""
    gaps = rng.exponential(gap_hours * 3_600_000.0, shape).astype(np.int64) + 1
    return np.cumsum(gaps, axis=1)
