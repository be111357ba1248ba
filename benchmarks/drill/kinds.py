"""Every kind of fault: its name, what it hurts, and for how long."""

from __future__ import annotations

from typing import NamedTuple

SESSION_SECONDS = 4.0
"""Silence after which a worker of the drill counts as dead."""


class Kind(NamedTuple):
    """A kind of fault. One that lasts from `least` to `most` seconds; what it does is said in docs/drills.md."""

    name: str
    target: str
    least: float
    most: float


ORDINARY = (
    Kind("worker-kill", "worker", 0.1, 1.5),
    Kind("worker-term", "worker", 0.1, 1.0),
    Kind("worker-zombie", "worker", SESSION_SECONDS + 1, SESSION_SECONDS + 2.5),
    Kind("worker-joins", "worker", 2.0, 4.0),
    Kind("kafka-kill", "kafka", 0.1, 1.5),
    Kind("kafka-freeze", "kafka", 1.5, 4.0),
    Kind("redis-kill", "redis", 0.1, 1.5),
    Kind("redis-empty", "redis", 0.1, 1.5),
    Kind("redis-freeze", "redis", 1.5, 4.0),
    Kind("redis-full", "redis", 1.5, 4.0),
    Kind("redis-failover", "redis", 0.8, 1.2),
    Kind("redis-cut", "network", 0.1, 2.0),
    Kind("redis-delay", "network", 2.0, 4.0),
    Kind("redis-tear", "network", 1.0, 3.0),
    Kind("kafka-cut", "network", 0.1, 2.0),
    Kind("kafka-delay", "network", 2.0, 4.0),
    Kind("kafka-tear", "network", 1.0, 3.0),
)
"""What is drawn in a round with one broker and one Redis."""

BROKER_GONE = Kind("broker-gone", "kafka", 2.0, 4.0)
"""One broker of three, in one round of ten."""

SLOTS_MOVED = Kind("slots-moved", "redis", 1.0, 2.0)
"""A Redis Cluster of three, in one round of ten: slots move to another node while workers use them."""

KINDS = {kind.name: kind for kind in (*ORDINARY, BROKER_GONE, SLOTS_MOVED)}
"""All kinds by name."""
