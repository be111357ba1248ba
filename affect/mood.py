"""The mood fold (docs/rows.md): signals go in, the row changes, shifts that have become final come out.

    x(t) = x(t0) · exp(-(t - t0)/τ)         a displacement decays towards the baseline
    x ← limit(x(t) + δ)                     a signal at time t: first decay to t, then add, then clamp

A row keeps the newest signals apart from the base, so signals that arrive in the wrong order inside that window give
the same row as in the right order. Reading a mood is in `reading.py`; it never changes what is stored.
"""

from __future__ import annotations

from bisect import insort
from math import exp
from typing import NamedTuple

from moodstream.affect.dynamics import AT_REST, Dynamics, Triple, decay, limit, octant, signal_delta, step
from moodstream.affect.mood_row import NO_ID, Base, Kept, Late, MoodRow, Shift, cut_cause
from moodstream.affect.params import PARAMS
from moodstream.affect.reading import (
    Reading,
    Revision,
    in_late_window,
    mood_at,
    mood_from_points,
    newest_mood,
    trajectory_points,
)

__all__ = [
    "Dynamics",
    "MoodRow",
    "Reading",
    "Rebase",
    "Revision",
    "Shift",
    "Signal",
    "anew",
    "mood_at",
    "mood_from_points",
    "newest_mood",
    "octant",
    "rebase",
    "shift",
    "signal_delta",
    "trajectory_points",
]

_KEPT = PARAMS.signals_kept
_WINDOW_MS = PARAMS.kept_window_ms


class Signal(NamedTuple):
    """A shift that an event asks for: time in ms, H(event id), and a delta per axis."""

    t: int
    id: bytes
    delta: Triple


class Rebase(NamedTuple):
    """What a profile change did: the displacement `x` at time `t` (ms), from which the new values hold."""

    t: int
    x: Triple


def shift(row: MoodRow, signal: Signal, dynamics: Dynamics, cause: str) -> list[Shift]:
    """Fold one signal into the row, in place, and return the shift rows that are to be written now.

    The caller has made sure that no signal with this id was folded before.
    """
    t, sid, delta = signal.t, signal.id, signal_delta(signal.delta)
    base, kept, path = row.base, row.kept, row.path
    if kept and path is not None and path[0] is dynamics and (last := kept[-1]) < (t, sid):
        # The rule, signals in order: nothing is folded twice.
        path[1].append(step(path[1][-1], t - last[0], delta, dynamics))
        kept.append((t, sid, *delta))
        written = _settle(row, dynamics)
    elif base is not None and (t, sid) < (base.t, base.id):
        written = [_fold_late(row, base, Signal(t, sid, delta), dynamics)]
    else:
        _keep(row, (t, sid, *delta), dynamics)
        written = _settle(row, dynamics)
    if t > row.newest_t or (t == row.newest_t and sid > row.newest_id):
        row.newest_t, row.newest_id, row.cause = t, sid, cut_cause(cause)
    return written


def rebase(row: MoodRow, t: int, old: Dynamics, new: Dynamics) -> tuple[Rebase, list[Shift]]:
    """Change the profile at time `t`: all kept signals become final, and the base moves to where the new values begin.

    A row without any signal is left as it is: the change then begins at `t`, at rest.
    """
    written = [_leave(row, old) for _ in range(len(row.kept))]
    row.path = None
    base = row.base
    if base is None:
        return Rebase(t, AT_REST), written
    at = max(t, row.newest_t, base.t)
    row.base = Base(limit(decay(base.x, at - base.t, old), new), at, base.id)
    return Rebase(at, row.base.x), written


def anew(t: int) -> MoodRow:
    """Return the row of a mood that was erased at time `t` (ms): at rest there, and without a past."""
    return MoodRow(base=Base(AT_REST, t, NO_ID), newest_t=t)


def _keep(row: MoodRow, signal: Kept, dynamics: Dynamics) -> None:
    """Keep a signal that is the first one, comes out of order, or under another profile than those before it."""
    row.path = None if row.kept else (dynamics, [_after(row.base, signal[0], signal[2:], dynamics)])
    insort(row.kept, signal)


def _settle(row: MoodRow, dynamics: Dynamics) -> list[Shift]:
    kept, written = row.kept, []
    while len(kept) > _KEPT or kept[-1][0] - kept[0][0] > _WINDOW_MS:
        written.append(_leave(row, dynamics))
    return written


def _leave(row: MoodRow, dynamics: Dynamics) -> Shift:
    """Fold the oldest kept signal into the base; its displacement is final from now on."""
    t, sid, p, a, d = row.kept.pop(0)
    path = row.path
    x = path[1].pop(0) if path is not None and path[0] is dynamics else _after(row.base, t, (p, a, d), dynamics)
    row.base = Base(x, t, sid)
    return Shift(t, sid, x, row.late is not None and in_late_window(row.late, t, dynamics))


def _after(base: Base | None, t: int, delta: Triple, dynamics: Dynamics) -> Triple:
    return limit(delta, dynamics) if base is None else step(base.x, t - base.t, delta, dynamics)


def _fold_late(row: MoodRow, base: Base, signal: Signal, dynamics: Dynamics) -> Shift:
    """Add what is left of a late signal to the base, and note the span in which moods are no longer exact."""
    x, age = base.x, base.t - signal.t
    left = [delta * exp(-age / tau) for delta, tau in zip(signal.delta, dynamics.tau_ms, strict=True)]
    row.base = base._replace(x=limit((x[0] + left[0], x[1] + left[1], x[2] + left[2]), dynamics))
    row.path = None
    late = row.late or Late(0, signal.t, base.t)
    row.late = Late(late.count + 1, min(late.since, signal.t), max(late.until, base.t))
    return Shift(signal.t, signal.id, limit(signal.delta, dynamics), approximate=True)
