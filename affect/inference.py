"""Two tests on a series: is there a slope, and is there a step? Exact where the usual ones are not (docs/concepts.md).

The slope test correlates the values with a fixed vector c = w·(t - mean) instead of fitting weighted least squares:
given the times, the correlation of independent values with any fixed vector has the ordinary distribution, for any
weights and spacing. Both tests are made more careful by the lag-1 autocorrelation of what is left over. How often
they are wrong, and how often they see what is there, was found by simulation (docs/concepts.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from sys import float_info
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moodstream.affect.student import two_sided_p

Series = NDArray[np.float64]
Kind = Literal["real", "count", "boolean"]
"""`boolean`: 0 and 1; `count`: many zeros are possible; `real`: anything else."""

SLOPE_MINIMUM = 10
CHANGE_MINIMUM = 16
_CHANGE_MARGIN = 8
_CHANGE_THRESHOLD = 4.25
_RARE_EXPECTED = 2
_LARGEST_RHO = 0.9
_NO_RESIDUAL = 1e-12
_FADED_HALF_LIVES = 1_100.0


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope per hour with its standard error, its two-sided p, and the scatter around a line with that slope.

    `residual` is the standard deviation of what the line leaves over, with n - 2.
    """

    slope: float
    error: float
    p: float
    residual: float


def weights(hours: Series, half_life: float) -> Series:
    """Return 2^(hours / half_life) for hours <= 0: 1 for now, a half one half-life ago."""
    return np.exp2(np.maximum(hours, -_FADED_HALF_LIVES * half_life) / half_life)


def slope_test(hours: Series, y: Series, half_life: float) -> Slope | None:
    """Test a series, sorted by time, for a slope; None with fewer than 10 values or when all have one time.

    Times and half-life in hours. Without variance the slope is 0 and p is 1; where c explains everything p is 0.
    """
    n = len(y)
    lever = _lever(hours, half_life) if n >= SLOPE_MINIMUM else None
    if lever is None:
        return None
    unit, z = _scaled(y)
    if unit == 0.0:
        return Slope(0.0, 0.0, 1.0, 0.0)
    c, spread = lever
    cc, zz, cz = float(c @ c), float(z @ z), float(c @ z)
    rest = 1.0 - cz * cz / (cc * zz)
    steep = _finite(cz / spread)
    slope, residual = _finite(steep * unit), _finite(_scatter(hours, z, steep) * unit)
    if rest < _NO_RESIDUAL:
        return Slope(slope, 0.0, 0.0, residual)
    careful = _careful(z - c * (cz / cc), 2.0 / n)
    t = sqrt((1.0 - rest) / rest * (n - 2) * careful)
    error = sqrt(cc * zz * rest / ((n - 2) * careful)) / spread
    return Slope(slope, _finite(error * unit), two_sided_p(t, n - 2), residual)


def acceleration(hours: Series, y: Series, half_life: float) -> float | None:
    """Return the slope of the newer half minus that of the older one, per hour between their mean times.

    None when the times of a half are all equal.
    """
    middle = len(y) // 2
    unit, z = _scaled(y)
    older = _slope_of(hours[:middle], z[:middle], half_life)
    newer = _slope_of(hours[middle:], z[middle:], half_life)
    if older is None or newer is None:
        return None
    between = float(hours[middle:].mean() - hours[:middle].mean())
    return _finite((newer - older) / between * unit)


def change_point(y: Series, kind: Kind = "real") -> int | None:
    """Return the index of the first value after a step, or None if there is none; at least 16 values, by time."""
    n = len(y)
    unit, z = _scaled(y)
    if n < CHANGE_MINIMUM or unit == 0.0:
        return None
    k = _splits(y, kind)
    if not len(k):
        return None
    total, sums = float(z @ z), np.cumsum(z)[k - 1]
    between = sums * sums * n / (k * (n - k))
    q = between / (np.maximum(total - between, _NO_RESIDUAL * total) / (n - 2))
    best = int(q.argmax())
    at = int(k[best])
    e = np.concatenate((z[:at] - z[:at].mean(), z[at:] - z[at:].mean()))
    found = sqrt(float(q[best]) * _careful(e, 1.0 / n)) > _CHANGE_THRESHOLD
    return at if found and between[best] > _line(z) else None


def _lever(hours: Series, half_life: float) -> tuple[Series, float] | None:
    """Return c, scaled to at most 1, and Σ c·(t - mean); None where time has no extent."""
    ago = hours - hours[-1]
    w = weights(ago, half_life)
    away = ago - float(w @ ago) / float(w.sum())
    c = w * away
    largest = float(np.abs(c).max())
    if largest == 0.0:
        return None
    c = c / largest
    return c, float(c @ away)


def _slope_of(hours: Series, z: Series, half_life: float) -> float | None:
    lever = _lever(hours, half_life)
    return None if lever is None else float(lever[0] @ z) / lever[1]


def _scatter(hours: Series, z: Series, slope: float) -> float:
    """Return the standard deviation of centred values around a line with this slope through their middle."""
    with np.errstate(over="ignore"):  # the steepest slope of all times the longest time
        off = z - slope * (hours - hours.mean())
        return sqrt(float(off @ off) / (len(z) - 2))


def _scaled(y: Series) -> tuple[float, Series]:
    """Return a unit and the centred values in it, so that no square overflows; unit 0 when all values are equal."""
    low, high = float(y.min()) * 0.5, float(y.max()) * 0.5
    half = high - low
    if half == 0.0:
        return 0.0, np.zeros(len(y))
    z = (y * 0.5 - low) / half
    return 2.0 * half, z - z.mean()


def _careful(e: Series, bias: float) -> float:
    """Return (1 - rho) / (1 + rho), rho the lag-1 autocorrelation of residuals plus its bias, clipped to [0, 0.9]."""
    ee = float(e @ e)
    lag = float(e[1:] @ e[:-1]) / ee if ee > 0.0 else 0.0
    rho = min(max(lag + bias, 0.0), _LARGEST_RHO)
    return (1.0 - rho) / (1.0 + rho)


def _splits(y: Series, kind: Kind) -> NDArray[np.int64]:
    """Return the splits to look at: for rare answers only those with two of them expected on both sides."""
    n = len(y)
    k = np.arange(_CHANGE_MARGIN, n - _CHANGE_MARGIN + 1)
    ones = int(np.count_nonzero(y))
    if kind == "boolean":
        rare = min(ones, n - ones)
    elif kind == "count" and 2 * ones < n:
        rare = ones
    else:
        return k
    return k[np.minimum(k, n - k) * rare >= _RARE_EXPECTED * n]


def _line(z: Series) -> float:
    """Return the sum of squares that a straight line over the index explains."""
    i = np.arange(len(z)) - (len(z) - 1) / 2
    iz = float(i @ z)
    return iz * iz / float(i @ i)


def _finite(value: float) -> float:
    return value if isfinite(value) else float_info.max if value > 0 else -float_info.max
