"""A step after steady values: how soon is it seen?"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from evidence import rivals
from evidence.jobs import rng_of
from evidence.rows import reports_of, table, windows
from evidence.series import Floats, times_ms
from evidence.streams import Watcher

STEADY: Final = 64
WITHIN: Final = (16, 24, 32)
SIZES: Final = (1.0, 1.5, 2.0, 4.0)
"""In standard deviations."""
SHARES: Final = ((0.8, 0.3), (0.9, 0.5), (0.6, 0.1))
"""Share of yes before and after."""
GAP_HOURS: Final = 2.0
_CLOSE = 3

Flags = NDArray[np.bool_]


def normal_step(seed: int, size: float, series: int, part: int) -> dict[str, float]:
    """Let normal values rise by `size` standard deviations."""
    rng = rng_of(seed, "step", size, part)
    values = rng.standard_normal((series, STEADY + max(WITHIN)))
    values[:, STEADY:] += size
    return found_within(rng, "sentiment_shift", values)


def yes_step(seed: int, shares: tuple[float, float], series: int, part: int) -> dict[str, float]:
    """Let the share of yes fall."""
    rng = rng_of(seed, "yes", shares, part)
    share = np.where(np.arange(STEADY + max(WITHIN)) < STEADY, *shares)
    values = (rng.random((series, len(share))) < share).astype(np.float64)
    return found_within(rng, "responded", values)


def found_within(rng: np.random.Generator, signal: str, values: Floats) -> dict[str, float]:
    """Count in how many series each rule speaks within the first 16, 24, 32 observations after the step.

    `first_close` and `close` count the steps that are placed within three observations, when they are first seen and
    at the last look; `again` those that are announced more than once.
    """
    places, announced = seen(times_ms(rng, values.shape, GAP_HOURS), signal, values)
    ours = places >= 0
    first = np.take_along_axis(places, ours.argmax(axis=1)[:, None], 1)[:, 0]
    cusum = rivals.cusum(values)[:, STEADY:]
    halves = np.array([abs(rivals.running(y, "halves")[STEADY:]) > rivals.THRESHOLD for y in values])
    counts: dict[str, float] = {
        "series": len(values),
        "first_close": _count((first >= 0) & (abs(first - STEADY) <= _CLOSE)),
        "last": _count(ours[:, -1]),
        "close": _count(ours[:, -1] & (abs(places[:, -1] - STEADY) <= _CLOSE)),
        "announced": _count(announced > 0),
        "again": _count(announced > 1),
    }
    for name, flags in {"step": ours, "cusum": cusum, "halves": halves}.items():
        counts |= {f"{name}{within}": _count(flags[:, :within].any(axis=1)) for within in WITHIN}
    return counts


def seen(times: NDArray[np.int64], signal: str, values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Look after each observation since the step.

    Return for each series and look the place of the change point, -1 if none is seen; and how many were announced.
    """
    places = np.full((len(times), times.shape[1] - STEADY), -1, np.int64)
    announced = np.zeros(len(times), np.int64)
    for at in range(len(times)):
        watcher = Watcher()
        watcher.watch(list(windows(reports_of(times[at], table({signal: values}, at))))[STEADY:])
        change_ms = watcher.column("change_ms", signal)
        places[at, change_ms >= 0] = np.searchsorted(times[at], change_ms[change_ms >= 0])
        announced[at] = sum(turn.state.change is not None for turn in watcher.turns)
    return places, announced


def _count(flags: Flags) -> int:
    return int(np.count_nonzero(flags))
