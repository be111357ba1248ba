"""Reading a mood at any time: from the row, or from the trajectory for times before it. It changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moodstream.affect.dynamics import AT_REST, Dynamics, Triple, decay, limit, mood_of, step
from moodstream.affect.mood_row import Late, MoodRow, Shift

_REVISIONS_KEPT = 16


class Reading(NamedTuple):
    """A mood at one time: the mood itself, its distance from the baseline, and how far to trust it.

    `approximate`: a signal came late near that time. `before_base`: the row no longer knows a time so early, ask the
    trajectory (`mood_from_points`); the values are then those of an agent at rest.
    """

    mood: Triple
    displacement: Triple
    approximate: bool
    before_base: bool


class Revision(NamedTuple):
    """A profile change as the profile row keeps it: from `t` (ms) on `dynamics` hold, starting at displacement `x`."""

    t: int
    x: Triple
    dynamics: Dynamics


def in_late_window(late: Late | None, t: int, dynamics: Dynamics) -> bool:
    """True where a late signal may still be visible in a displacement at `t` that does not contain it in its place."""
    return late is not None and late.since <= t <= late.until + dynamics.fading_ms


def mood_at(row: MoodRow, t: int, dynamics: Dynamics) -> Reading:
    """Return the mood at `t` (ms) with the profile in force: the fold up to `t`, then decay."""
    approximate = in_late_window(row.late, t, dynamics)
    if row.base is not None and t < row.base.t:
        return Reading(dynamics.baseline, AT_REST, approximate, before_base=True)
    last = _newest_until(row, t, dynamics)
    x = AT_REST if last is None else decay(last[1], t - last[0], dynamics)
    return Reading(mood_of(x, dynamics), x, approximate, before_base=False)


def newest_mood(row: MoodRow, dynamics: Dynamics) -> Triple:
    """Return the mood at the newest signal that is kept, at no cost while signals come in order; else at the base."""
    if row.kept:
        return mood_of(_head(row, dynamics), dynamics)
    return dynamics.baseline if row.base is None else mood_of(row.base.x, dynamics)


def trajectory_points(row: MoodRow, dynamics: Dynamics) -> list[Shift]:
    """Return the shifts that are still in the row, oldest first, as they would be written if they left it now."""
    base = row.base
    x, at = (AT_REST, 0) if base is None else (base.x, base.t)
    points: list[Shift] = []
    for t, sid, *delta in row.kept:
        triple = (delta[0], delta[1], delta[2])
        x = limit(triple, dynamics) if base is None and not points else step(x, t - at, triple, dynamics)
        at = t
        points.append(Shift(t, sid, x, in_late_window(row.late, t, dynamics)))
    return points


def mood_from_points(
    points: Iterable[Shift],
    revisions: Sequence[Revision],
    t: int,
    *,
    initial: Dynamics,
    late: Late | None = None,
) -> Reading:
    """Return the mood at `t` from the trajectory: the newest shift or profile change up to `t`, decayed from there.

    `points` are shifts in any order, final ones and those of `trajectory_points`; `revisions` are in log order;
    `initial` holds before the first of them. `late` is that of the mood row: shifts that were final before a late
    signal came do not contain it. Flagged approximate also where the profile then in force is no longer kept.
    """
    known = [r for r in revisions if r.t <= t]
    dynamics = known[-1].dynamics if known else initial
    point = max((p for p in points if p.t <= t), default=None)
    at, x = _start(point, known, initial)
    forgotten = not known and len(revisions) >= _REVISIONS_KEPT
    approximate = forgotten or in_late_window(late, t, dynamics) or (point is not None and point.approximate)
    x = decay(x, t - at, dynamics)
    return Reading(mood_of(x, dynamics), x, approximate, before_base=False)


def _start(point: Shift | None, revisions: Sequence[Revision], initial: Dynamics) -> tuple[int, Triple]:
    """Return the time and displacement from which the decay begins: the newer of a shift and a profile change."""
    if point is None:
        return (revisions[-1].t, revisions[-1].x) if revisions else (0, AT_REST)
    at, x, held = point.t, point.x, initial
    for revision in revisions:
        if revision.t > point.t and took_over(revision, decay(x, max(revision.t - at, 0), held)):
            at, x = revision.t, revision.x
        elif revision.t >= point.t:
            # Either both have one time, and the shift may be the older one: then the bounds of the change apply to it.
            # Or the change was made before any signal was known, and the shift is the newer one in the log.
            x = limit(x, revision.dynamics)
        held = revision.dynamics
    return at, x


def took_over(revision: Revision, x: Triple) -> bool:
    """Tell whether a profile change found displacement `x`; if not, it was made before any signal was known."""
    return revision.x != AT_REST or limit(x, revision.dynamics) == AT_REST


def _newest_until(row: MoodRow, t: int, dynamics: Dynamics) -> tuple[int, Triple] | None:
    """Return time and displacement of the newest signal, or the base, that is not after `t`."""
    if row.kept and t >= row.kept[-1][0]:
        return row.kept[-1][0], _head(row, dynamics)
    points = [p for p in trajectory_points(row, dynamics) if p.t <= t]
    if points:
        return points[-1].t, points[-1].x
    return None if row.base is None else (row.base.t, row.base.x)


def _head(row: MoodRow, dynamics: Dynamics) -> Triple:
    if row.path is None or row.path[0] is not dynamics:
        row.path = dynamics, [point.x for point in trajectory_points(row, dynamics)]
    return row.path[1][-1]
