"""What a round is played on: its servers, its processes and its names; one fault at a time per server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from drill.brokers import Kafka
from drill.crew import Crew
from drill.names import Names
from drill.store import Store
from drill.store_cluster import ClusterStore


@dataclass
class Stage:
    """Everything that a fault can reach."""

    kafka: Kafka
    any_store: Store | ClusterStore
    crew: Crew
    names: Names
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The one Redis of a round that has no cluster."""
        assert isinstance(self.any_store, Store)  # noqa: S101 - the plan knows
        return self.any_store

    @property
    def cluster(self) -> ClusterStore:
        """The cluster of a round that has one."""
        assert isinstance(self.any_store, ClusterStore)  # noqa: S101 - as above
        return self.any_store

    def lock(self, target: str) -> asyncio.Lock:
        """The lock of one server: two faults of the same one take turns, those of others overlap."""
        return self.locks.setdefault(target, asyncio.Lock())
