"""An agent whose trends are looked at after every event, as by a worker whose chunks hold one event each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.decode import others_of
from moodstream.agents.fold import Entry, fold_events
from moodstream.agents.notices import Turn, look
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.state.rows import pair_suffix, split_row_key
from support.events import T0_MS, engagement

TENANT, AGENT = "t", "a"
KEY = agent_key(TENANT, AGENT)
HOUR_MS = 3_600_000


@dataclass
class Watched:
    """`turns` is what was announced. The offset of an event is its number."""

    agent: AgentRows = field(default_factory=lambda: AgentRows.load(KEY, dict.fromkeys(SMALL_ROWS), STANDARD))
    rows: dict[bytes, bytes] = field(default_factory=dict)
    """Small rows by suffix, as they were packed last."""
    turns: list[Turn] = field(default_factory=list)
    offset: int = 0

    def see(self, events: Iterable[InputEvent]) -> list[Turn]:
        """Fold events one by one and look after each; give what was announced."""
        return [turn for event in events for turn in self.chunk([event])]

    def chunk(self, events: Sequence[InputEvent]) -> list[Turn]:
        """Fold events together and look once."""
        entries = [Entry.of(self.offset + i, event) for i, event in enumerate(events)]
        self.offset += len(entries)
        self.agent.add({s: None for s in map(pair_suffix, others_of(entries)) if s not in self.agent.trends})
        fold_events(self.agent, entries, {})
        found = look([self.agent])
        packed = self.agent.pack_touched()
        self.rows.update({split_row_key(key)[1]: row for key, row in packed.items()})
        self.turns += found
        return found

    def restart(self) -> None:
        """Go on from the packed rows, as the next worker does."""
        self.agent = AgentRows.load(KEY, {**dict.fromkeys(SMALL_ROWS), **self.rows}, STANDARD)


def replies(signal: str, values: Sequence[Any], start: int = 0, other: str = "u", gap_hours: float = 1.0) -> list[Any]:
    """Reports of one signal, one a turn."""
    return [
        engagement(
            TENANT,
            AGENT,
            f"{other}{start + i}",
            T0_MS + int((start + i) * gap_hours * HOUR_MS),
            other=other,
            turn=f"m{start + i}",
            appraise=False,
            **{signal: value},
        )
        for i, value in enumerate(values)
    ]
