"""The trend fold: keep every report, and find the standing ones when the row is written."""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from moodstream.schemas.events import Engagement

MOST_OBSERVATIONS = 64
SIGNALS = 7
OUTCOME = 6
"""Number of the signal "outcome success"."""
TRANSFORMS: tuple[Callable[[float], float], ...] = (
    float,
    lambda ms: math.log(max(ms, 1)),
    math.log1p,
    float,
    math.log1p,
    float,
)
"""From what an event says to what a row keeps, for the six signals of an engagement event."""

Values = dict[int, float]
"""Transformed value by signal number (docs/rows.md); signals that a report does not know are absent."""


class Report(NamedTuple):
    """What one event says of one turn: time in ms, key of the turn, H(event_id), values."""

    t: int
    key: bytes
    event: bytes
    values: Values
    other: str | None = None
    """The other agent; None for an outcome."""


class OracleTrends:
    """One trends or pair row."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def observe(self, report: Report) -> None:
        """Remember a report."""
        self.reports.append(report)

    def keep(self, wanted: Callable[[Report], bool]) -> bool:
        """Forget all other reports, as if they had never been; whether the row's bytes change by that."""
        before = self.pack()
        self.reports = [report for report in self.reports if wanted(report)]
        return self.pack() != before

    @property
    def empty(self) -> bool:
        """Whether no signal of any turn is known."""
        return not any(report.values for report in self.reports)

    def pack(self) -> bytes:
        """The body of the row: every report that still stands for a signal, once, in order of (t, key, event)."""
        standing: dict[tuple[int, bytes, bytes], Values] = defaultdict(dict)
        for signal in range(SIGNALS):
            for report in self._standing(signal):
                standing[report.t, report.key, report.event][signal] = report.values[signal]
        out = struct.pack(">H", len(standing))
        for (t, key, event), values in sorted(standing.items()):
            out += t.to_bytes(6, "big") + key + event + pack_values(values)
        return out

    def _standing(self, signal: int) -> list[Report]:
        """Per turn the report with the greatest (t, event) that has the signal; of these the 64 greatest (t, key)."""
        winners: dict[bytes, Report] = {}
        for report in self.reports:
            if signal in report.values:
                other = winners.get(report.key, report)
                winners[report.key] = max(other, report, key=lambda one: (one.t, one.event))
        return sorted(winners.values(), key=lambda one: (one.t, one.key))[-MOST_OBSERVATIONS:]


def pack_values(values: Values) -> bytes:
    """The mask of signals, then one f32 per set bit, lowest bit first."""
    mask = sum(1 << signal for signal in values)
    return bytes([mask]) + b"".join(struct.pack(">f", values[signal]) for signal in sorted(values))


def engagement_values(event: Engagement) -> Values:
    """The transformed values of the signals that an engagement event knows."""
    raw = [
        event.responded,
        event.response_time_ms,
        event.response_length,
        event.sentiment_shift,
        event.reaction_count,
        event.continued,
    ]
    return {signal: TRANSFORMS[signal](value) for signal, value in enumerate(raw) if value is not None}
