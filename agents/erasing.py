"""What an erasure, or an expiry, does to the rows of one agent (docs/rows.md, `erased`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from moodstream.affect.mood import MoodRow, anew
from moodstream.affect.trends import TrendRow
from moodstream.agents.agent_rows import AgentRows, Facts, is_pair
from moodstream.agents.past import Past, reaches
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_ms
from moodstream.state.marker_row import Markers, Place, ScopeKind
from moodstream.state.profile_row import Profile
from moodstream.state.rows import (
    AGENT,
    ERASED,
    MOOD,
    NOTICE,
    PROFILE,
    TRENDS,
    Kind,
    Stub,
    bucket_of,
    content_us,
    memory_suffix,
    pack_erased,
    pair_suffix,
    row_key,
)

Rows = dict[bytes, bytes | None]
Known = dict[bytes, bytes | None]
"""What is known of events by H(event_id): what their memory says, None for one that was erased by its id."""

_OUTCOME = "outcome_success"


@dataclass(slots=True)
class Erasing:
    """An erasure on its way through one agent. `known` and `past` are those of the chunk so far, and are changed."""

    agent: AgentRows
    offset: int
    rows: Rows
    """Rows of buckets that the chunk has written, by row key; None deletes."""
    known: Known
    past: Past

    def erase(self, event: Erase) -> None:
        """Apply an erasure, and note it."""
        ms = to_ms(event.occurred_at)
        if event.scope == "agent":
            self._mark(Place.of(ScopeKind.AGENT), ms)
            self._all()
        elif event.scope == "memory":
            self._memory(event, ms)
        elif event.scope == "domain":
            self._mark(Place.of(ScopeKind.DOMAIN, event.domain), ms)
            self._domain(event, ms)
        else:
            self._mark(Place.of(ScopeKind.OTHER_AGENT, event.other_agent_id), ms)
            self._other(event, event.other_agent_id or "")

    def expire(self, event: Expire) -> None:
        """Apply an expiry, and note it; also forget what needs no longer be remembered."""
        self._mark(Place.of(ScopeKind.EXPIRE, event.domain), to_ms(event.before))
        self._dated(event)
        if event.markers_before is not None:
            self.agent.markers.forget(to_ms(event.markers_before))

    # -- the scopes

    def _all(self) -> None:
        agent = self.agent
        for suffix in self.past.dated:
            self.rows[row_key(agent.key, suffix)] = None
        self.past.dated.clear()
        self.known.clear()
        self._pairs_go()
        for suffix in (AGENT, MOOD, TRENDS, PROFILE, NOTICE):
            agent.drop(suffix)
        agent.facts, agent.mood, agent.profile, agent.notices = (
            Facts(),
            MoodRow(),
            Profile(agent.fold.default_profile),
            {},
        )

    def _domain(self, event: Erase, ms: int) -> None:
        self._dated(event)
        if event.domain == "mood":
            self._mood_begins_anew(self.agent.markers.marks[Place.of(ScopeKind.DOMAIN, "mood")].ms)
        elif event.domain == "engagement":
            self._pairs_go()
            self._keep_trends(TrendRow.outcomes)
            self._keep_notices(lambda name: name == _OUTCOME)
        elif event.domain == "experience":
            self._keep_trends(TrendRow.engagements)
            self._keep_notices(lambda name: name != _OUTCOME)

    def _other(self, event: Erase, other: str) -> None:
        self._dated(event)
        suffix = pair_suffix(other)
        if self.agent.exists(suffix):
            self.agent.drop(suffix)
            self._keep_trends(self._without_pair)
        told = self.agent.exists(TRENDS)
        self._keep_notices(lambda name: name.partition("/")[2] not in ((other,) if told else ("", other)))

    def _memory(self, event: Erase, ms: int) -> None:
        """Put a stub into the place of the memory; an event that is not known is remembered by its id."""
        ident = hash_id(event.erased_event)
        content = self.known.get(ident, b"")
        if content is None:
            return
        if not content:
            self._mark(Place(ScopeKind.MEMORY, ident), ms)
            return
        us = content_us(content)
        suffix, stub = memory_suffix(bucket_of(us), ident), Stub(us // 1000, ms)
        row = pack_erased(self.offset, stub.encode())
        self.rows[row_key(self.agent.key, suffix)] = row
        self.known[ident] = None
        self._blank_cause({ident})

    # -- the parts

    def _mark(self, place: Place, ms: int) -> None:
        self.agent.markers.add(place, self.offset, ms)

    def _dated(self, event: Erase | Expire) -> None:
        """Take away the rows of buckets that the event reaches, and the text that the mood has from them."""
        gone = [(suffix, row) for suffix, row in self.past.dated.items() if reaches(event, row)]
        for suffix, row in gone:
            self.rows[row_key(self.agent.key, suffix)] = None
            del self.past.dated[suffix]
            if row.kind is not Kind.SHIFT:
                self.known.pop(row.ident, None)
        self._blank_cause({row.ident for _, row in gone if row.kind is Kind.MEMORY})

    def _blank_cause(self, idents: Iterable[bytes]) -> None:
        mood = self.agent.mood
        if mood.cause and mood.newest_id in idents:
            mood.cause = ""
            self.agent.touched[MOOD] = self.offset

    def _mood_begins_anew(self, ms: int) -> None:
        """At rest from `ms` on, also in what profile changes remember of the mood before."""
        agent = self.agent
        if not agent.mood.empty:
            agent.mood = anew(ms)
            agent.touched[MOOD] = self.offset
        if agent.profile.forget_moods():
            agent.touched[PROFILE] = self.offset

    def _pairs_go(self) -> None:
        agent = self.agent
        for suffix in self.past.pairs | {suffix for suffix in agent.trends if is_pair(suffix)}:
            if agent.exists(suffix) or suffix in self.past.pairs:
                agent.drop(suffix)
        self.past.pairs.clear()
        self.past.reports = TrendRow()

    def _without_pair(self, row: TrendRow) -> TrendRow:
        """What the trends would be had the pair (dropped by now) never been: the other pairs hold all that counts."""
        kept = row.outcomes()
        kept.join(self.past.reports)
        for suffix, pair in self.agent.trends.items():
            if is_pair(suffix):
                kept.join(pair)
        return kept

    def _keep_trends(self, kept: Callable[[TrendRow], TrendRow]) -> None:
        agent = self.agent
        if not agent.exists(TRENDS):
            return
        before = agent.trends[TRENDS].pack()
        after = agent.trends[TRENDS] = kept(agent.trends[TRENDS])
        if after.empty:
            agent.drop(TRENDS)
        elif after.pack() != before:
            agent.touched[TRENDS] = self.offset

    def _keep_notices(self, wanted: Callable[[str], bool]) -> None:
        agent = self.agent
        kept = {name: state for name, state in agent.notices.items() if wanted(name)}
        if len(kept) == len(agent.notices):
            return
        agent.notices = kept
        if kept:
            agent.touched[NOTICE] = self.offset
        else:
            agent.drop(NOTICE)

    def settle(self, ident: bytes) -> None:
        """Note the event's own id, and whether the agent's marker row is to be there at all."""
        agent = self.agent
        agent.markers.know(ident)
        if agent.facts.accepted or agent.markers.erasing:
            agent.touched[ERASED] = self.offset
        else:
            agent.markers = Markers()
            agent.drop(ERASED)
