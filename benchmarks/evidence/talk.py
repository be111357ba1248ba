"""A chat log as events by agent, and the rows that the fold of a worker makes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.fold import Entry, Folding
from moodstream.cli.chat_events import Talk, plan, to_events
from moodstream.cli.chatlog import read_messages
from moodstream.schemas.events import Engagement, InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.state.rows import TRENDS, pair_suffix

TENANT = "evidence"


class Chat(NamedTuple):
    """A log: its events by agent, in order of time, and how many messages they are made of."""

    messages: int
    events: dict[str, list[InputEvent]]


@lru_cache(maxsize=1)
def chat(path: Path, limit: int | None) -> Chat:
    """Read a chat log once in each process. `BadFile` for one that is none."""
    numbered = read_messages(path, limit)
    talk = Talk.of(numbered)
    events: dict[str, list[InputEvent]] = defaultdict(list)
    for event in to_events(talk, plan(talk), TENANT):
        events[event.agent_id].append(event)
    return Chat(len(numbered), dict(events))


class Life:
    """One agent whose events are folded one by one, as a worker folds them: duplicates are known by their id."""

    def __init__(self, name: str) -> None:
        self.rows = AgentRows(agent_key(TENANT, name), STANDARD)
        self.rows.add({TRENDS: None})
        self._folding = Folding({})
        self._offset = 0

    def fold(self, event: InputEvent) -> None:
        """Fold the next event."""
        if isinstance(event, Engagement):
            suffix = pair_suffix(event.other_agent_id)
            if suffix not in self.rows.trends:
                self.rows.add({suffix: None})
        self._folding.fold(self.rows, Entry.of(self._offset, event))
        self._offset += 1


def lived(name: str, events: Iterable[InputEvent]) -> AgentRows:
    """Return an agent's rows after all of its events."""
    life = Life(name)
    for event in events:
        life.fold(event)
    return life.rows
