"""One agent's log, folded record by record, and the rows that it leads to."""

from __future__ import annotations

import struct
from typing import Literal

from moodstream.cli.oracle.appraisal import delta_of, succeeded
from moodstream.cli.oracle.dynamics import AXES, Triple, triple
from moodstream.cli.oracle.layout import Kind, agent_key, dated_suffix, hash_id, row_key, write_row
from moodstream.cli.oracle.memory import body_of, content_of
from moodstream.cli.oracle.mood import OracleMood, ShiftRow, Signal
from moodstream.cli.oracle.profile import STANDARD, OracleFold, OracleProfile, dynamics_of
from moodstream.cli.oracle.trends import OUTCOME, OracleTrends, Report, engagement_values
from moodstream.schemas.events import DomainEvent, Engagement, InputEvent, MoodSignal, Outcome
from moodstream.schemas.instants import to_ms
from moodstream.schemas.profile import AgentProfile

Verdict = Literal["accepted", "duplicate", "conflict"]
UNNAMED_CAUSE = "interaction appraisal"


class OracleAgent:
    """The rows of one agent, as docs/rows.md defines them, made the slow and obvious way.

    Give it the agent's records in offset order, each once; `rows` can be asked in between.
    """

    def __init__(self, tenant: str, agent: str, fold: OracleFold = STANDARD) -> None:
        self.key = agent_key(tenant, agent)
        self._stamp = fold.stamp
        self._first: int | None = None
        self._accepted = 0
        self._newest = 0
        self._contents: dict[bytes, bytes] = {}
        self._mood = OracleMood()
        self._trends = OracleTrends()
        self._pairs: dict[str, OracleTrends] = {}
        self._profile = OracleProfile(fold.default)
        self._offsets: dict[bytes, int] = {}
        """Suffix of a row that is packed when asked for, to the offset of its last change."""
        self._written: dict[bytes, bytes] = {}
        """Memory and shift rows: written once."""

    def apply(self, offset: int, event: InputEvent) -> Verdict:
        """Fold the record at an offset."""
        ident = hash_id(event.event_id)
        if isinstance(event, AgentProfile):
            if self._profile.knows(ident):
                return "duplicate"
            self._change_profile(offset, ident, event)
        else:
            content = content_of(event)
            if ident in self._contents:
                return "duplicate" if self._contents[ident] == content else "conflict"
            self._contents[ident] = content
            self._remember(offset, ident, event, content)
        self._count(offset, to_ms(event.occurred_at))
        return "accepted"

    def rows(self) -> dict[bytes, bytes]:
        """Every row by its key, header and all; no notice, for that is no function of the log."""
        rows = {row_key(self.key, suffix): row for suffix, row in self._written.items()}
        for suffix, offset in self._offsets.items():
            kind, body = self._pack(suffix)
            rows[row_key(self.key, suffix)] = write_row(kind, offset, self._stamp, body)
        return rows

    def mood_at(self, t: int) -> tuple[Triple, Triple]:
        """Mood and displacement at a time (ms) that must not lie before any signal or profile change."""
        dynamics = self._profile.dynamics
        x = self._mood.displacement_at(t, dynamics)
        return triple([dynamics.baseline[axis] + x[axis] for axis in AXES]), x

    def _count(self, offset: int, t: int) -> None:
        self._first = offset if self._first is None else self._first
        self._accepted += 1
        self._newest = max(self._newest, t)
        self._offsets[b"agent"] = offset

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
        delta = delta_of(event, self._profile.values.rules)
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
        report = Report(to_ms(event.occurred_at), turn, ident, engagement_values(event))
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
            self._write(Kind.SHIFT, dated_suffix(b"shift", shift.t, shift.id), offset, shift.body)

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
