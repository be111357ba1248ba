"""Series that mean nothing, or too much: a defined label, every number finite, no warning, in bulk as alone."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest

from moodstream.affect.mood import Dynamics, MoodRow, Signal, mood_at, shift
from moodstream.affect.statistics import TrendSummary, notice_step, summary
from moodstream.affect.trends import SIGNALS, TrendRow, observe, turn_key, values_of
from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.identity import hash_id
from moodstream.schemas.rules import AppraisalRules
from support import logs
from support.looking import START, assert_all_equal

HOUR = 3_600_000
DECADE = 87_660 * HOUR
LAST = 253_402_300_799_999
FLAGS = {SIGNALS.index(name) for name in ("responded", "continued", "outcome_success")}
LARGEST, LEAST = 3.4028234663852886e38, 2.0**-149

Observed = list[tuple[int, float]]
"""Time in ms, value as a row keeps it."""

CASES: dict[str, tuple[Observed, str]] = {
    "nothing": ([], "insufficient"),
    "one value": ([(START, 1.0)], "insufficient"),
    "one value long ago": ([(0, 1.0)], "insufficient"),
    "nine values": ([(START + n * HOUR, float(n)) for n in range(9)], "insufficient"),
    "one time": ([(START, n % 2.0) for n in range(64)], "insufficient"),
    "one time but for one": ([*[(START, n % 2.0) for n in range(63)], (START + 1, 1.0)], "stable"),
    "all the same": ([(START + n * HOUR, 1.0) for n in range(64)], "stable"),
    "all nothing": ([(START + n * HOUR, 0.0) for n in range(64)], "stable"),
    "largest, all the same": ([(START + n * HOUR, LARGEST) for n in range(64)], "stable"),
    "largest, in turns": ([(START + n * HOUR, LARGEST * (-1) ** n) for n in range(64)], "stable"),
    "least, all the same": ([(START + n * HOUR, LEAST) for n in range(64)], "stable"),
    "least, in turns": ([(START + n * HOUR, LEAST * (n % 2)) for n in range(64)], "stable"),
    "largest rise in a millisecond a turn": ([(START + n, LARGEST * n / 64) for n in range(64)], "improving"),
    "least rise": ([(START + n * HOUR, LEAST * n) for n in range(64)], "improving"),
    "one that sticks out": ([(START + n * HOUR, LARGEST if n == 40 else 0.0) for n in range(64)], "stable"),
    "decades apart": ([(n * DECADE, n % 2.0) for n in range(64)], "insufficient"),
    "decades between two weeks": (
        [*[(n * HOUR, n % 2.0) for n in range(40)], *[(LAST - (19 - n) * HOUR, n % 2.0) for n in range(20)]],
        "stable",
    ),
    "the last times there are": ([(LAST - (40 - n), n % 2.0) for n in range(40)], "stable"),
}


def row_of(observed: Observed, bits: set[int] | None = None) -> TrendRow:
    """A row in which some signals, or all, have these values."""
    row = TrendRow()
    for n, (t, value) in enumerate(observed):
        known = [value if bits is None or bit in bits else None for bit in range(7)]
        observe(row, hash_id(f"turn {n}"), hash_id(f"event {n}"), t, known)
    return TrendRow.unpack(row.pack())


def assert_sound(found: TrendSummary) -> None:
    numbers = [value for value in asdict(found).values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers)), found
    json.dumps(asdict(found), allow_nan=False)
    assert found.p is None or 0.0 <= found.p <= 1.0
    assert notice_step("stable", found) in ("stable", "improving", "declining")


@pytest.mark.parametrize("name", CASES)
def test_series_have_a_label_and_finite_numbers(name: str) -> None:
    observed, label = CASES[name]
    row = row_of(observed)
    for as_of in (0, START, LAST):
        for signal in SIGNALS:
            found = summary(row, signal, as_of, sign=1)
            assert_sound(found)
            assert found.direction == label
            assert summary(row, signal, as_of, sign=0).direction in ("insufficient", "stable")


def test_series_are_the_same_in_bulk() -> None:
    rows = [row_of(observed) for observed, _ in CASES.values()]
    for half_life in (168.0, 1e-3, 1e6):
        assert_all_equal(rows, half_life)
    assert_all_equal(rows[::-1] * 40)  # more than are looked at together


@pytest.mark.parametrize("name", CASES)
def test_signals_that_are_only_null_say_nothing_whatever_the_others_are(name: str) -> None:
    row = row_of(CASES[name][0], FLAGS)
    for bit, signal in enumerate(SIGNALS):
        if bit not in FLAGS:
            assert summary(row, signal, START) == TrendSummary(
                signal, summary(row, signal, START).sign, 0, "insufficient"
            )
    looks = assert_all_equal([row])
    assert all(looks.observations[0, bit] == 0 for bit in range(7) if bit not in FLAGS)


def test_reports_of_only_nulls_leave_an_empty_row() -> None:
    row = TrendRow()
    for n in range(100):
        event = logs.engagement(f"e{n}", n, turn=f"m{n}")
        observe(row, turn_key("bob", f"m{n}"), hash_id(f"e{n}"), START + n, values_of(event, AppraisalRules()))
    assert row.empty
    assert len(row.pack()) == 2


def test_a_turn_that_is_judged_a_thousand_times_is_one_observation() -> None:
    row, key = TrendRow(), turn_key("bob", "m")
    for n in range(1000):
        known = [float((n + bit) % 2) if n % 7 == bit else None for bit in range(7)]
        observe(row, key, hash_id(f"e{n}"), START + n * HOUR, known)
    assert len(row.turns) == 1
    assert len(row.pack()) == 2 + 7 * 35
    for signal in SIGNALS:
        found = summary(row, signal, START)
        assert (found.observations, found.direction) == (1, "insufficient")
    assert_all_equal([row])


def test_ten_thousand_other_agents_leave_a_bounded_row() -> None:
    row = TrendRow()
    for n in range(10_000):
        observe(row, turn_key(f"other {n}", "m"), hash_id(f"e{n}"), START + n * 1000, [n % 3 / 2] * 6 + [None])
        if n % 100 == 0:
            row = TrendRow.unpack(row.pack())
    assert len(row.pack()) == 2 + 64 * 55
    assert summary(row, "responded", START).observations == 64


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"response_time_ms": 1e308}, "response_time_ms"),
        ({"response_time_ms": math.inf}, "response_time_ms"),
        ({"response_time_ms": -1}, "response_time_ms"),
        ({"response_length": 10**308}, "response_length"),
        ({"reaction_count": 2**53}, "reaction_count"),
        ({"sentiment_shift": 1e308}, "sentiment_shift"),
        ({"sentiment_shift": math.nan}, "sentiment_shift"),
    ],
)
def test_numbers_without_meaning_are_refused_at_the_edge(fields: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        logs.engagement("e", **fields)
    assert (caught.value.field, caught.value.rule in ("range", "finite")) == (field, True)


@pytest.mark.parametrize("tiny", [1e-308, 5e-324, -1e-308])
def test_numbers_next_to_nothing_are_nothing(tiny: float) -> None:
    row = TrendRow()
    for n in range(20):
        event = logs.engagement(f"e{n}", turn=f"m{n}", sentiment_shift=tiny, response_time_ms=abs(tiny))
        observe(row, hash_id(f"{n}"), hash_id(f"e{n}"), START + n * HOUR, values_of(event, AppraisalRules()))
    for signal in ("sentiment_shift", "response_time_ms"):
        found = summary(row, signal, START)
        assert_sound(found)
        assert (found.direction, found.slope_per_hour, found.observations) == ("stable", 0.0, 20)


@pytest.mark.parametrize("tau_hours", [5e-324, 1e-308, 1e-3, 87_600.0])
@pytest.mark.parametrize("bound", [1e-308, 2.0])
def test_moods_are_finite_at_the_edges_of_time_and_of_profiles(tau_hours: float, bound: float) -> None:
    tau = tau_hours * 3_600_000.0
    dynamics, row = Dynamics((-1.0, 1.0, 0.0), (tau, tau, tau), (bound, bound, bound)), MoodRow()
    for t in (LAST, 0, START, LAST, 1, START):
        for n, delta in enumerate((2.0, -2.0, 1e-308, -0.0)):
            shift(row, Signal(t, hash_id(f"{t} {n}"), (delta, -delta, delta)), dynamics, "why")
            for at in (0, t, LAST):
                reading = mood_at(row, at, dynamics)
                assert all(-1.0 <= value <= 1.0 for value in reading.mood)
                assert all(math.isfinite(value) for value in reading.displacement)
    assert MoodRow.unpack(row.pack()) == row
