"""From arrays to trend rows, by the code that a worker folds with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evidence.series import Floats
from moodstream.affect.signals import SIGNALS
from moodstream.affect.trends import Report, TrendRow, report_of

WINDOW: Final = 64
_EVENT = bytes(12)

Columns = Mapping[str, Floats]
"""Stored values by signal, a row of the array for each series."""


def row_of(reports: list[Report]) -> TrendRow:
    """Make the row of some reports, all of different turns."""
    row = TrendRow()
    for report in reports:
        row.enter(report)
    return row


def reports_of(times: NDArray[np.int64], values: Floats) -> list[Report]:
    """Make a report for each time; `values` has a column per signal in their order, NaN where it is unknown."""
    known = np.where(np.isnan(values), None, values.astype(object))
    found = []
    for turn, (t, of_turn) in enumerate(zip(times.tolist(), known.tolist(), strict=True)):
        report = report_of(turn.to_bytes(12, "big"), _EVENT, t, of_turn)
        if report is not None:
            found.append(report)
    return found


def table(columns: Columns, at: int) -> Floats:
    """Put the series number `at` of all signals side by side."""
    length = next(iter(columns.values())).shape[1]
    values = np.full((length, len(SIGNALS)), np.nan)
    for signal, series in columns.items():
        values[:, SIGNALS.index(signal)] = series[at]
    return values


def rows_of(times: NDArray[np.int64], columns: Columns) -> list[TrendRow]:
    """Make one row for each series."""
    return [row_of(reports_of(times[at], table(columns, at))) for at in range(len(times))]


def windows(reports: list[Report]) -> Iterator[TrendRow]:
    """Give the row as it is after each report: the newest 64 turns."""
    keys = [data[6:18] for _, data in reports]
    turns = [[report] for report in reports]
    for end in range(1, len(reports) + 1):
        start = max(end - WINDOW, 0)
        yield TrendRow(dict(zip(keys[start:end], turns[start:end], strict=True)))
