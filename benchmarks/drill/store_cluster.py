"""The Redis of a round whose state lies in a Redis Cluster of three masters."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path

from drill.names import PARTITIONS
from moodstream.state.layout import Layout
from support import clusters
from support.clusters import Cluster, slot_of

_KEYS_AT_ONCE = 5


class ClusterStore:
    """The nodes tell their own addresses, so no proxy stands before them."""

    def __init__(self, folder: Path) -> None:
        self.moved = 0
        """Keys that went to another node."""
        self._folder = folder
        self._stack = ExitStack()
        self._cluster: Cluster | None = None

    @property
    def url(self) -> str:
        """The address for everybody."""
        return self._running.url

    direct = url

    async def start(self) -> None:
        """Start three masters."""
        self._cluster = self._stack.enter_context(clusters.cluster(self._folder / "cluster"))

    async def stop(self) -> None:
        """End them."""
        self._stack.close()

    async def move_slots(self, prefix: str, seconds: float) -> None:
        """Move the slot of each partition to the next node and on, a few keys at a time, for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for partition in range(PARTITIONS):
                await asyncio.to_thread(self._move, slot_of(Layout(prefix, partition).meta))
        if not self.moved:
            raise RuntimeError("no key has moved")

    def _move(self, slot: int) -> None:
        nodes = self._running.nodes
        to = nodes[(nodes.index(self._running.owner(slot)) + 1) % len(nodes)]
        self.moved += self._running.move(slot, to, keys=_KEYS_AT_ONCE)
        self._running.settle()

    @property
    def _running(self) -> Cluster:
        if self._cluster is None:
            raise RuntimeError("the cluster has not been started")
        return self._cluster
