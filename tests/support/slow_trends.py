"""A slow, obvious twin of the trend fold: it forgets nothing, and works everything out when it is asked."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

SIGNALS = 7


class Report(NamedTuple):
    """What one event says of one turn: time in ms, key of the turn, id of the event, a value or None per signal."""

    t: int
    key: bytes
    event: bytes
    values: Sequence[float | None]


@dataclass
class SlowTrends:
    """All reports that ever came, in the order in which they came."""

    most_kept: int = 64
    reports: list[Report] = field(default_factory=list)

    def standing(self, signal: int) -> list[tuple[int, bytes, bytes, float]]:
        """The observations of a signal: per turn the newest report that knows it, of these the newest."""
        best: dict[bytes, tuple[int, bytes, bytes, float]] = {}
        for t, key, event, values in self.reports:
            value = values[signal]
            if value is not None and (key not in best or (t, event) > (best[key][0], best[key][2])):
                best[key] = (t, key, event, value)
        return sorted(best.values())[-self.most_kept :]

    def pack(self) -> bytes:
        """The row's bytes."""
        values: dict[tuple[int, bytes, bytes], dict[int, float]] = {}
        for signal in range(SIGNALS):
            for t, key, event, value in self.standing(signal):
                values.setdefault((t, key, event), {})[signal] = value
        out = len(values).to_bytes(2, "big")
        for (t, key, event), known in sorted(values.items()):
            out += t.to_bytes(6, "big") + key + event + bytes([sum(1 << signal for signal in known)])
            out += b"".join(struct.pack(">f", known[signal]) for signal in sorted(known))
        return out
