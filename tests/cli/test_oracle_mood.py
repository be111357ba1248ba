"""The mood rules of docs/rows.md, one by one, against the oracle."""

from __future__ import annotations

import math
from struct import pack, unpack_from

import pytest

from moodstream.cli.oracle.dynamics import Dynamics, Triple
from moodstream.cli.oracle.mood import KEPT_MS, OracleMood, Signal, cut

HOUR = 3_600_000
CALM = Dynamics((0.0, 0.0, 0.0), (4.0, 4.0, 4.0), (1.0, 1.0, 1.0))
T0 = 10**12


def ident(number: int) -> bytes:
    """An id of 12 bytes; greater numbers sort later."""
    return number.to_bytes(12, "big")


def signal(ms: int, number: int = 1, delta: float = 0.25) -> Signal:
    """A push on pleasure."""
    return Signal(T0 + ms, ident(number), (delta, 0.0, 0.0))


def folded(*signals: Signal, dynamics: Dynamics = CALM) -> OracleMood:
    """A mood after these signals."""
    mood = OracleMood()
    for one in signals:
        mood.signal(one, f"cause {one.id[-1]}", dynamics)
    return mood


def test_signals_are_kept_in_order_whatever_way_they_come() -> None:
    one, two, three = signal(0, 2), signal(0, 3), signal(5, 1)
    assert folded(three, two, one).pack() == folded(one, two, three).pack()
    assert folded(three, two, one).kept == [one, two, three]


def test_cause_and_newest_follow_the_greatest_time_and_id() -> None:
    mood = folded(signal(0, 2), signal(0, 3), signal(0, 1))
    assert (mood.newest, mood.cause) == ((T0, ident(3)), b"cause 3")


def test_what_is_older_than_an_hour_leaves_and_becomes_the_base() -> None:
    mood = folded(signal(0, 1, 0.5), signal(KEPT_MS, 2))
    assert mood.base is None
    (shift,) = mood.signal(signal(KEPT_MS + 1, 3), "c", CALM)
    assert mood.base == (T0, ident(1), (0.5, 0.0, 0.0))
    assert shift == (T0, ident(1), pack(">3dqB", 0.5, 0.0, 0.0, T0, 0))
    (shift,) = mood.signal(signal(2 * KEPT_MS + 1, 4), "c", CALM)
    x = 0.5 * math.exp(-HOUR / (4 * HOUR)) + 0.25
    assert shift.body == pack(">3dqB", x, 0.0, 0.0, T0 + KEPT_MS, 0)


def test_the_65th_signal_pushes_the_oldest_out() -> None:
    mood = folded(*[signal(n, n) for n in range(1, 65)])
    assert (mood.base, len(mood.kept)) == (None, 64)
    (shift,) = mood.signal(signal(65, 65), "c", CALM)
    assert (shift.id, len(mood.kept)) == (ident(1), 64)


def test_a_late_signal_fades_into_the_base() -> None:
    mood = folded(signal(0, 5, 0.5), signal(2 * HOUR, 6))
    before = mood.kept[:]
    (shift,) = mood.signal(signal(-HOUR, 4, 0.125), "late", CALM)
    assert mood.base is not None
    assert mood.base == (T0, ident(5), (0.5 + 0.125 * math.exp(-HOUR / (4 * HOUR)), 0.0, 0.0))
    assert mood.late == (1, T0 - HOUR, T0)
    assert (mood.kept, mood.cause) == (before, b"cause 6")
    assert shift == (T0 - HOUR, ident(4), pack(">3dqB", 0.125, 0.0, 0.0, T0 - HOUR, 1))
    mood.signal(signal(-2 * HOUR, 3), "late", CALM)
    mood.signal(signal(-1, 2), "late", CALM)
    assert mood.late == (3, T0 - 2 * HOUR, T0)


def test_ties_with_the_base_are_decided_by_the_id() -> None:
    mood = folded(signal(0, 5), signal(2 * HOUR, 6))
    mood.signal(signal(0, 4), "c", CALM)
    assert mood.late is not None
    on_time = folded(signal(0, 5), signal(2 * HOUR, 6))
    (shift,) = on_time.signal(signal(0, 7), "c", CALM)
    assert (on_time.late, shift.id) == (None, ident(7))


def test_shifts_after_a_late_signal_are_approximate_until_it_has_faded() -> None:
    quick = Dynamics((0.0, 0.0, 0.0), (0.1, 0.25, 0.1), (1.0, 1.0, 1.0))
    end = round(17 * 0.25 * HOUR)
    for after, flag in ((end, 1), (end + 1, 0)):
        mood = folded(signal(0, 5), signal(2 * HOUR, 6), dynamics=quick)
        mood.signal(signal(-5, 4), "late", quick)
        mood.signal(signal(after, 7), "c", quick)
        shifts = mood.signal(signal(after + 2 * HOUR, 8), "c", quick)
        assert [(one.id, one.body[-1]) for one in shifts] == [(ident(7), flag)]


@pytest.mark.parametrize(
    ("baseline", "largest", "delta", "x"),
    [(0.5, 1.0, 2.0, 0.5), (-0.5, 1.0, -2.0, -0.5), (0.0, 0.25, 2.0, 0.25), (0.75, 2.0, -2.0, -1.75)],
)
def test_the_mood_stays_within_its_bounds(baseline: float, largest: float, delta: float, x: float) -> None:
    dynamics = Dynamics((baseline,) * 3, (4.0,) * 3, (largest,) * 3)
    mood = folded(signal(0, 1, delta), signal(2 * HOUR, 2), dynamics=dynamics)
    assert mood.base is not None
    assert mood.base.x[0] == x


def test_a_profile_change_starts_anew_from_where_the_mood_is() -> None:
    mood = folded(signal(0, 1, 0.5), signal(HOUR // 2, 2, 0.5))
    new = Dynamics((0.5, 0.0, 0.0), (8.0, 8.0, 8.0), (0.25, 1.0, 1.0))
    t, x, shifts = mood.rebase(T0 + HOUR, CALM, new)
    assert (t, x) == (T0 + HOUR, (0.25, 0.0, 0.0))
    assert [one.id for one in shifts] == [ident(1), ident(2)]
    assert mood.base == (T0 + HOUR, ident(2), x)
    assert (mood.kept, mood.newest) == ([], (T0 + HOUR // 2, ident(2)))


def test_a_profile_change_decays_with_the_old_time_constant() -> None:
    mood = folded(signal(0, 1, 0.5))
    _, x, _ = mood.rebase(T0 + HOUR, CALM, CALM._replace(tau_hours=(1.0, 1.0, 1.0)))
    assert x == (0.5 * math.exp(-1 / 4), 0.0, 0.0)


def test_a_profile_change_cannot_lie_before_what_was_folded() -> None:
    mood = folded(signal(0, 1))
    assert mood.rebase(T0 - HOUR, CALM, CALM)[0] == T0
    assert mood.rebase(T0 + HOUR, CALM, CALM)[0] == T0 + HOUR
    assert mood.rebase(T0 + 5, CALM, CALM)[0] == T0 + HOUR


def test_a_profile_change_without_any_signal_leaves_no_trace_in_the_mood() -> None:
    mood = OracleMood()
    assert mood.rebase(T0, CALM, CALM) == (T0, (0.0, 0.0, 0.0), [])
    assert mood.base is None


def test_an_event_before_a_profile_change_is_late_and_may_be_the_newest() -> None:
    mood = folded(signal(0, 1))
    mood.rebase(T0 + HOUR, CALM, CALM)
    mood.signal(signal(HOUR // 2, 9), "later than any", CALM)
    assert mood.late == (1, T0 + HOUR // 2, T0 + HOUR)
    assert (mood.newest, mood.cause) == ((T0 + HOUR // 2, ident(9)), b"later than any")


def test_the_packed_row() -> None:
    mood = folded(signal(0, 5, 0.5), signal(2 * HOUR, 6), signal(2 * HOUR + 7, 7))
    mood.signal(signal(-HOUR, 4), "late", CALM)
    body = mood.pack()
    assert mood.base is not None
    assert body[0] == 3
    assert unpack_from(">3dq12s", body, 1) == (*mood.base.x, T0, ident(5))
    assert unpack_from(">Iqq", body, 45) == (1, T0 - HOUR, T0)
    assert body[65:74] == b"\x00\x07cause 7"
    assert body[74:] == pack(">q", T0 + 2 * HOUR + 7) + ident(7) + b"\x02" + pack(
        ">I12s3fI12s3f", 7, ident(6), 0.25, 0, 0, 0, ident(7), 0.25, 0, 0
    )


def test_a_cause_is_cut_at_a_character() -> None:
    assert cut("é" * 300) == ("é" * 256).encode()
    assert cut("a" + "é" * 300) == ("a" + "é" * 255).encode()
    assert cut("short") == b"short"


def test_axes_do_not_mix() -> None:
    dynamics = Dynamics((0.1, 0.2, 0.3), (1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    delta: Triple = (0.5, -0.5, 0.25)
    mood = OracleMood()
    mood.signal(Signal(T0, ident(1), delta), "c", dynamics)
    mood.signal(Signal(T0 + HOUR, ident(2), delta), "c", dynamics)
    mood.signal(Signal(T0 + 3 * HOUR, ident(3), delta), "c", dynamics)
    assert mood.base is not None
    assert mood.base.x == tuple(delta[axis] * math.exp(-1 / (axis + 1)) + delta[axis] for axis in range(3))
