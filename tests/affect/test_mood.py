"""The mood fold against its slow twins, in any order and any cut, and at the edges that docs/rows.md names."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.affect import mood
from moodstream.affect.mood import (
    Dynamics,
    MoodRow,
    Rebase,
    Revision,
    Shift,
    Signal,
    mood_at,
    mood_from_points,
    rebase,
    shift,
    trajectory_points,
)
from moodstream.affect.mood_row import Late
from moodstream.schemas.identity import hash_id
from support import slow_mood
from support.slow_mood import HOUR, Arrival, Profile, SlowMood

START = 1_772_366_400_000
CALM = Profile((0.1, 0.0, -0.2), (4.0 * HOUR, 4.0 * HOUR, 2.0 * HOUR), (1.0, 0.5, 2.0))
EDGY = Profile((-1.0, 0.9, 0.0), (0.01 * HOUR, 100.0 * HOUR, 87_600.0 * HOUR), (0.3, 2.0, 1e-9))
DYNAMICS = {profile: Dynamics(*profile) for profile in (CALM, EDGY)}

axis = st.floats(-2, 2) | st.sampled_from([0.0, -0.0, 0.25, 1e-40, 5.0, -1e308])
times = st.integers(0, 8).map(lambda n: START + n * HOUR // 4) | st.integers(START, START + 3 * HOUR)
signals = st.builds(
    Arrival, times, st.binary(min_size=12, max_size=12), st.tuples(axis, axis, axis), st.text(max_size=3)
)
histories = st.lists(signals, min_size=1, max_size=24, unique_by=lambda signal: signal.id)


def fold(row: MoodRow, signal: Arrival, profile: Profile = CALM) -> list[Shift]:
    return shift(row, Signal(signal.t, signal.id, signal.delta), DYNAMICS[profile], signal.cause)


def numbered(n: int, t: int, delta: float = 0.1) -> Arrival:
    return Arrival(t, hash_id(f"e{n}"), (delta, -delta, delta / 2), f"cause {n}")


def kept_at_most(most: int) -> mock._patch[int]:
    return mock.patch.object(mood, "_KEPT", most)


def disordered(count: int, gap: int, jitter: int, seed: int) -> list[Arrival]:
    """A history in time order and an arrival order that stays inside the kept signals."""
    rng = random.Random(seed)  # noqa: S311
    ordered = [numbered(n, START + n * gap + rng.randrange(gap), rng.uniform(-0.5, 0.5)) for n in range(count)]
    return sorted(ordered, key=lambda signal: signal.t + rng.uniform(0, jitter))


@given(histories, st.sets(st.integers(0, 24)), st.sampled_from([CALM, EDGY]), st.integers(1, 4))
def test_every_step_equals_the_slow_twin(history: list[Arrival], cuts: set[int], profile: Profile, most: int) -> None:
    row, twin, written = MoodRow.unpack(None), SlowMood(most), {}
    with kept_at_most(most):
        for place, signal in enumerate(history):
            if place in cuts:  # a restart
                row = MoodRow.unpack(row.pack())
            written |= {one.id: one.pack() for one in fold(row, signal, profile)}
            twin.signal(profile, signal)
            assert row.pack() == twin.pack()
    assert written == twin.shifts


@given(histories, st.data())
def test_profiles_change_at_their_place_in_the_log(history: list[Arrival], data: st.DataObject) -> None:
    row, twin, now = MoodRow(), SlowMood(), CALM
    written = {}
    for signal in history:
        if data.draw(st.booleans(), "change"):
            t, new = data.draw(times, "at"), data.draw(st.sampled_from([CALM, EDGY]), "to")
            made, shifts = rebase(row, t, DYNAMICS[now], DYNAMICS[new])
            assert made == (made.t, tuple(twin.rebase(now, new, t)[1]))
            written |= {one.id: one.pack() for one in shifts}
            now = new
        written |= {one.id: one.pack() for one in fold(row, signal, now)}
        twin.signal(now, signal)
        assert row.pack() == twin.pack()
        row = MoodRow.unpack(row.pack())
    assert written == twin.shifts


@pytest.mark.parametrize(("count", "gap", "jitter"), [(60, 30_000, HOUR), (200, 120_000, 1_000_000), (50, HOUR, 0)])
def test_order_inside_the_horizon_leaves_no_trace(count: int, gap: int, jitter: int) -> None:
    for seed in range(5):
        history = disordered(count, gap, jitter, seed)
        row = MoodRow()
        for signal in history:
            fold(row, signal)
        assert row.late is None
        assert row.pack() == slow_mood.row_of_set(CALM, history)
        in_order = MoodRow()
        shifts = [one for signal in sorted(history) for one in fold(in_order, signal)]
        assert row.pack() == in_order.pack()
        assert shifts == sorted(shifts)


@given(st.permutations([numbered(n, START + n // 2 * 60_000) for n in range(9)]), st.integers(2, 5))
def test_any_order_of_one_hour_gives_one_row(history: list[Arrival], chunk: int) -> None:
    row = MoodRow()
    for place, signal in enumerate(history):
        row = MoodRow.unpack(row.pack()) if place % chunk == 0 else row
        assert fold(row, signal) == []
    assert row.pack() == slow_mood.row_of_set(CALM, history)


def test_reading_equals_the_whole_history_folded_again() -> None:
    history = disordered(150, 60_000, 1_200_000, 3)
    row, written = MoodRow(), []
    for signal in history:
        written += fold(row, signal)
    points = [*written, *trajectory_points(row, DYNAMICS[CALM])]
    before_base = 0
    for t in range(START - HOUR, START + 5 * HOUR, 377_777):
        reading = mood_at(row, t, DYNAMICS[CALM])
        if reading.before_base:
            before_base += 1
            reading = mood_from_points(points, [], t, initial=DYNAMICS[CALM])
        assert list(reading.displacement) == slow_mood.mood_at(CALM, history, t)
        assert not reading.approximate
        assert reading.mood == tuple(b + x for b, x in zip(CALM.baseline, reading.displacement, strict=True))
    assert before_base > 10


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1800), st.tuples(axis, axis, axis)), max_size=12),
    st.lists(st.tuples(st.integers(0, 1800), st.sampled_from([CALM, EDGY])), max_size=2),
)
def test_the_closed_form_is_what_a_simulation_does_step_by_step(
    moves: list[tuple[int, tuple[float, float, float]]], changes: list[tuple[int, Profile]]
) -> None:
    """Half an hour in steps of a second, in each of which a little of what is left goes; and read at every step."""
    row, now, x = MoodRow(), CALM, [0.0, 0.0, 0.0]
    for second in range(1801):
        t = START + second * 1000
        for n, (_, delta) in enumerate(move for move in moves if move[0] == second):
            fold(row, Arrival(t, hash_id(f"{second} {n}"), delta), now)
        for delta in [row.kept[at][2:] for at in range(len(row.kept)) if row.kept[at][0] == t]:
            x = [slow_mood.limit(now, a, x[a] + delta[a]) for a in range(3)]
        for _, new in [change for change in changes if change[0] == second]:
            rebase(row, t, DYNAMICS[now], DYNAMICS[new])
            x, now = [slow_mood.limit(new, a, x[a]) for a in range(3)], new
        assert mood_at(row, t, DYNAMICS[now]).displacement == pytest.approx(tuple(x), abs=1e-4)
        x = [value * (1 - 1000 / tau / 2) / (1 + 1000 / tau / 2) for value, tau in zip(x, now.tau, strict=True)]


@given(histories, times)
def test_a_read_writes_nothing_and_may_come_at_any_time(history: list[Arrival], t: int) -> None:
    read, unread = MoodRow(), MoodRow()
    for signal in history:
        assert fold(read, signal) == fold(unread, signal)
        first = mood_at(read, t, DYNAMICS[CALM])
        assert first == mood_at(MoodRow.unpack(unread.pack()), t, DYNAMICS[CALM])
        newest = mood_at(read, read.newest_t, DYNAMICS[CALM])
        assert newest == mood_at(MoodRow.unpack(unread.pack()), read.newest_t, DYNAMICS[CALM])
        assert read.pack() == unread.pack()
        assert all(-1 <= value <= 1 for value in newest.mood)


def test_trajectory_follows_profile_changes() -> None:
    row, revisions, written, now = MoodRow(), [], [], CALM
    twin: list[tuple[int, tuple[float, ...], Profile]] = []
    for n in range(40):
        t = START + n * HOUR // 3
        if n % 11 == 10:
            new = EDGY if now is CALM else CALM
            made, shifts = rebase(row, t, DYNAMICS[now], DYNAMICS[new])
            written += shifts
            revisions.append(Revision(made.t, made.x, DYNAMICS[new]))
            now = new
            twin.append((t, made.x, now))
        else:
            written += fold(row, numbered(n, t), now)
            twin.append((t, mood_at(row, t, DYNAMICS[now]).displacement, now))
    points = [*written, *trajectory_points(row, DYNAMICS[now])]
    for (t, x, profile), (later, _, _) in pairwise(twin):
        for moment in (t, t + 1, (t + later) // 2, later - 1):
            found = mood_from_points(points, revisions, moment, initial=DYNAMICS[CALM])
            decayed = [x[a] * math.exp(-(moment - t) / profile.tau[a]) for a in range(3)]
            assert list(found.displacement) == decayed


def test_late_signals_are_added_decayed_counted_and_flagged() -> None:
    row, dynamics = MoodRow(), DYNAMICS[CALM]
    fold(row, numbered(1, START))
    (left,) = fold(row, numbered(2, START + 2 * HOUR))
    assert left == Shift(START, hash_id("e1"), tuple(slow_mood.after(CALM, [numbered(1, START)])), False)
    (late,) = fold(row, numbered(3, START - HOUR, 0.4))
    assert late.approximate
    assert late.x == tuple(slow_mood.after(CALM, [numbered(3, 0, 0.4)]))
    assert row.late == Late(1, START - HOUR, START)
    assert row.cause == "cause 2"
    (late,) = fold(row, numbered(4, START - 2 * HOUR))
    assert row.late == Late(2, START - 2 * HOUR, START)
    assert [one.approximate for one in fold(row, numbered(5, START + 9 * HOUR))] == [True]
    fading = START + 17 * 4 * HOUR
    assert not mood_at(row, fading + 1, dynamics).approximate
    assert mood_at(row, fading, dynamics).approximate
    fold(row, numbered(6, fading))
    fold(row, numbered(7, fading + HOUR + 1))
    assert [one.approximate for one in fold(row, numbered(8, fading + 3 * HOUR))] == [False]
    assert MoodRow.unpack(row.pack()) == row


def test_a_point_is_approximate_where_a_signal_came_after_it_was_final() -> None:
    point, dynamics = Shift(START, b"a" * 12, (0.1, 0.0, 0.0), False), DYNAMICS[CALM]
    for late, expected in (
        (None, False),
        (Late(1, START + 5, START + 9), True),
        (Late(1, START + 6, START + 9), False),
    ):
        assert mood_from_points([point], [], START + 5, initial=dynamics, late=late).approximate is expected
    assert mood_from_points([point._replace(approximate=True)], [], START + 5, initial=dynamics).approximate


def test_a_time_before_all_kept_profile_changes_is_approximate() -> None:
    revisions = [Revision(START + n, (0.1, 0.0, 0.0), DYNAMICS[EDGY]) for n in range(16)]
    assert mood_from_points([], revisions, START - 1, initial=DYNAMICS[CALM]).approximate
    assert not mood_from_points([], revisions[:15], START - 1, initial=DYNAMICS[CALM]).approximate
    assert not mood_from_points([], revisions, START + 3, initial=DYNAMICS[CALM]).approximate


def test_a_shift_and_a_profile_change_at_one_time_meet() -> None:
    row = MoodRow()
    fold(row, numbered(1, START, 0.8))
    made, shifts = rebase(row, START, DYNAMICS[CALM], DYNAMICS[EDGY])
    revisions = [Revision(made.t, made.x, DYNAMICS[EDGY])]
    found = mood_from_points(shifts, revisions, START, initial=DYNAMICS[CALM])
    assert found.displacement == made.x != shifts[0].x
    assert found == mood_at(row, START, DYNAMICS[EDGY])


def test_a_profile_change_before_any_signal_takes_nothing_over() -> None:
    row = MoodRow()
    made, shifts = rebase(row, START, DYNAMICS[CALM], DYNAMICS[EDGY])
    assert (made, shifts, row) == (Rebase(START, (0.0, 0.0, 0.0)), [], MoodRow())
    fold(row, numbered(1, START - 5), EDGY)  # it happened earlier, but came later in the log
    revisions = [Revision(made.t, made.x, DYNAMICS[EDGY])]
    found = mood_from_points(trajectory_points(row, DYNAMICS[EDGY]), revisions, START + 7, initial=DYNAMICS[CALM])
    assert found == mood_at(row, START + 7, DYNAMICS[EDGY])


def test_a_profile_change_may_cut_off_all_there_is() -> None:
    """EDGY rests at the lowest pleasure: what lies below is cut to nothing, which is not the same as taking nothing."""
    row, revisions, points, now = MoodRow(), [], [], CALM
    fold(row, Arrival(START, b"i" * 12, (-0.25, 0.0, 0.0)))
    for n, new in ((1, EDGY), (2, CALM)):
        made, shifts = rebase(row, START + n * HOUR, DYNAMICS[now], DYNAMICS[new])
        points += shifts
        revisions.append(Revision(made.t, made.x, DYNAMICS[new]))
        now = new
        assert made.x == (0.0, 0.0, 0.0)
        for t in (made.t, made.t + HOUR // 2):
            found = mood_from_points(points, revisions, t, initial=DYNAMICS[CALM])
            assert found == mood_at(row, t, DYNAMICS[now])
            assert found.displacement == (0.0, 0.0, 0.0)


def test_the_window_is_64_signals_and_one_hour() -> None:
    row = MoodRow()
    assert [one for n in range(64) for one in fold(row, numbered(n, START + n))] == []
    assert [one.t for one in fold(row, numbered(64, START + HOUR))] == [START]
    assert [one.t for one in fold(row, numbered(65, START + HOUR + 2))] == [START + 1]
    hour = MoodRow()
    fold(hour, numbered(1, START))
    assert fold(hour, numbered(2, START + HOUR)) == []
    assert [one.t for one in fold(hour, numbered(3, START + HOUR + 1))] == [START]


def test_an_agent_without_signals_is_at_its_baseline() -> None:
    reading = mood_at(MoodRow(), START, DYNAMICS[CALM])
    assert reading == ((0.1, 0.0, -0.2), (0.0, 0.0, 0.0), False, False)
    assert MoodRow().empty
    assert MoodRow.unpack(MoodRow().pack()) == MoodRow()
    assert MoodRow().pack() == SlowMood().pack()


def test_a_time_before_the_base_is_left_to_the_trajectory() -> None:
    row = MoodRow()
    fold(row, numbered(1, START))
    assert not mood_at(row, START - 1, DYNAMICS[CALM]).before_base
    fold(row, numbered(2, START + 2 * HOUR))
    assert mood_at(row, START - 1, DYNAMICS[CALM]).before_base
    assert not mood_at(row, START, DYNAMICS[CALM]).before_base


def test_another_profile_reads_another_mood_from_the_same_row() -> None:
    row = MoodRow()
    fold(row, numbered(1, START))
    there = mood_at(row, START, DYNAMICS[CALM])
    other = mood_at(row, START, DYNAMICS[EDGY])
    assert there != other
    assert mood_at(row, START, Dynamics(*CALM)) == there
    mood_at(row, START, DYNAMICS[EDGY])  # what it computed must not be taken for what the fold continues from
    fold(row, numbered(2, START + 1))
    assert mood_at(row, START + 1, DYNAMICS[CALM]) == mood_at(MoodRow.unpack(row.pack()), START + 1, DYNAMICS[CALM])


@pytest.mark.parametrize("cause", ["", "a" * 512, "a" * 513, "é" * 300, "a" + "é" * 300, "€" * 200, "x" + "😀" * 200])
def test_the_newest_cause_is_cut_at_a_character(cause: str) -> None:
    row = MoodRow()
    arrival = Arrival(START, b"i" * 12, (0.1, 0.0, 0.0), cause)
    fold(row, arrival)
    fold(row, numbered(1, START - 1))
    assert len(row.cause.encode()) <= 512
    assert cause.startswith(row.cause)
    assert len(cause[: len(row.cause) + 1].encode()) > 512 or row.cause == cause
    assert MoodRow.unpack(row.pack()).cause == row.cause


def test_a_row_at_its_limits_is_below_6_kb() -> None:
    row = MoodRow()
    for n in range(300):
        fold(row, Arrival(START + n, hash_id(str(n)), (2.0, -2.0, 2.0), "😀" * 3000))
    fold(row, numbered(0, START - 5))
    assert len(row.kept) == 64
    assert row.late is not None
    assert 2_300 < len(row.pack()) < 6_000


@given(axis, axis, axis)
def test_a_delta_is_rounded_once(p: float, a: float, d: float) -> None:
    once = mood.signal_delta((p, a, d))
    assert once == mood.signal_delta(once) == (slow_mood.single(p), slow_mood.single(a), slow_mood.single(d))


@pytest.mark.parametrize(
    ("pad", "name"),
    [
        ((0.5, 0.5, 0.5), "exuberant"), ((0.5, 0.5, -0.5), "dependent"), ((0.5, -0.5, 0.5), "relaxed"),
        ((0.5, -0.5, -0.5), "docile"), ((-0.5, 0.5, 0.5), "hostile"), ((-0.5, 0.5, -0.5), "anxious"),
        ((-0.5, -0.5, 0.5), "disdainful"), ((-0.5, -0.5, -0.5), "bored"), ((0.0, 0.0, 0.0), "neutral"),
        ((0.0, 0.0, 0.1), "exuberant"), ((0.0, 0.0, 0.0999), "neutral"), ((-0.2, 0.0, -0.0), "hostile"),
    ],
)  # fmt: skip
def test_octants(pad: tuple[float, float, float], name: str) -> None:
    assert mood.octant(pad) == name
