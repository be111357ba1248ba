"""Why a worker waits: what readiness says of it."""

from __future__ import annotations

import time
from collections.abc import Callable


class Waits:
    """Reasons to wait, by what is waited for. One that is not repeated lapses: who waited may have been stopped."""

    def __init__(self, lapse_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lapse_seconds = lapse_seconds
        self._clock = clock
        self._reasons: dict[str, tuple[str, float]] = {}

    def begin(self, what: str, reason: str) -> bool:
        """Wait, or go on waiting; True if it was not known."""
        new = what not in self._reasons
        self._reasons[what] = reason, self._clock()
        return new

    def end(self, what: str) -> bool:
        """Wait no longer; True if it was known."""
        return self._reasons.pop(what, None) is not None

    def lapse(self) -> list[str]:
        """Forget what has not been repeated lately; tell what."""
        oldest = self._clock() - self._lapse_seconds
        gone = [what for what, (_, said) in self._reasons.items() if said < oldest]
        for what in gone:
            del self._reasons[what]
        return gone

    def __str__(self) -> str:
        return "; ".join(reason for reason, _ in self._reasons.values())
