"""One agent's log, folded record by record, and the rows that it leads to."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Literal

from moodstream.cli.oracle.appraisal import delta_of, succeeded
from moodstream.cli.oracle.dynamics import AXES, Triple, triple
from moodstream.cli.oracle.erasure import DOMAIN, MOST_IDS, OracleMarkers, erased_id, key_of, takes, takes_shift
from moodstream.cli.oracle.layout import (
    Kind,
    agent_key,
    dated_suffix,
    hash_id,
    marker_key,
    row_key,
    write_erased,
    write_row,
)
from moodstream.cli.oracle.memory import body_of, content_of
from moodstream.cli.oracle.mood import OracleMood, ShiftRow, Signal
from moodstream.cli.oracle.profile import STANDARD, OracleFold, OracleProfile, dynamics_of
from moodstream.cli.oracle.trends import OUTCOME, OracleTrends, Report, engagement_values
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.events import DomainEvent, Engagement, InputEvent, MoodSignal, Outcome
from moodstream.schemas.instants import to_ms
from moodstream.schemas.profile import AgentProfile
from moodstream.schemas.rebuild import Rebuild

Verdict = Literal["accepted", "duplicate", "conflict", "erased"]
UNNAMED_CAUSE = "interaction appraisal"


class OracleAgent:
    """The rows of one agent, as docs/rows.md defines them, made the slow and obvious way.

    Give it the agent's records in offset order, each once; `rows` can be asked in between.
    """

    def __init__(self, tenant: str, agent: str, fold: OracleFold = STANDARD) -> None:
        self.tenant, self.agent, self._fold = tenant, agent, fold
        self.key = agent_key(tenant, agent)
        self._stamp = fold.stamp
        self._first: int | None = None
        self._accepted = 0
        self._newest = 0
        self._contents: dict[bytes, bytes] = {}
        self._memories: dict[bytes, DomainEvent | MoodSignal] = {}
        """Events that are remembered, by H(event_id)."""
        self._stubs: dict[bytes, int] = {}
        """Events that were erased by their id, and when they had happened (ms)."""
        self._markers = OracleMarkers()
        self._marked: int | None = None
        """Offset of the last change of the marker row; None while there is none."""
        self._mood = OracleMood()
        self._trends = OracleTrends()
        self._pairs: dict[str, OracleTrends] = {}
        self._profile = OracleProfile(fold.default)
        self._offsets: dict[bytes, int] = {}
        """Suffix of a row that is packed when asked for, to the offset of its last change."""
        self._written: dict[bytes, bytes] = {}
        """Memory and shift rows: written once, and perhaps erased."""
        self._shift_times: dict[bytes, int] = {}
        """Suffix of a shift row to its time in ms."""

    def apply(self, offset: int, event: InputEvent) -> Verdict:
        """Fold the record at an offset."""
        if isinstance(event, Rebuild):
            return "accepted"  # rows are what the log says, made anew or not
        ident = hash_id(event.event_id)
        if isinstance(event, Erase | Expire):
            return self._erase(offset, ident, event)
        if self._markers.erased(offset, event):
            return "erased"
        if isinstance(event, AgentProfile):
            if self._profile.knows(ident):
                return "duplicate"
            self._change_profile(offset, ident, event)
        else:
            content = content_of(event)
            if ident in self._stubs:
                return "erased"
            if ident in self._contents:
                return "duplicate" if self._contents[ident] == content else "conflict"
            self._contents[ident] = content
            self._memories[ident] = event
            self._remember(offset, ident, event, content)
        self._count(offset, to_ms(event.occurred_at))
        return "accepted"

    def rows(self) -> dict[bytes, bytes]:
        """Every row by its key, header and all; no notice, for that is no function of the log."""
        rows = {row_key(self.key, suffix): row for suffix, row in self._written.items()}
        for suffix, offset in self._offsets.items():
            kind, body = self._pack(suffix)
            rows[row_key(self.key, suffix)] = write_row(kind, offset, self._stamp, body)
        if self._marked is not None:
            rows[marker_key(self.key)] = write_erased(self._marked, self._markers.pack())
        return rows

    def mood_at(self, t: int) -> tuple[Triple, Triple]:
        """Mood and displacement at a time (ms) that must not lie before any signal or profile change."""
        dynamics = self._profile.dynamics
        x = self._mood.displacement_at(t, dynamics)
        return triple([dynamics.baseline[axis] + x[axis] for axis in AXES]), x

    def remembered(self) -> list[str]:
        """Ids of the events that are memories now; those of which an erasure left a stub are none."""
        return [event.event_id for event in self._memories.values()]

    def _count(self, offset: int, t: int) -> None:
        self._first = offset if self._first is None else self._first
        self._accepted += 1
        self._newest = max(self._newest, t)
        self._offsets[b"agent"] = offset

    # -- erasures

    def _erase(self, offset: int, ident: bytes, event: Erase | Expire) -> Verdict:
        if ident in self._markers.ids[-MOST_IDS:]:
            return "duplicate"
        if not (isinstance(event, Erase) and event.scope == "memory" and self._erase_memory(offset, event)):
            self._markers.erase(
                offset, key_of(event), to_ms(event.before if isinstance(event, Expire) else event.occurred_at)
            )
            self._take(offset, event)
        if isinstance(event, Expire) and event.markers_before is not None:
            self._markers.forget(to_ms(event.markers_before))
        self._markers.ids.append(ident)
        if self._accepted:
            self._accepted += 1
            self._offsets[b"agent"] = offset
        self._marked = offset
        if not self._markers.wanted(self._accepted > 0):
            self._marked, self._markers = None, OracleMarkers()
        return "accepted"

    def _take(self, offset: int, event: Erase | Expire) -> None:
        """Take away what an erasure reaches, but one memory."""
        if isinstance(event, Erase) and event.scope == "agent":
            key, markers = (self.tenant, self.agent, self._fold), self._markers
            self.__init__(*key)  # type: ignore[misc]
            self._markers = markers
            return
        self._take_dated(offset, event)
        if isinstance(event, Expire):
            return
        if event.domain == "mood":
            self._take_mood(offset)
        elif event.domain == "experience":
            self._keep_trends(offset, lambda report: report.other is not None)
        elif event.domain == "engagement":
            self._take_pairs(list(self._pairs))
            self._keep_trends(offset, lambda report: report.other is None)
        elif event.other_agent_id is not None and event.other_agent_id in self._pairs:
            self._take_pairs([event.other_agent_id])
            self._keep_trends(offset, lambda report: report.other != event.other_agent_id)

    def _take_dated(self, offset: int, event: Erase | Expire) -> None:
        for ident, memory in list(self._memories.items()):
            if takes(event, memory):
                del self._memories[ident], self._contents[ident]
                del self._written[dated_suffix(b"memory", to_ms(memory.occurred_at), ident)]
                self._blank_cause(offset, ident)
        for suffix, t in list(self._shift_times.items()):
            if takes_shift(event, t):
                del self._shift_times[suffix], self._written[suffix]
        if isinstance(event, Expire) and event.domain is None:
            for ident, t in list(self._stubs.items()):
                if t < to_ms(event.before):
                    del self._stubs[ident], self._written[dated_suffix(b"memory", t, ident)]

    def _take_mood(self, offset: int) -> None:
        if b"mood" in self._offsets:
            self._mood.begin_anew(self._markers.marks[DOMAIN, hash_id("mood")].ms)
            self._offsets[b"mood"] = offset
        if self._profile.forget_moods():
            self._offsets[b"profile"] = offset

    def _take_pairs(self, others: list[str]) -> None:
        for other in others:
            del self._pairs[other], self._offsets[b"pair/" + other.encode()]

    def _keep_trends(self, offset: int, wanted: Callable[[Report], bool]) -> None:
        if b"trends" not in self._offsets:
            return
        changed = self._trends.keep(wanted)
        if self._trends.empty:
            self._trends = OracleTrends()
            del self._offsets[b"trends"]
        elif changed:
            self._offsets[b"trends"] = offset

    def _erase_memory(self, offset: int, event: Erase) -> bool:
        """Put a stub into the place of one memory; whether its event is known, be it as one that was erased so."""
        ident = hash_id(erased_id(event))
        if ident in self._stubs:
            return True
        memory = self._memories.pop(ident, None)
        if memory is None:
            return False
        del self._contents[ident]
        t = self._stubs[ident] = to_ms(memory.occurred_at)
        body = struct.pack(">qq", t, to_ms(event.occurred_at))
        self._written[dated_suffix(b"memory", t, ident)] = write_erased(offset, body)
        self._blank_cause(offset, ident)
        return True

    def _blank_cause(self, offset: int, ident: bytes) -> None:
        if self._mood.newest[1] == ident and self._mood.cause:
            self._mood.cause = b""
            self._offsets[b"mood"] = offset

    # -- events

    def _change_profile(self, offset: int, ident: bytes, event: AgentProfile) -> None:
        """Rule 4 of the mood, with the old values up to T' and the new ones from there."""
        old = self._profile.dynamics
        new = dynamics_of(event.values)
        then, x, shifts = self._mood.rebase(to_ms(event.occurred_at), old, new)
        self._write_shifts(offset, shifts)
        if self._mood.base is not None:
            self._offsets[b"mood"] = offset
        self._profile.change(ident, event.values, then, x)
        self._offsets[b"profile"] = offset

    def _remember(self, offset: int, ident: bytes, event: DomainEvent | MoodSignal, content: bytes) -> None:
        """Appraise with the profile in force, shift the mood, observe the trends, write the memory row."""
        t = to_ms(event.occurred_at)
        delta = None
        if not self._markers.still(offset, t):
            delta = delta_of(event, self._profile.values)
        body = body_of(content, delta, self._profile.dynamics)
        self._write(Kind.MEMORY, dated_suffix(b"memory", t, ident), offset, body)
        if delta is not None:
            self._shift(offset, Signal(t, ident, delta), cause_of(event))
        if isinstance(event, Engagement):
            self._observe_engagement(offset, ident, event)
        elif isinstance(event, Outcome):
            self._observe_outcome(offset, ident, event)

    def _shift(self, offset: int, signal: Signal, cause: str) -> None:
        self._write_shifts(offset, self._mood.signal(signal, cause, self._profile.dynamics))
        self._offsets[b"mood"] = offset

    def _observe_engagement(self, offset: int, ident: bytes, event: Engagement) -> None:
        other = event.other_agent_id
        turn = hash_id(f"{other}\0{event.turn_id}")
        report = Report(to_ms(event.occurred_at), turn, ident, engagement_values(event), other)
        self._trends.observe(report)
        self._pairs.setdefault(other, OracleTrends()).observe(report)
        self._offsets[b"trends"] = offset
        self._offsets[b"pair/" + other.encode()] = offset

    def _observe_outcome(self, offset: int, ident: bytes, event: Outcome) -> None:
        success = succeeded(event, self._profile.values.rules)
        if success is None:
            return
        turn = hash_id(f"\0{event.event_id}")
        self._trends.observe(Report(to_ms(event.occurred_at), turn, ident, {OUTCOME: 1.0 if success else 0.0}))
        self._offsets[b"trends"] = offset

    def _write_shifts(self, offset: int, shifts: list[ShiftRow]) -> None:
        for shift in shifts:
            if not self._markers.expired("mood", shift.t):
                suffix = dated_suffix(b"shift", shift.t, shift.id)
                self._shift_times[suffix] = shift.t
                self._write(Kind.SHIFT, suffix, offset, shift.body)

    def _write(self, kind: Kind, suffix: bytes, offset: int, body: bytes) -> None:
        self._written[suffix] = write_row(kind, offset, self._stamp, body)

    def _pack(self, suffix: bytes) -> tuple[Kind, bytes]:
        match suffix.partition(b"/"):
            case (b"agent", _, _):
                return Kind.AGENT, struct.pack(">qQq", self._first, self._accepted, self._newest)
            case (b"mood", _, _):
                return Kind.MOOD, self._mood.pack()
            case (b"trends", _, _):
                return Kind.TRENDS, self._trends.pack()
            case (b"profile", _, _):
                return Kind.PROFILE, self._profile.pack()
            case (_, _, other):
                return Kind.PAIR, self._pairs[other.decode()].pack()


def cause_of(event: DomainEvent | MoodSignal) -> str:
    """What the mood row names as the cause of a shift."""
    if isinstance(event, MoodSignal):
        return UNNAMED_CAUSE if event.cause is None else event.cause
    return event.description
