"""What moves an agent, decoded: its mood row and its profile; and its mood at any time."""

from __future__ import annotations

from dataclasses import dataclass
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import NamedTuple

from moodstream.affect.dynamics import Dynamics
from moodstream.affect.explain import came_late
from moodstream.affect.mood import MoodRow, Reading, Revision, Shift, mood_at, mood_from_points
from moodstream.schemas.errors import NotFound
from moodstream.state.profile_row import Profile, dynamics_of
from moodstream.state.reader import StateReader
from moodstream.state.rows import MOOD, PROFILE
from moodstream.state.views import AgentView, BucketRows

SUFFIXES = (MOOD, PROFILE)
"""The rows that a mood is made of."""


@dataclass(frozen=True, slots=True)
class Mind:
    """Mood row and profile of one agent, at one log position."""

    row: MoodRow
    profile: Profile
    initial: Dynamics
    """Held before the first profile change."""

    @classmethod
    def of(cls, view: AgentView) -> Mind:
        """Decode the rows of a view that was read with `SUFFIXES`."""
        return cls(MoodRow.unpack(view.body(MOOD)), view.profile, Dynamics.of(view.default_profile))

    @property
    def revisions(self) -> list[Revision]:
        """The newest profile changes, in log order."""
        return [revision for _, revision in self.profile.revisions]

    def dynamics_at(self, t: int) -> Dynamics:
        """The profile values that held at `t` (ms)."""
        return next((each.dynamics for each in reversed(self.revisions) if each.t <= t), self.initial)


class Mood(NamedTuple):
    """A mood at one time, and what moved it last."""

    reading: Reading
    dynamics: Dynamics
    moved_by: bytes | None
    """H(event_id) of the newest shift not after that time; None: there was none."""


async def mood_then(reader: StateReader, view: AgentView, mind: Mind, t: int) -> Mood:
    """The mood at `t` (ms): from the row, or for times before it from the trajectory.

    The view must have been read with its buckets.
    """
    reading = mood_at(mind.row, t, mind.profile.dynamics)
    if reading.before_base:
        point = await _point_before(reader, view, t)
        points = [] if point is None else [point]
        found = mood_from_points(points, mind.revisions, t, initial=mind.initial, late=mind.row.late)
        return Mood(found, mind.dynamics_at(t), None if point is None else point.id)
    moved_by = _moved_by(mind, t)
    if moved_by is None:  # at rest, where the profile was perhaps another one
        rest = mood_from_points([], mind.revisions, t, initial=mind.initial)
        return Mood(rest, mind.dynamics_at(t), None)
    return Mood(reading, mind.profile.dynamics, moved_by)


async def cause_of(reader: StateReader, view: AgentView, mind: Mind, moved_by: bytes | None) -> tuple[str, int] | None:
    """Text and time (ms) of the shift that moved the mood; None when it is no longer known."""
    if moved_by is None:
        return None
    if moved_by == mind.row.newest_id:
        return (mind.row.cause, mind.row.newest_t) if mind.row.cause else None  # an erased one is blank
    try:
        (stored,) = (await reader.stored(view, moved_by)).memories
    except (NotFound, ValueError):
        return None
    return stored.content.text, stored.content.occurred_us // 1000


def _moved_by(mind: Mind, t: int) -> bytes | None:
    row = mind.row
    ident = next((kept[1] for kept in reversed(row.kept) if kept[0] <= t), None)
    return ident if ident is not None or row.base is None else row.base.id


async def _point_before(reader: StateReader, view: AgentView, t: int) -> Shift | None:
    """The newest shift not after `t`. One that came late tells only what it did itself: it is the last choice."""
    last_choice: Shift | None = None
    async for rows in reader.memories(view, until_us=(t + 1) * 1000):
        in_order, late = _points(rows, t)
        if in_order:
            await reader.confirm(view)
            return max(in_order)
        last_choice = max([point for point in (last_choice, *late) if point is not None], default=None)
    return last_choice


def _points(rows: BucketRows, t: int) -> tuple[list[Shift], list[Shift]]:
    """Shifts of a bucket that are not after `t`: those folded in their order, and those that came late."""
    moved = {stored.ident: stored.shift for stored in rows.memories if stored.shift is not None}
    in_order: list[Shift] = []
    late: list[Shift] = []
    for ident, body in rows.shifts.items():
        try:
            point = Shift.unpack(ident, body)
        except PackingError:
            continue
        if point.t <= t:
            (late if _came_late(point, moved.get(ident)) else in_order).append(point)
    return in_order, late


def _came_late(point: Shift, moved: tuple[float, ...] | None) -> bool:
    """A late signal's row holds its own delta and nothing of the mood before it (docs/rows.md, mood, rule 1)."""
    if not point.approximate or moved is None:
        return False
    return came_late(point, (moved[0], moved[1], moved[2]), dynamics_of(moved[3:]))
