"""What the service says about a trend: everything is derived from the row when it is read (docs/concepts.md).

All statistics use the newest 64 turns that are not older than four half-lives before the newest one. Slopes, errors
and volatility are in the transformed values of the row (`signals.values_of`), means are transformed back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import comb, exp, expm1, isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moodstream.affect.inference import Kind, Series, acceleration, change_point, slope_test, weights
from moodstream.affect.signals import SIGNS
from moodstream.affect.trends import TrendRow
from moodstream.schemas.errors import InvalidQuery

__all__ = [
    "FALSE_STEPS",
    "HALF_LIFE_HOURS",
    "LABEL_P",
    "TrendSummary",
    "change_point",
    "heading",
    "notice_step",
    "series",
    "slope_test",
    "summary",
]

HALF_LIFE_HOURS: Final = 168.0
KINDS: Final[Mapping[str, Kind]] = {
    "responded": "boolean",
    "response_time_ms": "real",
    "response_length": "count",
    "sentiment_shift": "real",
    "reaction_count": "count",
    "continued": "boolean",
    "outcome_success": "boolean",
}
"""`response_length` is a count here: where most answers are empty it has the same rare answers."""

Times = NDArray[np.int64]

INSUFFICIENT, STABLE, IMPROVING, DECLINING = "insufficient", "stable", "improving", "declining"

WINDOW_HALF_LIVES: Final = 4
_MS_PER_HOUR = 3_600_000.0
LABEL_P: Final = 0.05
"""A direction is told below this p: so often at most where there is none, if values are independent of each other."""
FALSE_STEPS: Final = 0.001
"""Change points that are told where there is none, per observation with a look at each: at most, but for rare cases.

docs/evidence.md measures them, and names the one beyond it: yes/no answers more than a day apart.
"""
NOTICE_IN, _NOTICE_IN_SPARSE, _NOTICE_IN_RARE, _NOTICE_OUT = 0.002, 0.001, 0.0005, 0.2
_SPARSE_HOURS = 24.0
_ACCELERATION_MINIMUM = 20
_LARGEST_EXPONENT = 709.78  # e to this is still a float


@dataclass(frozen=True, slots=True)
class TrendSummary:
    """One signal of one row, as of one time. None is "cannot be said".

    `observations` counts the turns in use, `decayed_count` weighs them by their age at `as_of`, `decayed_mean` is in
    the signal's own unit, `rate` is yes / known. `slope_per_hour`, `standard_error`, `delta` (slope · duration),
    `volatility` (standard deviation around a line with that slope) and `acceleration` (per hour²) are in transformed
    units. `change_at_ms` is the time of the first turn after the newest step. `direction` is insufficient, stable,
    improving or declining; with `sign` 0 nothing is better, so it is never one of the last two.
    """

    signal: str
    sign: int
    observations: int
    direction: str
    decayed_count: float = 0.0
    decayed_mean: float | None = None
    rate: float | None = None
    slope_per_hour: float | None = None
    standard_error: float | None = None
    p: float | None = None
    delta: float | None = None
    volatility: float | None = None
    acceleration: float | None = None
    change_at_ms: int | None = None
    duration_hours: float | None = None
    median_gap_hours: float | None = None
    newest_ms: int | None = None
    stale: bool = False
    rarer: int | None = None
    """Where most answers are the same: how many are not."""


def series(row: TrendRow, signal: str) -> tuple[Times, Series]:
    """Return times in ms and transformed values of the newest 64 turns with this signal, oldest first."""
    observed = row.observations(signal)
    times = np.array([t for t, _ in observed], dtype=np.int64)
    return times, np.array([value for _, value in observed], dtype=np.float64)


def summary(
    row: TrendRow, signal: str, as_of_ms: int, sign: int | None = None, half_life_hours: float = HALF_LIFE_HOURS
) -> TrendSummary:
    """Derive everything that is reported of one signal; without `sign` the default one. Never NaN or infinite.

    Only `decayed_count` and `stale` depend on `as_of_ms`. InvalidQuery for a half-life that is not positive.
    """
    if not (half_life_hours > 0 and isfinite(half_life_hours)):
        raise InvalidQuery("the half-life must be a positive number of hours", parameter="half_life")
    sign = SIGNS[signal] if sign is None else sign
    times, y = _window(row, signal, half_life_hours)
    if not len(y):
        return TrendSummary(signal, sign, 0, INSUFFICIENT)
    newest = int(times[-1])
    hours = (times - newest) / _MS_PER_HOUR
    age = np.minimum((times - as_of_ms) / _MS_PER_HOUR, 0.0)
    step = change_point(y, KINDS[signal])
    common = TrendSummary(
        signal=signal,
        sign=sign,
        observations=len(y),
        direction=INSUFFICIENT,
        decayed_count=float(weights(age, half_life_hours).sum()),
        decayed_mean=_decayed_mean(signal, hours, y, half_life_hours),
        rate=float(y.mean()) if KINDS[signal] == "boolean" else None,
        change_at_ms=None if step is None else int(times[step]),
        duration_hours=float(hours[-1] - hours[0]),
        median_gap_hours=float(np.median(np.diff(hours))) if len(y) > 1 else None,
        newest_ms=newest,
        stale=as_of_ms - newest > WINDOW_HALF_LIVES * half_life_hours * _MS_PER_HOUR,
        rarer=_rarer(y, KINDS[signal]),
    )
    return _with_slope(common, hours, y, half_life_hours)


def notice_step(previous: str, now: TrendSummary) -> str:
    """Return the direction to announce after `previous`: harder to enter than to keep, so that it does not flicker.

    A direction is entered at p < .002 (.001 where the median gap is over a day, and see `_enters` on rare answers), and
    left at p > .2, when the slope turns, or when there is too little left to tell. Everything else is `stable`.
    """
    if now.p is None or now.slope_per_hour is None:
        return STABLE
    course = heading(now.slope_per_hour, now.sign)
    keeps = course == previous and now.p <= _NOTICE_OUT
    return course if keeps or _enters(now.p, now) else STABLE


def _enters(p: float, now: TrendSummary) -> bool:
    """Whether p is small enough to enter a direction.

    Where few answers differ, p is not exact so far out: two "no" that happen to be the newest would do. So the limit
    is a quarter there, and as no order of n answers with m rare ones is rarer than 1 in C(n, m), two-sided, this must
    be below the limit as well (a bound of the permutation test). docs/evidence.md has the error rates.
    """
    if now.rarer is not None:
        return p < _NOTICE_IN_RARE and 2.0 / comb(now.observations, now.rarer) <= _NOTICE_IN_RARE
    sparse = now.median_gap_hours is not None and now.median_gap_hours > _SPARSE_HOURS
    return p < (_NOTICE_IN_SPARSE if sparse else NOTICE_IN)


def _rarer(y: Series, kind: Kind) -> int | None:
    """How many answers are not the usual one, where at least two thirds are: yes, no, or none at all of a count."""
    if kind == "real":
        return None
    positive = int(np.count_nonzero(y))
    fewer = min(positive, len(y) - positive) if kind == "boolean" else positive
    return fewer if 3 * fewer <= len(y) else None


def _window(row: TrendRow, signal: str, half_life: float) -> tuple[Times, Series]:
    """Return the turns that count: not older than four half-lives before the newest."""
    times, y = series(row, signal)
    if not len(y):
        return times, y
    recent = times - times[-1] >= -WINDOW_HALF_LIVES * half_life * _MS_PER_HOUR
    return times[recent], y[recent]


def _with_slope(common: TrendSummary, hours: Series, y: Series, half_life: float) -> TrendSummary:
    """Add what can only be said of a series that is long enough and has an extent in time."""
    test = slope_test(hours, y, half_life)
    if test is None:
        return common
    return replace(
        common,
        direction=heading(test.slope, common.sign) if test.p < LABEL_P else STABLE,
        slope_per_hour=test.slope,
        standard_error=test.error,
        p=test.p,
        delta=test.slope * float(hours[-1] - hours[0]),
        volatility=test.residual,
        acceleration=acceleration(hours, y, half_life) if len(y) >= _ACCELERATION_MINIMUM else None,
    )


def heading(slope: float, sign: int) -> str:
    """Name the direction of a slope that is none by chance: improving or declining; stable where it has none."""
    if slope == 0.0 or sign == 0:
        return STABLE
    return IMPROVING if (slope > 0.0) == (sign > 0) else DECLINING


_BACK: Final[Mapping[str, Callable[[float], float]]] = {
    "response_time_ms": exp,
    "response_length": expm1,
    "reaction_count": expm1,
}


def _decayed_mean(signal: str, hours: Series, y: Series, half_life: float) -> float:
    """Return the mean weighted by age: relative to the newest turn, as a common factor would cancel."""
    w = weights(hours, half_life)
    mean = float((w / w.sum()) @ y)
    back = _BACK.get(signal)
    return mean if back is None else back(min(mean, _LARGEST_EXPONENT))
