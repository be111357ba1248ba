"""The trend fold against its slow twin: any order, repetition, lateness and cut give the same bytes."""

from __future__ import annotations

import random
import struct
from itertools import zip_longest
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.affect import trend_row
from moodstream.affect.trends import SIGNALS, UNKNOWN, TrendRow, observe, turn_key
from moodstream.schemas.identity import hash_id
from support.slow_trends import Report, SlowTrends

START = 1_772_366_400_000
LAST = 253_402_300_799_999
"""The last millisecond of the year 9999."""

values = st.tuples(*[st.none() | st.floats(-1, 1, width=32)] * 7)
times = st.integers(START, START + 5) | st.sampled_from([0, START, LAST])
keys = st.integers(0, 7).map(lambda n: hash_id(f"turn {n}"))
reports = st.builds(Report, times, keys, st.binary(min_size=12, max_size=12), values)
histories = st.lists(reports, max_size=40, unique_by=lambda report: report.event)


def fold(row: TrendRow, history: list[Report]) -> TrendRow:
    for report in history:
        observe(row, report.key, report.event, report.t, report.values)
    return row


def drawn(count: int, seed: int) -> list[Report]:
    """A history of turns that are reported up to four times, late and out of order."""
    rng = random.Random(seed)  # noqa: S311
    history = []
    for n in range(count):
        turn = rng.randrange(max(n - 100, 0), n + 1) // 2
        known = [rng.choice([None, None, rng.random()]) for _ in range(7)]
        t = START + turn * 60_000 + int(rng.expovariate(1 / 600_000))
        history.append(Report(t, hash_id(f"turn {turn}"), hash_id(f"event {n}"), known))
    return history


@given(histories, st.sets(st.integers(0, 40)), st.integers(1, 4))
def test_every_step_equals_the_slow_twin(history: list[Report], cuts: set[int], most: int) -> None:
    row, twin = TrendRow.unpack(None), SlowTrends(most)
    with mock.patch.object(trend_row, "_KEPT", most):
        for place, report in enumerate(history):
            if place in cuts:  # a restart
                row = TrendRow.unpack(row.pack())
            fold(row, [report])
            twin.reports.append(report)
            assert TrendRow.unpack(row.pack()).pack() == row.pack() == twin.pack()


@given(histories, st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_and_repetition_leave_no_trace(history: list[Report], rng: random.Random, most: int) -> None:
    with mock.patch.object(trend_row, "_KEPT", most):
        expected = fold(TrendRow(), history).pack()
        shuffled = [*history, *rng.choices(history or [Report(0, b"", b"", [None] * 7)], k=5)]
        rng.shuffle(shuffled)
        row = TrendRow()
        for report in shuffled:
            fold(row, [report])
            if rng.random() < 0.3:
                row = TrendRow.unpack(row.pack())
        assert row.pack() == expected


@given(histories, st.lists(st.sampled_from(["turns", "reports", "pack", "restart", "newest", "empty"]), max_size=40))
def test_looking_into_a_row_leaves_no_trace(history: list[Report], looks: list[str]) -> None:
    row, twin = TrendRow(), SlowTrends()
    for report, look in zip_longest(history, looks):
        if report is not None:
            fold(row, [report])
            twin.reports.append(report)
        if look == "turns":
            standing = sorted(data for of_turn in row.turns.values() for _, data in of_turn)
            assert standing == row.reports()
            assert row.count == len(standing) >= len(row.turns)
        elif look == "reports":
            row.reports().clear()  # a list of its own
        elif look == "pack":
            row.pack()
        elif look == "restart":
            row = TrendRow.unpack(row.pack())
        elif look == "newest":
            assert all((row.newest(signal) is None) == (not row.observations(signal)) for signal in SIGNALS)
        assert row.empty == (not any(value is not None for one in twin.reports for value in one.values))
    assert row.pack() == twin.pack()


@given(histories, st.integers(1, 40))
def test_a_row_that_is_cut_short_or_too_long_is_refused(history: list[Report], count: int) -> None:
    body = fold(TrendRow(), history).pack()
    for broken in (body[:-count], body + bytes(count)):
        with pytest.raises((IndexError, struct.error)):
            TrendRow.unpack(broken)


@pytest.mark.parametrize("seed", range(4))
def test_long_histories_equal_the_slow_twin(seed: int) -> None:
    history, row, twin = drawn(700, seed), TrendRow(), SlowTrends()
    for start in range(0, len(history), 50):
        fold(row, history[start : start + 50])
        twin.reports += history[start : start + 50]
        assert row.pack() == twin.pack()
        row = row if seed % 2 else TrendRow.unpack(row.pack())
    for bit, signal in enumerate(SIGNALS):
        seen = [(t, struct.unpack(">f", struct.pack(">f", value))[0]) for t, _, _, value in twin.standing(bit)]
        assert row.observations(signal) == seen
        assert len(seen) == 64
        assert row.newest(signal) == seen[-1][0]


def test_what_is_beyond_64_is_not_seen_before_packing_either() -> None:
    row = fold(TrendRow(), [report := Report(START, hash_id("old"), hash_id("e"), (None,) * 6 + (1.0,))])
    fold(row, [report._replace(t=START + n, key=hash_id(f"{n}"), event=hash_id(f"{n}")) for n in range(1, 65)])
    assert row.observations("outcome_success")[0][0] == START + 1
    assert len(row.observations("outcome_success")) == 64
    assert len(row.turns) == 65
    row.pack()
    assert len(row.turns) == 64


def test_a_later_report_wins_only_where_it_knows_something() -> None:
    key = turn_key("bob", "m1")
    row = TrendRow()
    observe(row, key, hash_id("b"), START, (1.0, 5.0, None, None, None, None, None))
    observe(row, key, hash_id("a"), START + 9, (None, 6.0, None, 0.5, None, None, None))
    observe(row, key, hash_id("c"), START + 5, (0.0, None, None, 0.25, None, None, None))
    assert row.observations("responded") == [(START + 5, 0.0)]
    assert row.observations("response_time_ms") == [(START + 9, 6.0)]
    assert row.observations("sentiment_shift") == [(START + 9, 0.5)]
    assert row.observations("continued") == []
    assert row.newest("continued") is None
    assert [len(reports) for reports in row.turns.values()] == [2]


def test_ties_in_time_are_ordered_by_the_event() -> None:
    events = sorted([hash_id("a"), hash_id("b")])
    for order in (events, events[::-1]):
        row = TrendRow()
        for event in order:
            observe(row, turn_key("bob", "m"), event, START, (float(events.index(event)), *[None] * 6))
        assert row.observations("responded") == [(START, 1.0)]


def test_nothing_known_is_no_report() -> None:
    row = TrendRow()
    observe(row, turn_key("bob", "m"), hash_id("a"), START, UNKNOWN)
    assert row.empty
    assert row.pack() == bytes(2)
    assert TrendRow.unpack(row.pack()).empty


def test_a_row_at_its_limits_is_below_16_kb() -> None:
    row = TrendRow()
    for bit in range(7):
        for n in range(100):
            known = [1.0 if bit == place else None for place in range(7)]
            observe(row, hash_id(f"{bit} {n}"), hash_id(f"event {bit} {n}"), START + n * (LAST - START) // 99, known)
    body = row.pack()
    assert int.from_bytes(body[:2], "big") == 7 * 64
    assert 15_000 < len(body) < 16_000


def test_a_typical_row_is_below_4_kb() -> None:
    row = fold(
        TrendRow(), [Report(START + n, hash_id(f"{n}"), hash_id(f"e{n}"), [0.5] * 6 + [None]) for n in range(99)]
    )
    assert len(row.pack()) == 2 + 64 * (31 + 24)


def test_turns_of_different_agents_are_different() -> None:
    assert turn_key("a", "bc") != turn_key("ab", "c")
    assert turn_key("", "e") == hash_id("\0e")
    assert turn_key("ä", "m") == hash_id("ä\0m")
