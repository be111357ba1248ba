"""The peers that moodstream's worker is measured beside, and what is assumed of their speed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench import installing

MANY_AGENTS = 1_000_000
"""From here on only those are measured that are made for it."""
OURS_PER_S = 50_000
"""Events/s that our worker hardly exceeds."""
_MANY, _MANY_PER_S = 50_000, 70_000
"""With more agents than that nobody is faster: hardly any event finds the state of its agent in a cache."""


@dataclass(frozen=True)
class Peer:
    """One peer. Its command is asked for when its turn comes, and may have to install something first."""

    name: str
    title: str
    command: Callable[[], Sequence[str]]
    per_s: int
    """Events/s that it hardly exceeds with few agents: the backlog is as large as that takes."""
    env: Mapping[str, str] = field(default_factory=dict)
    jit: bool = False
    """Whether it is slow until its code has been compiled."""
    counts_itself: bool = False
    """Whether it gives out less than one record an event, so that it has to say how far it has come."""
    large: bool = False
    """Whether it is measured with a million agents."""

    def pace(self, agents: int) -> int:
        """Events/s that it hardly exceeds with so many agents."""
        return self.per_s if agents <= _MANY else min(self.per_s, _MANY_PER_S)


def _faust() -> list[str]:
    # `-l warn` would set the root logger to DEBUG, for its spinner.
    return [sys.executable, "-m", "faust", "-A", "peers.stock_faust", "worker", "--without-web", "-l", "info"]


def _quix() -> list[str]:
    return [str(installing.quix()), "-m", "peers.quix_app"]


PEERS = (
    Peer("stock_faust", "stock Faust", _faust, 4_000),
    Peer("quix_streams", "Quix Streams", _quix, 25_000),
    Peer(
        "kafka_streams",
        "Kafka Streams, processor",
        installing.kafka_streams,
        60_000,
        {"MODE": "processor"},
        jit=True,
        large=True,
    ),
    Peer(
        "kafka_streams_aggregate",
        "Kafka Streams, cached aggregate",
        installing.kafka_streams,
        150_000,
        {"MODE": "aggregate"},
        jit=True,
        counts_itself=True,
        large=True,
    ),
)


def chosen(agents: int) -> list[Peer]:
    """The peers that are measured with so many agents."""
    return [peer for peer in PEERS if peer.large or agents < MANY_AGENTS]
