"""The terms of a mood: they add up to it, whatever happened, and where nothing came late each is the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from moodstream.affect import explain as module
from moodstream.affect import mood
from moodstream.affect.dynamics import signal_delta
from moodstream.affect.explain import LEAST, MOST, NEWEST, Explanation, Moved, came_late, explain, reach_ms
from moodstream.affect.mood import (
    Dynamics,
    MoodRow,
    Reading,
    Revision,
    Shift,
    Signal,
    mood_at,
    mood_from_points,
    rebase,
    shift,
)
from moodstream.schemas.identity import hash_id

HOUR = 3_600_000
START = 1_772_366_400_000
CALM = Dynamics((0.1, 0.0, -0.2), (4.0 * HOUR, 4.0 * HOUR, 2.0 * HOUR), (1.0, 0.5, 2.0))
EDGY = Dynamics((-1.0, 0.9, 0.0), (0.5 * HOUR, 100.0 * HOUR, 87_600.0 * HOUR), (0.3, 2.0, 0.25))
NARROW = Dynamics((0.0, 0.0, 0.0), (4.0 * HOUR,) * 3, (0.2, 0.2, 0.2))

Change = tuple[int, Dynamics]
Event = tuple[int, tuple[float, float, float]]

axis = st.sampled_from([0.0, 0.25, -0.25, 0.125, -0.7, 2.0]) | st.floats(-2, 2)
minutes = st.integers(0, 600)
events = st.tuples(minutes.map(lambda m: START + m * 60_000), st.tuples(axis, axis, axis))
changes = st.tuples(minutes.map(lambda m: START + m * 60_000), st.sampled_from([CALM, EDGY, NARROW]))
logs = st.lists(events | changes, max_size=30)


@dataclass
class Told:
    """A log as it was folded, with all that a reader may know of it."""

    row: MoodRow = field(default_factory=MoodRow)
    now: Dynamics = CALM
    revisions: list[Revision] = field(default_factory=list)
    points: dict[bytes, Shift] = field(default_factory=dict)
    memories: list[Moved] = field(default_factory=list)

    def take(self, step: Event | Change) -> None:
        t, what = step
        if isinstance(what, Dynamics):
            made, shifts = rebase(self.row, t, self.now, what)
            self.now = what
            self.revisions.append(Revision(made.t, made.x, what))
        else:
            delta, sid = signal_delta(what), hash_id(f"e{len(self.memories)}")
            self.memories.append(Moved(t, sid, delta, self.now, None))
            shifts = shift(self.row, Signal(t, sid, delta), self.now, "why")
        self.points |= {one.id: one for one in shifts}

    @property
    def past(self) -> list[Moved]:
        return [each._replace(point=self.points[each.id]) for each in self.memories if each.id in self.points]

    def read(self, t: int) -> tuple[Reading, Dynamics]:
        reading = mood_at(self.row, t, self.now)
        if not reading.before_base:
            return reading, self.now
        in_order = [each.point for each in self.past if each.point and not came_late(each.point, *each[2:4])]
        found = mood_from_points(in_order, self.revisions, t, initial=CALM, late=self.row.late)
        held = [CALM, *(r.dynamics for r in self.revisions if r.t <= t)]
        return found, held[-1]

    def explained(self, t: int, past: list[Moved] | None = None) -> tuple[Explanation, Reading]:
        reading, dynamics = self.read(t)
        seen = self.past if past is None else past
        return explain(self.row, seen, self.revisions, t, reading, initial=CALM, dynamics=dynamics), reading


def folded(log: list[Event | Change], most: int = 64) -> Told:
    told = Told()
    with mock.patch.object(mood, "_KEPT", most):
        for step in log:
            told.take(step)
            told.row = MoodRow.unpack(told.row.pack())
    return told


def assert_adds_up(found: Explanation, reading: Reading) -> None:
    for n in range(3):
        assert found.shifts[n] == pytest.approx(sum(part.left[n] for part in found.parts), abs=1e-12)
        total = found.baseline[n] + found.shifts[n] + found.cut[n] + found.earlier[n]
        assert total == pytest.approx(reading.mood[n], abs=1e-12)
        assert all(math.isfinite(value) for part in found.parts for value in (part.left[n], part.cut[n]))


@given(logs, st.integers(-30, 1000), st.integers(1, 6))
def test_the_terms_add_up_whatever_came_in_whatever_order(log: list[Event | Change], minute: int, most: int) -> None:
    told = folded(log, most)
    t = START + minute * 60_000
    found, reading = told.explained(t)
    assert_adds_up(found, reading)
    assert [(part.t, part.id) for part in found.parts] == sorted([(p.t, p.id) for p in found.parts], reverse=True)
    assert all(part.t <= t for part in found.parts)
    for part in found.parts:
        assert all(cut * delta <= 0 or not part.id for cut, delta in zip(part.cut, part.delta, strict=True))


def changed_once(told: Told) -> bool:
    """Whether no profile is left and taken up again at one time: nobody could tell before which a shift came."""
    places = [(told.revisions[0].t, CALM), *((r.t, r.dynamics) for r in told.revisions)]
    places = [place for n, place in enumerate(places) if n == 0 or place != places[n - 1]]
    return all(places.count(place) == 1 for place in places)


@given(logs, st.integers(0, 1000), st.integers(1, 6))
@example([(START, (2.0, 2.0, 2.0)), (START + 1, NARROW), (START + 1, (0.25, 0.0, 0.0))], 0, 1)
@example([(START, (0.0, 0.0, 0.0)), (START, EDGY), (START, (0.0, 0.0, 0.25)), (START, EDGY)], 0, 1)
@example([(START, NARROW), (START, CALM), (START, EDGY), (START, (2.0, 0.0, 0.0)), (START, CALM)], 5, 1)
def test_without_late_signals_nothing_remains(log: list[Event | Change], minute: int, most: int) -> None:
    """Every shift of the log is a part, so `earlier` is nothing but rounding: at any time, also before the base."""
    told = folded(sorted(log, key=lambda step: step[0]), most)
    assume(told.row.late is None)  # of one time, the one with the smaller id came later
    assume(not told.revisions or changed_once(told))
    t = START + minute * 60_000
    found, reading = told.explained(t)
    assert_adds_up(found, reading)
    assert found.unlisted == 0
    assert found.earlier == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert {part.id for part in found.parts if part.id} == {each.id for each in told.memories if each.t <= t}
    assert not any(part.late for part in found.parts)


@given(st.lists(events, max_size=20), st.integers(0, 1000), st.sets(st.integers(0, 19)))
def test_erased_memories_are_told_by_what_they_did(log: list[Event], minute: int, erased: set[int]) -> None:
    told, t = folded(sorted(log), 3), START + minute * 60_000
    assume(told.row.late is None)
    past = sorted(told.past, key=lambda each: (each.t, each.id))
    nameless = [each._replace(delta=None, dynamics=None) if n in erased and n else each for n, each in enumerate(past)]
    found, reading = told.explained(t, nameless)
    assert_adds_up(found, reading)
    assert found.earlier == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert {part.id for part in found.parts} == {each.id for each in told.memories if each.t <= t}


def test_an_erased_memory_with_nothing_before_it_counts_as_earlier() -> None:
    told = folded([(START, (0.25, 0.0, 0.0)), (START + 2 * HOUR, (0.25, 0.0, 0.0))])
    (first,) = told.past
    found, reading = told.explained(START + 2 * HOUR, [first._replace(delta=None, dynamics=None)])
    assert_adds_up(found, reading)
    assert len(found.parts) == 1
    assert found.earlier[0] == pytest.approx(0.25 * math.exp(-1 / 2))


@given(st.lists(events, min_size=1, max_size=20), st.integers(0, 1000))
def test_each_part_is_what_one_would_compute_by_hand(log: list[Event], minute: int) -> None:
    told, t = folded(sorted(log), 3), START + minute * 60_000
    found, _ = told.explained(t)
    x, at = (0.0, 0.0, 0.0), START
    expected = {}
    for each in sorted(told.memories, key=lambda each: (each.t, each.id)):
        asked = [x[n] * math.exp(-(each.t - at) / CALM.tau_ms[n]) + each.delta[n] for n in range(3)]
        bounded = [min(max(v, CALM.low[n]), CALM.high[n]) for n, v in enumerate(asked)]
        left = [math.exp(-(t - each.t) / CALM.tau_ms[n]) for n in range(3)]
        expected[each.id] = (
            [each.delta[n] * left[n] for n in range(3)],
            [(bounded[n] - asked[n]) * left[n] for n in range(3)],
        )
        x, at = (bounded[0], bounded[1], bounded[2]), each.t
    if told.row.late is None:
        for part in found.parts:
            assert list(part.left) == pytest.approx(expected[part.id][0], abs=1e-12)
            assert list(part.cut) == pytest.approx(expected[part.id][1], abs=1e-12)


def test_what_is_too_far_back_to_be_read_remains() -> None:
    told = folded([(START + n * HOUR, (0.25, 0.0, 0.0)) for n in range(6)])
    t = START + 6 * HOUR
    found, reading = told.explained(t, [each for each in told.past if each.t >= START + 2 * HOUR])
    assert_adds_up(found, reading)
    assert found.earlier[0] == pytest.approx(0.25 * (math.exp(-6 / 4) + math.exp(-5 / 4)))
    assert len(found.parts) == 4


def test_a_clamp_is_told_with_the_shift_that_met_it() -> None:
    told = folded([(START, (0.75, 0.0, 0.0)), (START + HOUR, (0.75, 0.0, 0.0))])
    (second, first), reading = told.explained(START + 2 * HOUR)[0].parts, told.read(START + 2 * HOUR)[0]
    asked = 0.75 * math.exp(-1 / 4) + 0.75
    assert second.cut[0] == pytest.approx((0.9 - asked) * math.exp(-1 / 4))  # baseline .1, so 1 is .9 away
    assert first.cut == (0.0, 0.0, 0.0)
    assert reading.mood[0] == pytest.approx(0.1 + 0.9 * math.exp(-1 / 4))


def test_a_change_of_the_profile_is_a_part_where_it_cuts() -> None:
    told = folded([(START, (0.5, 0.0, 0.0)), (START + HOUR, NARROW)])
    (change, event) = told.explained(START + 2 * HOUR)[0].parts
    assert (change.id, change.t, change.delta) == (b"", START + HOUR, (0.0, 0.0, 0.0))
    held = 0.5 * math.exp(-1 / 4)
    assert change.cut[0] == pytest.approx((0.2 - held) * math.exp(-1 / 4))
    assert event.left[0] == pytest.approx(held * math.exp(-1 / 4))
    assert all(part.id for part in folded([(START, (0.1, 0.0, 0.0)), (START, NARROW)]).explained(START)[0].parts)


def test_a_late_signal_is_flagged_and_counts_with_what_is_left_of_it() -> None:
    told = folded([(START, (0.25, 0.0, 0.0)), (START + 2 * HOUR, (0.25, 0.0, 0.0)), (START - HOUR, (0.125, 0.0, 0.0))])
    found, reading = told.explained(START + 3 * HOUR)
    assert reading.approximate
    assert [part.late for part in found.parts] == [False, False, True]
    assert found.parts[-1].left[0] == pytest.approx(0.125 * math.exp(-1))
    assert found.earlier == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_a_mood_before_the_base_does_not_contain_what_came_after_it_was_final() -> None:
    hours = [(START + n * HOUR, (0.25, 0.0, 0.0)) for n in (0, 2, 4, 1)]
    found, reading = folded(hours).explained(START + 3 * HOUR // 2)
    assert reading.approximate
    assert [part.t for part in found.parts] == [START]
    assert found.earlier == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    later = folded([*hours, (START + 6 * HOUR, (0.25, 0.0, 0.0)), (START + 8 * HOUR, (0.25, 0.0, 0.0))])
    found, reading = later.explained(START + 5 * HOUR)
    assert_adds_up(found, reading)
    assert [part.late for part in found.parts] == [False, False, True, False]
    assert found.earlier == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_the_newest_and_the_large_ones_are_listed() -> None:
    small = [(START + n * 1000, (0.001, 0.0, 0.0)) for n in range(200)]
    large = [(START + n * 1000 + 1, (0.01, 0.0, 0.0)) for n in range(5)]
    told = folded(sorted(small + large))
    found, reading = told.explained(START + 300_000)
    assert_adds_up(found, reading)
    assert len(found.parts) == NEWEST + 5
    assert found.unlisted == 150
    assert found.earlier[0] == pytest.approx(0.15, rel=0.05)
    assert min(max(map(abs, part.left)) for part in found.parts[NEWEST:]) > LEAST
    with mock.patch.object(module, "MOST", 52):
        assert len(told.explained(START + 300_000)[0].parts) == 52
    assert MOST == 500


def test_how_far_back_a_shift_may_count() -> None:
    assert reach_ms([], CALM) == 8 * 4 * HOUR
    assert 2 * math.exp(-8) < LEAST
    assert reach_ms([Revision(0, (0.0, 0.0, 0.0), EDGY)], CALM) == 8 * 87_600 * HOUR


def test_a_shift_whose_row_is_gone_says_what_it_asked_for() -> None:
    told = folded([(START + n * 2 * HOUR, (0.25, 0.0, 0.0)) for n in range(4)])
    past = [each._replace(point=None) if n == 1 else each for n, each in enumerate(told.past)]
    found, reading = told.explained(START + 7 * HOUR, past)
    assert_adds_up(found, reading)
    assert len(found.parts) == 4
    assert found.earlier == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_nothing_has_happened() -> None:
    found, reading = Told().explained(START)
    assert found == ((0.1, 0.0, -0.2), [], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0)
    assert reading.mood == found.baseline
