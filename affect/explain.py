"""Why a mood is what it is: the shifts behind it, each decayed to what is left, and what the clamps took away.

    mood = baseline + what is left of the shifts + what the clamps cut off + what came earlier

A displacement is linear but for its clamps. So where `limit` takes `c` away at a shift, `c` fades like a shift of its
own, and the terms add up to the mood. `earlier` is what remains of it: shifts further back, or too small to be listed.
Where a signal came late the terms are approximate, and the rest makes up for it; the sum always holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Final, NamedTuple

from moodstream.affect.dynamics import AT_REST, Dynamics, Triple, decay, limit
from moodstream.affect.mood_row import MoodRow, Shift
from moodstream.affect.reading import Reading, Revision, took_over, trajectory_points

__all__ = ["Explanation", "Moved", "Part", "came_late", "explain", "reach_ms"]

NEWEST: Final = 50
"""Shifts that are listed however little is left of them."""
LEAST: Final = 0.001
"""Older ones are listed where more than this is left, or cut off, on an axis."""
MOST: Final = 500
"""Shifts that are listed at most."""
_FADED: Final = 8.0
"""Time constants after which less than LEAST is left of the largest delta: 2 e^-8 = .0007."""


class Moved(NamedTuple):
    """A shift that has left the mood row, or came late: its memory, with the values in force when it was accepted.

    `point` is its shift row; None where that cannot be read. Where the memory was erased, `delta` and `dynamics` are
    None, and what it did is told by the rows before and after it.
    """

    t: int
    id: bytes
    delta: Triple | None
    dynamics: Dynamics | None
    point: Shift | None

    @property
    def late(self) -> bool:
        """Whether it came late: then it did not go into the mood at its place."""
        if self.point is None or not self.point.approximate:
            return False
        return self.delta is None or self.dynamics is None or came_late(self.point, self.delta, self.dynamics)


class Part(NamedTuple):
    """One shift, or with the empty id a change of the profile, and what of it is in the mood.

    `delta` is what it asked for, `left` what is left of that; `cut` (of the opposite sign) what a clamp took away at
    its time, as far as that still counts. `late`: it came late, so `left` is approximate.
    """

    t: int
    id: bytes
    delta: Triple
    left: Triple
    cut: Triple
    late: bool = False


class Explanation(NamedTuple):
    """The terms of a mood: baseline + shifts + cut + earlier. `parts` are listed newest first.

    `shifts` sums up what is left of the parts, `cut` what clamps took away; `earlier` is the rest, in which `unlisted`
    shifts are known but too small to be listed.
    """

    baseline: Triple
    parts: list[Part]
    shifts: Triple
    cut: Triple
    earlier: Triple
    unlisted: int


def reach_ms(revisions: Sequence[Revision], *more: Dynamics) -> float:
    """Return how long before a mood a shift may lie and still be listed for its size, in ms."""
    return _FADED * max(tau for each in (*more, *(r.dynamics for r in revisions)) for tau in each.tau_ms)


def came_late(point: Shift, delta: Triple, dynamics: Dynamics) -> bool:
    """Tell whether a shift row says only what its signal did itself (docs/rows.md, mood, rule 1)."""
    return point.approximate and point.x == limit(delta, dynamics)


def explain(
    row: MoodRow,
    past: Sequence[Moved],
    revisions: Sequence[Revision],
    at: int,
    reading: Reading,
    *,
    initial: Dynamics,
    dynamics: Dynamics,
) -> Explanation:
    """Take apart the `reading` of a mood at `at` (ms), in which `dynamics` hold.

    `past` are shifts that are no longer kept in the row, in any order; those behind `at` are left out. `revisions` are
    in log order, `initial` holds before the first of them.
    """
    from_row = row.base is None or at >= row.base.t
    story = _Story([r for r in revisions if from_row or r.t <= at], initial, at)
    final = [each for each in past if each.t <= at]
    parts = [*story.final(final), *story.kept(row, dynamics)]
    if from_row or story.after_late:
        parts += story.late(final)
    parts.sort(key=lambda part: (part.t, part.id), reverse=True)
    listed = _worth_listing(parts)
    return _summed(listed, len(parts) - len(listed), reading, dynamics)


def _worth_listing(parts: list[Part]) -> list[Part]:
    large = [part for part in parts[NEWEST:] if max(map(abs, (*part.left, *part.cut))) > LEAST]
    return [*parts[:NEWEST], *large][:MOST]


def _summed(listed: list[Part], unlisted: int, reading: Reading, dynamics: Dynamics) -> Explanation:
    shifts, cut = _total([part.left for part in listed]), _total([part.cut for part in listed])
    earlier = _minus(reading.displacement, _total([shifts, cut]))
    edge = _minus(reading.mood, _total([dynamics.baseline, reading.displacement]))
    return Explanation(dynamics.baseline, listed, shifts, _total([cut, edge]), earlier, unlisted)


class _At(NamedTuple):
    """A displacement that is known, and the values that it decays with."""

    t: int
    x: Triple
    dynamics: Dynamics


@dataclass(slots=True)
class _Story:
    """The shifts up to a time and the profile changes between them; the n-th change ends the n-th epoch."""

    revisions: Sequence[Revision]
    initial: Dynamics
    at: int
    after_late: bool = field(default=False, init=False)
    """Whether the newest final shift was written after one that came late: then it contains that one."""

    def final(self, past: Sequence[Moved]) -> Iterator[Part]:
        """The shifts that were folded in their order, and the profile changes that cut something off."""
        known: _At | None = None
        for change, moved, epoch in self._in_order(past):
            if change is not None:
                known, part = self._changed(known, change, epoch)
                if part is not None:
                    yield part
            elif moved is not None:
                known, part = self._moved(known, moved, epoch)
                if part is not None:
                    yield part

    def kept(self, row: MoodRow, dynamics: Dynamics) -> Iterator[Part]:
        """The shifts that are still in the row; the values in force are those of the row."""
        before = None if row.base is None else (row.base.t, row.base.x)
        for (t, sid, *given), point in zip(row.kept, trajectory_points(row, dynamics), strict=True):
            if t > self.at:
                return
            delta = (given[0], given[1], given[2])
            held = AT_REST if before is None else decay(before[1], t - before[0], dynamics)
            yield self._part(
                t, sid, delta, _cut(_total([held, delta]), point.x, dynamics), len(self.revisions), dynamics
            )
            before = t, point.x

    def late(self, past: Sequence[Moved]) -> Iterator[Part]:
        """The shifts that came late: what is left of them was added to a base that had passed them."""
        for each in past:
            if each.late and each.delta is not None:
                epoch, dynamics = self._epoch(each.t, each.dynamics)
                yield self._part(each.t, each.id, each.delta, AT_REST, epoch, dynamics)._replace(late=True)

    def _in_order(self, past: Sequence[Moved]) -> Iterator[tuple[Revision | None, Moved | None, int]]:
        """Profile changes and shifts as they lie in the log, but for what came late."""
        placed = [(*self._epoch(each.t, each.dynamics), each) for each in past if not each.late]
        placed.sort(key=lambda place: (place[0], place[2].t, place[2].id))
        done = 0
        for epoch, dynamics, each in placed:
            for n in range(done, epoch):
                yield self.revisions[n], None, n + 1
            done = max(done, epoch)
            yield None, each._replace(dynamics=dynamics), epoch
        for n in range(done, len(self.revisions)):
            yield self.revisions[n], None, n + 1

    def _moved(self, known: _At | None, moved: Moved, epoch: int) -> tuple[_At | None, Part | None]:
        point, delta, dynamics, cut = moved.point, moved.delta, moved.dynamics or self.initial, AT_REST
        after = None if point is None else _At(point.t, point.x, dynamics)
        if point is not None:
            self.after_late = point.approximate
            before = self._before(known, moved, dynamics)
            if before is not None and delta is not None:
                cut = _cut(_total([before, delta]), point.x, dynamics)
            elif before is not None:
                delta = _minus(point.x, before)
        return after, None if delta is None else self._part(moved.t, moved.id, delta, cut, epoch, dynamics)

    def _before(self, known: _At | None, moved: Moved, dynamics: Dynamics) -> Triple | None:
        """The displacement just before a shift; None where it is not known."""
        if known is not None and known.t <= moved.t:
            return decay(known.x, moved.t - known.t, dynamics)
        first = moved.point is not None and moved.delta is not None and moved.point.x == limit(moved.delta, dynamics)
        return AT_REST if first else None

    def _changed(self, known: _At | None, change: Revision, epoch: int) -> tuple[_At | None, Part | None]:
        held = self.revisions[epoch - 2].dynamics if epoch > 1 else self.initial
        if change.dynamics == held or change.t > self.at:
            return known, None  # it moved nothing, so it does not matter which shifts of its time came before it
        if known is None or known.t > change.t:
            return (known if change.x == AT_REST else _At(change.t, change.x, change.dynamics)), None
        before = decay(known.x, change.t - known.t, known.dynamics)
        if not took_over(change, before):
            return known, None
        after = _At(change.t, change.x, change.dynamics)
        cut = _cut(before, change.x, change.dynamics)
        part = self._part(change.t, b"", AT_REST, cut, epoch, change.dynamics)
        return after, None if cut == AT_REST else part

    def _part(self, t: int, sid: bytes, delta: Triple, cut: Triple, epoch: int, dynamics: Dynamics) -> Part:
        fading = self._fading(t, epoch, dynamics)
        return Part(t, sid, delta, _times(delta, fading), _times(cut, fading))

    def _epoch(self, t: int, dynamics: Dynamics | None) -> tuple[int, Dynamics]:
        """The epoch in which a shift was accepted: that of its time, or a later one in which its values held."""
        here = sum(r.t <= t for r in self.revisions)
        held = [self.initial, *(r.dynamics for r in self.revisions)]
        if dynamics is None:
            return here, held[here]
        first = sum(r.t < t for r in self.revisions)
        tried = (*range(here, first - 1, -1), *range(here + 1, len(held)))
        return next((n for n in tried if held[n] == dynamics), here), dynamics

    def _fading(self, t: int, epoch: int, dynamics: Dynamics) -> Triple:
        """What is left at the end of 1 at `t`: each span between profile changes has its own time constants."""
        p = a = d = 0.0
        for change in self.revisions[epoch:]:
            ms = min(change.t, self.at) - t
            if ms > 0:
                p, a, d = p + ms / dynamics.tau_ms[0], a + ms / dynamics.tau_ms[1], d + ms / dynamics.tau_ms[2]
                t += ms
            dynamics = change.dynamics
        ms, (tau_p, tau_a, tau_d) = self.at - t, dynamics.tau_ms
        return exp(-p - ms / tau_p), exp(-a - ms / tau_a), exp(-d - ms / tau_d)


def _cut(asked: Triple, x: Triple, dynamics: Dynamics) -> Triple:
    """What a clamp took away: 0 on an axis where the displacement is not at a limit that was passed."""
    p, a, d = (
        there - wanted if (there == high < wanted) or (there == low > wanted) else 0.0
        for wanted, there, low, high in zip(asked, x, dynamics.low, dynamics.high, strict=True)
    )
    return p, a, d


def _total(terms: Sequence[Triple]) -> Triple:
    p, a, d = AT_REST
    for term in terms:
        p, a, d = p + term[0], a + term[1], d + term[2]
    return p, a, d


def _minus(a: Triple, b: Triple) -> Triple:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _times(a: Triple, b: Triple) -> Triple:
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]
