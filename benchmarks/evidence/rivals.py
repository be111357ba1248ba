"""The two usual rules: a fixed threshold, on the slope or on the difference of two halves, and CUSUM.

They are what one finds in products and tutorials, with the numbers that stand there: 0.15; k = 0.5 and h = 4 on
z-scores against the running mean and standard deviation (Page 1954, Continuous inspection schemes).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from evidence.rows import WINDOW
from evidence.series import Floats

THRESHOLD: Final = 0.15
ALLOWANCE, DECISION = 0.5, 4.0
WARM_UP: Final = 10
"""Observations before any rule speaks."""

Flags = NDArray[np.bool_]


def slope(y: Floats) -> Floats:
    """Return the least-squares slope per observation of each row."""
    n = y.shape[1]
    i = np.arange(n) - (n - 1) / 2
    return np.asarray(y @ i / (i @ i))


def halves(y: Floats) -> Floats:
    """Return the mean of the newer half minus that of the older, of each row; a middle value belongs to neither."""
    half = y.shape[1] // 2
    return np.asarray(y[:, -half:].mean(axis=1) - y[:, :half].mean(axis=1))


def running(y: Floats, statistic: str) -> Floats:
    """Return slope or difference of halves of the newest 64 values (or all, if fewer) after each value; 0 at first."""
    rule = {"slope": slope, "halves": halves}[statistic]
    found = np.zeros(len(y))
    for n in range(WARM_UP, min(WINDOW, len(y) + 1)):
        found[n - 1] = rule(y[None, :n])[0]
    if len(y) >= WINDOW:
        found[WINDOW - 1 :] = rule(np.lib.stride_tricks.sliding_window_view(y, WINDOW))
    return found


def onsets(flags: Flags) -> int:
    """Count how often a flag is raised that was not up before."""
    return int(flags[0]) + int(np.count_nonzero(flags[1:] & ~flags[:-1]))


def cusum(y: Floats) -> Flags:
    """Return where each row of values raises an alarm; the sums start anew after one."""
    rows, length = y.shape
    mean, squares = np.zeros(rows), np.zeros(rows)
    up, down = np.zeros(rows), np.zeros(rows)
    alarms = np.zeros(y.shape, np.bool_)
    for n in range(length):
        value = y[:, n]
        if n >= WARM_UP:
            deviation = np.sqrt(squares / (n - 1))
            z = np.divide(value - mean, deviation, out=np.zeros(rows), where=deviation > 0.0)
            up, down = np.maximum(up + z - ALLOWANCE, 0.0), np.maximum(down - z - ALLOWANCE, 0.0)
            alarm = (up > DECISION) | (down > DECISION)
            alarms[:, n] = alarm
            up[alarm] = down[alarm] = 0.0
        away = value - mean
        mean = mean + away / (n + 1)
        squares = squares + away * (value - mean)
    return alarms
