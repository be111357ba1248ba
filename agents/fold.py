"""Fold the events of one agent into its rows, in log order. Pure: rows and events in, changed rows and counts out."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from moodstream.affect.appraisal import appraise
from moodstream.affect.mood import Revision, Shift, Signal, newest_mood, octant, rebase, shift
from moodstream.affect.signals import turn_key, values_of
from moodstream.affect.trends import observe, report_of
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.covered import covered, moves_no_mood
from moodstream.agents.erasing import Erasing
from moodstream.agents.past import Past
from moodstream.schemas.base import Embedding
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.events import Engagement, InputEvent, Outcome
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_us
from moodstream.schemas.memory import attributes_of, text_of_memory
from moodstream.schemas.profile import AgentProfile
from moodstream.schemas.rebuild import Rebuild
from moodstream.state.profile_row import Profile
from moodstream.state.rows import (
    AGENT,
    MOOD,
    PROFILE,
    TRENDS,
    Kind,
    MemoryContent,
    memory_key,
    pack_memory,
    pack_row,
    pack_shifted,
    pair_suffix,
    shift_key,
)

_US_PER_MS = 1000
_CONTROLS = (Erase, Expire, Rebuild)
_MOOD_DOMAIN = "mood"


class Entry(NamedTuple):
    """One event of a chunk: its place in the log, the event, H(event_id), its time in microseconds."""

    offset: int
    event: InputEvent
    ident: bytes
    us: int

    @classmethod
    def of(cls, offset: int, event: InputEvent) -> Entry:
        """Derive what the fold needs more than once."""
        return cls(offset, event, hash_id(event.event_id), to_us(event.occurred_at))


@dataclass(slots=True)
class Changes:
    """What a chunk did to one agent."""

    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    """Memory and shift rows by row key, None for a deleted one; the others are packed at the end of the chunk."""
    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    erased: int = 0
    octants: list[str] = field(default_factory=list)
    """Octants passed on the way, without repeats in a row."""
    profiled: bool = False
    """Whether there is a new profile, or none any more."""
    mood_erased: bool = False
    """Whether an erasure changed the mood, or took what was told as its cause."""


def fold_events(agent: AgentRows, entries: Sequence[Entry], known: Mapping[bytes, bytes | None]) -> Changes:
    """Fold events, in log order. `known`: what events accepted before this chunk say (`content_of`), by H(event_id).

    It is None of one that was erased by its id. An agent of which something is erased here has its `past`.
    Whatever a fold raises goes through; the rows are then no longer what the log says (`AgentRows.load` them again).
    """
    folding = Folding(known, agent.past)
    for entry in entries:
        folding.fold(agent, entry)
    return folding.changes


class Folding:
    """What a chunk has done to one agent so far, event by event; `known` and `past` as for `fold_events`."""

    def __init__(self, known: Mapping[bytes, bytes | None], past: Past | None = None) -> None:
        self.changes = Changes()
        self._accepted = dict(known)
        self._kept = False
        """Whether the rows of the agent have been kept as they are stored, for an erasure."""
        self._past = None if past is None else past.copy()

    def fold(self, agent: AgentRows, entry: Entry) -> None:
        """Fold the next event. After one that raises, this and the rows are of no use any more."""
        event = entry.event
        if isinstance(event, _CONTROLS):
            self._control(agent, entry, event)
        elif agent.markers.marks and covered(agent.markers, event, entry.offset):
            self.changes.erased += 1
        elif isinstance(event, AgentProfile):
            _fold_profile(agent, entry, event, self.changes)
        else:
            _fold_event(agent, entry, self.changes, self._accepted)

    def _control(self, agent: AgentRows, entry: Entry, event: Erase | Expire | Rebuild) -> None:
        if isinstance(event, Rebuild):
            self.changes.accepted += 1  # the rows have been made before the chunk was folded: it changes none
        else:
            self._erase(agent, entry, event)

    def _erase(self, agent: AgentRows, entry: Entry, event: Erase | Expire) -> None:
        changes = self.changes
        if entry.ident in agent.markers.ids:
            changes.duplicate += 1
            return
        if not self._kept:
            agent.keep_rows()
            self._kept = True
        past = self._past = self._past or Past()
        if not (isinstance(event, Erase) and event.scope == "memory"):  # that one knows where to look
            past.note(changes.rows)
        erasing = Erasing(agent, entry.offset, changes.rows, self._accepted, past)
        if isinstance(event, Erase):
            erasing.erase(event)
            _tell(event, changes)
        else:
            erasing.expire(event)
        erasing.settle(entry.ident)
        changes.mood_erased |= agent.touched.get(MOOD) == entry.offset
        changes.accepted += 1
        if agent.facts.accepted:
            agent.facts.accepted += 1
            agent.touched[AGENT] = entry.offset


def _tell(event: Erase, changes: Changes) -> None:
    """Note what subscribers must hear of."""
    if event.scope == "agent":
        changes.octants.clear()
        changes.profiled = True
    elif event.domain == "mood":
        changes.octants.clear()


def _fold_profile(agent: AgentRows, entry: Entry, event: AgentProfile, changes: Changes) -> None:
    if agent.profile.knows(entry.ident):
        changes.duplicate += 1
        return
    values = event.values
    old, new = agent.profile.dynamics, Profile(values).dynamics
    had_base, ms = agent.mood.base is not None, entry.us // _US_PER_MS
    moved, shifts = rebase(agent.mood, ms, old, new)
    _put_shifts(agent, entry, shifts, changes)
    if had_base or shifts:
        agent.touched[MOOD] = entry.offset
    agent.profile.change(entry.ident, values, Revision(moved.t, moved.x, new))
    agent.touched[PROFILE] = entry.offset
    changes.profiled = True
    _accept(agent, entry.offset, ms, changes)


def _fold_event(agent: AgentRows, entry: Entry, changes: Changes, accepted: dict[bytes, bytes | None]) -> None:
    said = memory_content(entry).encode()
    ident = entry.ident
    if ident in accepted:
        _count_known(said, accepted[ident], changes)
        return
    accepted[ident] = said
    event, ms, profile = entry.event, entry.us // _US_PER_MS, agent.profile
    delta = appraise(event, profile.values.rules, profile.values.gains)
    if delta is not None and agent.markers.marks and moves_no_mood(agent.markers, entry.offset, ms):
        delta = None
    shifted = b"" if delta is None else pack_shifted(delta, profile.in_force)
    key = memory_key(agent.key, entry.us, ident)
    changes.rows[key] = pack_memory(entry.offset, said, shifted, agent.fold.stamp)
    if delta is not None:
        _move(agent, entry, Signal(ms, ident, delta), text_of_memory(event), changes)  # type: ignore[arg-type]
    _observe(agent, entry, ms)
    _accept(agent, entry.offset, ms, changes)


def _count_known(said: bytes, before: bytes | None, changes: Changes) -> None:
    if before is None:
        changes.erased += 1
        return
    changes.duplicate += 1
    changes.conflict += said != before


def _move(agent: AgentRows, entry: Entry, signal: Signal, cause: str, changes: Changes) -> None:
    dynamics = agent.profile.dynamics
    shifts = shift(agent.mood, signal, dynamics, cause)
    if shifts:
        _put_shifts(agent, entry, shifts, changes)
    agent.touched[MOOD] = entry.offset
    now, passed = octant(newest_mood(agent.mood, dynamics)), changes.octants
    if not passed or passed[-1] != now:
        passed.append(now)


def _put_shifts(agent: AgentRows, entry: Entry, shifts: Sequence[Shift], changes: Changes) -> None:
    for one in shifts:
        if agent.markers.marks and agent.markers.expired(_MOOD_DOMAIN, one.t):
            continue
        key = shift_key(agent.key, one.t * _US_PER_MS, one.id)
        changes.rows[key] = pack_row(Kind.SHIFT, entry.offset, one.pack(), agent.fold.stamp)


def _observe(agent: AgentRows, entry: Entry, ms: int) -> None:
    event = entry.event
    if isinstance(event, Engagement):
        values = values_of(event, agent.profile.values.rules)
        report = report_of(turn_key(event.other_agent_id, event.turn_id), entry.ident, ms, values)
        pair = pair_suffix(event.other_agent_id)
        if report is not None:
            agent.trends[TRENDS].enter(report)
            agent.trends[pair].enter(report)
        agent.touched[TRENDS] = agent.touched[pair] = entry.offset
    elif isinstance(event, Outcome):
        values = values_of(event, agent.profile.values.rules)
        if values[-1] is not None:
            observe(agent.trends[TRENDS], turn_key("", event.event_id), entry.ident, ms, values)
            agent.touched[TRENDS] = entry.offset


def _accept(agent: AgentRows, offset: int, ms: int, changes: Changes) -> None:
    facts = agent.facts
    if not facts.accepted:
        facts.first = offset
    facts.accepted += 1
    if ms > facts.newest:
        facts.newest = ms
    agent.touched[AGENT] = offset
    changes.accepted += 1


def memory_content(entry: Entry) -> MemoryContent:
    """What the memory row of an event says (docs/rows.md, `memory`)."""
    event = entry.event
    fields = event.__dict__
    pad, embedding = fields.get("pad"), fields["embedding"]
    return MemoryContent(
        event.event_id,
        event.type_name,
        entry.us,
        text_of_memory(event),  # type: ignore[arg-type]  # profiles do not come here
        fields["importance"],
        None if pad is None else (pad.pleasure, pad.arousal, pad.dominance),
        attributes_of(event),  # type: ignore[arg-type]
        fields["metadata"],
        fields["case_id"],
        fields["turn_id"],
        None if embedding is None else _packed(embedding),
    )


def _packed(embedding: Embedding) -> tuple[str, bytes]:
    numbers = array("f", embedding.values)
    numbers.byteswap()
    return embedding.model, numbers.tobytes()
