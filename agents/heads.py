"""Agents that are to be folded again: what their row `agent` says of how much there is to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import Final, NamedTuple

from moodstream.state.rows import HEADER
from moodstream.state.views import AgentFacts

BATCH_EVENTS: Final = 200_000
"""Events that are folded in one read of the log: all their rows are in memory until they are written."""
_UNKNOWN_EVENTS: Final = 1_000
"""What an agent counts for whose row `agent` cannot be read."""


class Head(NamedTuple):
    """An agent, its row `agent` as it is stored, and what that says."""

    key: bytes
    row: bytes
    first: int | None
    """Offset of its first event; None: it cannot be read."""
    events: int

    @classmethod
    def of(cls, key: bytes, row: bytes | None) -> Head:
        """Read the row `agent`, which may be missing or damaged."""
        try:
            facts = AgentFacts.unpack((row or b"")[HEADER.size :])
        except PackingError:
            return cls(key, row or b"", None, _UNKNOWN_EVENTS)
        return cls(key, row or b"", facts.first_offset, facts.accepted)

    def covered(self, start: int) -> bool:
        """Whether a log from `start` on has its first event; where that is not known, whether it has everything."""
        return start == 0 if self.first is None else self.first >= start


def batches(heads: Sequence[Head], events: int = BATCH_EVENTS) -> Iterator[list[Head]]:
    """Agents in groups of so many events, those that began together in one: so a read of the log begins late."""
    batch: list[Head] = []
    left = events
    for head in sorted(heads, key=lambda one: (-1 if one.first is None else one.first, one.key)):
        if batch and head.events > left:
            yield batch
            batch, left = [], events
        batch.append(head)
        left -= head.events
    if batch:
        yield batch
