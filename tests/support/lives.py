"""Lives of agents for tests of readers: events are folded one by one and written as a worker would write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from moodstream.affect.dynamics import signal_delta
from moodstream.affect.mood import MoodRow, Revision, Shift, Signal, rebase, shift
from moodstream.affect.trends import TrendRow, observe
from moodstream.schemas.identity import hash_id
from moodstream.schemas.profile import DEFAULT_PROFILE, ProfileValues
from moodstream.state.profile_row import Profile
from moodstream.state.rows import MOOD, PROFILE, TRENDS, MemoryRow, pair_suffix
from support.stored import Stored, memory_row

HOUR_MS = 3_600_000


@dataclass
class Life:
    """One agent. Times are in ms; the offset of an event is its place in this life."""

    stored: Stored
    tenant: str
    agent: str
    row: MoodRow = field(default_factory=MoodRow)
    profile: Profile = field(default_factory=lambda: Profile(DEFAULT_PROFILE))
    trends: dict[bytes, TrendRow] = field(default_factory=dict)
    memories: dict[bytes, MemoryRow] = field(default_factory=dict)
    offset: int = -1
    newest: int = 0

    def event(self, event_id: str, ms: int, delta: tuple[float, float, float] | None = None, **more: Any) -> None:
        """Accept an event that moves the mood by `delta`, if at all."""
        self._next(ms)
        values = self.profile.values
        delta = delta and signal_delta(delta)
        shifted = delta and (*delta, *values.baseline, *values.tau_hours, *values.max_displacement)
        memory = memory_row(event_id, more.pop("us", ms * 1000), shift=shifted, **more)
        self.memories[hash_id(event_id)] = memory
        self.stored.memory(self.tenant, self.agent, memory, self.offset)
        if delta is not None:
            signal = Signal(ms, hash_id(event_id), delta)
            self._put(shift(self.row, signal, self.profile.dynamics, memory.content.text))

    def change(self, ms: int, **values: Any) -> None:
        """Change the profile."""
        self._next(ms)
        new = Profile(ProfileValues(**values))
        moved, shifts = rebase(self.row, ms, self.profile.dynamics, new.dynamics)
        self._put(shifts)
        self.profile.change(hash_id(f"profile {ms}"), new.values, Revision(moved.t, moved.x, new.dynamics))

    def report(self, ms: int, other: str, turn: str, *values: float | None) -> None:
        """Observe an engagement, transformed values in the order of the bits."""
        self._next(ms)
        padded = (*values, *[None] * (7 - len(values)))
        for suffix in (TRENDS, pair_suffix(other)):
            row = self.trends.setdefault(suffix, TrendRow())
            observe(row, hash_id(f"{other}\0{turn}"), hash_id(f"report {ms}"), ms, padded)

    def write(self) -> None:
        """Write the small rows: readers see them from now on."""
        put = self.stored.put
        if not self.row.empty:
            put(self.tenant, self.agent, MOOD, self.row.pack(), self.offset)
        if self.profile.revisions:
            put(self.tenant, self.agent, PROFILE, self.profile.pack(), self.offset)
        for suffix, row in self.trends.items():
            put(self.tenant, self.agent, suffix, row.pack(), self.offset)
        self.stored.agent(self.tenant, self.agent, self.offset, self.offset + 1, self.newest)

    def _next(self, ms: int) -> None:
        self.offset += 1
        self.newest = max(self.newest, ms)

    def _put(self, shifts: list[Shift]) -> None:
        for one in shifts:
            self.stored.shift(self.tenant, self.agent, self.memories[one.id], one.pack(), self.offset)
