"""The rows of one agent in a dict, folded as a worker does it, with or without a restart between two chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.decode import others_of
from moodstream.agents.fold import Entry, fold_events
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.state.rows import HEADER, content_of, pair_suffix, row_key, split_row_key

TENANT, AGENT = "t", "a"
KEY = agent_key(TENANT, AGENT)


class Store:
    """What Redis and the worker's memory hold of one agent, and what was counted: accepted, duplicate, conflict."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.contents: dict[bytes, bytes] = {}
        self.counts = [0, 0, 0]
        self._agent: AgentRows | None = None

    def fold(self, entries: Sequence[Entry]) -> None:
        """Fold one chunk and write its rows."""
        agent = self._loaded(entries)
        known = {entry.ident: self.contents[entry.ident] for entry in entries if entry.ident in self.contents}
        changes = fold_events(agent, entries, known)
        self.rows.update(changes.rows)
        self.rows.update(agent.pack_touched())
        for key, row in changes.rows.items():
            suffix = split_row_key(key)[1]
            if suffix.startswith(b"memory/"):
                self.contents[suffix[-12:]] = content_of(row[HEADER.size :])
        for i, count in enumerate((changes.accepted, changes.duplicate, changes.conflict)):
            self.counts[i] += count

    def restart(self) -> None:
        """Forget what is not written."""
        self._agent = None

    def _loaded(self, entries: Sequence[Entry]) -> AgentRows:
        suffixes = {pair_suffix(other) for other in others_of(entries)}
        if self._agent is None:
            self._agent = AgentRows(KEY, STANDARD)
            suffixes.update(SMALL_ROWS)
        missing = suffixes - self._agent.trends.keys()
        self._agent.add({suffix: self.rows.get(row_key(KEY, suffix)) for suffix in missing})
        return self._agent


def folded(log: Sequence[InputEvent], cuts: Iterable[int] = (), kept: Iterable[int] = ()) -> Store:
    """Fold a log in chunks that end at the cuts; each begins after a restart, unless its cut is among those `kept`."""
    store = Store()
    entries = [Entry.of(offset, event) for offset, event in enumerate(log)]
    bounds = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for start, end in pairwise(bounds):
        store.fold(entries[start:end])
        if end not in set(kept):
            store.restart()
    return store
