"""How far a restore has come: for the log, for readiness, and for whoever waits for it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

_TELL_SECONDS: Final = 2.0


@dataclass(slots=True)
class Progress:
    """A read of the changelog from offset `start` up to, not including, `end`."""

    start: int
    end: int
    at: int = -1
    """Offset up to which all has been applied."""
    rows: int = 0
    """Records read; what compaction has taken away does not count."""
    began: float = field(default_factory=lambda: time.monotonic())
    _told: float = field(default_factory=lambda: time.monotonic())

    def moved(self, at: int, rows: int) -> None:
        """Note that so many more records have been applied, up to an offset."""
        self.at = at
        self.rows += rows

    def is_time(self) -> bool:
        """Whether it should be told again: every two seconds, but not of a restore that is shorter."""
        now = time.monotonic()
        if now - self._told < _TELL_SECONDS:
            return False
        self._told = now
        return True

    def facts(self) -> dict[str, float]:
        """Rows, rows per second, percent of the offsets, and seconds left at this speed."""
        seconds = max(time.monotonic() - self.began, 1e-3)
        done, whole = max(self.at - self.start, 0), max(self.end - self.start, 1)
        left = seconds * (whole - done) / done if done else 0.0
        return {
            "rows": self.rows,
            "rows_per_s": round(self.rows / seconds),
            "percent": round(100 * done / whole, 1),
            "seconds_left": round(left, 1),
        }
