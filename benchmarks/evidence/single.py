"""One look at a series without any trend, and at one with a drift: how often is a direction or a step seen?"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from evidence import rivals
from evidence.jobs import rng_of
from evidence.rows import rows_of
from evidence.series import DATA, WORLDS, Floats, times_ms
from moodstream.affect.bulk import Looks, look_all
from moodstream.affect.signals import SIGNALS
from moodstream.affect.statistics import DECLINING, IMPROVING, LABEL_P, NOTICE_IN, summary
from moodstream.affect.trends import TrendRow

LENGTHS: Final = (10, 20, 50, 64)
DRIFTS: Final = (1.0, 2.0, 3.0)
"""Total change over the window, in standard deviations."""
GAP_HOURS: Final = 2.0
_CHECKED: Final = 3

Counts = dict[str, int]


def false_looks(seed: int, world: int, n: int, series: int, part: int) -> dict[str, Counts]:
    """Look once at `series` rows of one world with n turns each; counts by kind of data."""
    rng = rng_of(seed, "single", world, n, part)
    named = WORLDS[world]
    raw = {signal: DATA[kind].draw(rng, (series, n)) for signal, kind in named.items()}
    stored = {signal: DATA[named[signal]].stored(values) for signal, values in raw.items()}
    rows = rows_of(times_ms(rng, (series, n), GAP_HOURS), stored)
    looks = looks_at(rows)
    return {
        kind: {
            "looks": series,
            **ours(looks, signal),
            **theirs(raw[signal] * DATA[kind].scale),
        }
        for signal, kind in named.items()
    }


def drifting(seed: int, n: int, series: int, drift: float) -> Counts:
    """Look once at normal values whose mean rises evenly by `drift` standard deviations over the window."""
    rng = rng_of(seed, "drift", n, drift)
    values = rng.standard_normal((series, n)) + np.linspace(0.0, drift, n)
    looks = looks_at(rows_of(times_ms(rng, (series, n), GAP_HOURS), {"sentiment_shift": values}))
    right = looks.slope[:, SIGNALS.index("sentiment_shift")] > 0.0
    return {"looks": series, **ours(looks, "sentiment_shift", right), **theirs(values, sign=1.0)}


def looks_at(rows: list[TrendRow]) -> Looks:
    """Look at all rows at once as a worker does; a few are looked at as the service does, which must say the same.

    Raises RuntimeError where the two differ: then none of the numbers would mean anything.
    """
    looks = look_all(rows)
    for at in range(0, len(rows), max(len(rows) // _CHECKED, 1)):
        check(rows[at], looks, at)
    return looks


def check(row: TrendRow, looks: Looks, at: int) -> None:
    """Compare the label and the step that the service reports of a row with what the numbers here are made of."""
    for bit, signal in enumerate(SIGNALS):
        found = summary(row, signal, 0)
        label = found.direction in (IMPROVING, DECLINING)
        step = -1 if found.change_at_ms is None else found.change_at_ms
        if (label, step) != (bool(looks.p[at, bit] < LABEL_P), int(looks.change_ms[at, bit])):
            raise RuntimeError(f"summary and bulk look differ in {signal}: {found}")


def ours(looks: Looks, signal: str, counted: NDArray[np.bool_] | bool = True) -> Counts:
    """Count labels, notices and steps of one signal among the looks that are `counted`."""
    bit = SIGNALS.index(signal)
    p, step = looks.p[:, bit], looks.change_ms[:, bit] >= 0
    return {
        "direction": int(np.count_nonzero((p < LABEL_P) & counted)),
        "notice": int(np.count_nonzero((p < NOTICE_IN) & counted)),
        "step": int(np.count_nonzero(step)),
    }


def theirs(y: Floats, sign: float | None = None) -> Counts:
    """Count what the usual rules say of each row; with `sign` only where they see that direction."""
    found = {"slope": rivals.slope(y), "halves": rivals.halves(y)}
    seen = {name: abs(value) if sign is None else value * sign for name, value in found.items()}
    alarms = rivals.cusum(y).any(axis=1)
    return {
        **{name: int(np.count_nonzero(value > rivals.THRESHOLD)) for name, value in seen.items()},
        "cusum": int(np.count_nonzero(alarms)),
    }
