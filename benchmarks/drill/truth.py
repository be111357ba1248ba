"""What the log says, told by the oracle: who has accepted what, and the mood after every prefix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from drill.story import END_MS
from moodstream.cli.audit.compare import offset_of
from moodstream.cli.audit.fold import judge_for
from moodstream.cli.audit.sources import Record
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.erasure import Erase
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.schemas.limits import DEFAULT_LIMITS

Triple = tuple[float, float, float]


class Prefix(NamedTuple):
    """An agent after one accepted record: mood and displacement at the time that readers ask for, and its memories."""

    mood: Triple
    displacement: Triple
    memories: frozenset[str]


@dataclass
class Life:
    """What one agent's part of the log comes to."""

    prefixes: dict[int, Prefix] = field(default_factory=dict)
    """By the offset of the accepted record."""
    memories: frozenset[str] = frozenset()
    """Ids of the events that are memories at the end."""
    mood_offset: int = -1
    """Offset of the record that changed the mood row last; -1: there is none."""
    erased: bool = False
    """Whether all of it was erased once: then there may be no row of a mood that was announced."""


@dataclass
class Truth:
    """All agents, and how the records ended."""

    lives: dict[bytes, Life] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, log: Mapping[int, Sequence[Record]], partitions: int) -> Truth:
        """Fold a whole log."""
        truth = cls()
        for partition, records in log.items():
            judge = judge_for(partition, partitions, DEFAULT_LIMITS)
            oracles: dict[bytes, OracleAgent] = {}
            for record in records:
                event = judge(record)
                if event is None:
                    truth.counts["dead"] += 1
                else:
                    truth._fold(oracles, record.offset, event)
            truth._end(oracles)
        return truth

    def _fold(self, oracles: dict[bytes, OracleAgent], offset: int, event: InputEvent) -> None:
        key = agent_key(event.tenant_id, event.agent_id)
        oracle = oracles.setdefault(key, OracleAgent(event.tenant_id, event.agent_id))
        verdict = oracle.apply(offset, event)
        self.counts["duplicate" if verdict == "conflict" else verdict] += 1
        if verdict == "accepted":
            life = self.lives.setdefault(key, Life())
            life.erased |= isinstance(event, Erase) and event.scope == "agent"
            life.memories = frozenset(oracle.remembered())
            life.prefixes[offset] = Prefix(*oracle.mood_at(END_MS), life.memories)

    def _end(self, oracles: Mapping[bytes, OracleAgent]) -> None:
        for key, oracle in oracles.items():
            row = oracle.rows().get(key + b"\0mood")
            if key in self.lives and row is not None:
                self.lives[key].mood_offset = offset_of(row)
