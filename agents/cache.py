"""Decoded rows of the agents of one partition that were busy lately, bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from moodstream.agents.agent_rows import AgentRows


class RowCache:
    """Least recently used agents go first. What a chunk in hand uses is held by the chunk itself."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._agents: OrderedDict[bytes, tuple[AgentRows, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: bytes) -> AgentRows | None:
        """Rows of an agent, if they are held."""
        held = self._agents.get(key)
        return None if held is None else held[0]

    def put(self, agents: Iterable[AgentRows]) -> None:
        """Hold these agents as the most recent ones; let go of the oldest beyond the limit."""
        for agent in agents:
            _, before = self._agents.pop(agent.key, (None, 0))
            weight = agent.weight
            self._agents[agent.key] = agent, weight
            self._bytes += weight - before
        while self._bytes > self._limit and self._agents:
            _, (_, weight) = self._agents.popitem(last=False)
            self._bytes -= weight

    def drop(self, keys: Iterable[bytes]) -> None:
        """Let go of these agents: their rows have changed elsewhere."""
        for key in keys:
            _, weight = self._agents.pop(key, (None, 0))
            self._bytes -= weight

    def __len__(self) -> int:
        return len(self._agents)
