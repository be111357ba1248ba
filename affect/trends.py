"""The trend fold (docs/rows.md): per signal and turn the newest report wins, the newest 64 turns stay.

A row is a function of the set of reports: their order, lateness and repetition leave no trace. So `observe` only lets
reports compete; what is beyond the newest 64 turns is dropped when the row is packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from moodstream.affect.signals import SIGNALS, SIGNS, UNKNOWN, Values, sign_of, turn_key, values_of
from moodstream.affect.trend_row import KEY_AT, Report, TrendRow

__all__ = [
    "SIGNALS",
    "SIGNS",
    "UNKNOWN",
    "Report",
    "TrendRow",
    "Values",
    "observe",
    "report_of",
    "sign_of",
    "turn_key",
    "values_of",
]

_FLOATS = [Struct(f">{count}f") for count in range(len(SIGNALS) + 1)]


def observe(row: TrendRow, key: bytes, event: bytes, t: int, values: Sequence[float | None]) -> None:
    """Fold one report into the row, in place: `event` is H(event id), `t` its time in ms, `values` of `values_of`."""
    report = report_of(key, event, t, values)
    if report is not None:
        row.enter(report)


def report_of(key: bytes, event: bytes, t: int, values: Sequence[float | None]) -> Report | None:
    """Make a report, which may enter several rows; None if it knows no signal."""
    mask = 0
    known = []
    for bit, value in enumerate(values):
        if value is not None:
            mask |= 1 << bit
            known.append(value)
    if not mask:
        return None
    head = t.to_bytes(KEY_AT, "big")
    return t, b"%b%b%b%c%b" % (head, key, event, mask, _FLOATS[len(known)].pack(*known))
