"""What a round is played on: its servers, its processes and its names; one fault at a time per server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from drill.brokers import Kafka
from drill.crew import Crew
from drill.names import Names
from drill.store import Store


@dataclass
class Stage:
    """Everything that a fault can reach."""

    kafka: Kafka
    store: Store
    crew: Crew
    names: Names
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    def lock(self, target: str) -> asyncio.Lock:
        """The lock of one server: two faults of the same one take turns, those of others overlap."""
        return self.locks.setdefault(target, asyncio.Lock())
