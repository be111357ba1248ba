"""Looks at many rows against `summary`, which looks at one signal of one row."""

from __future__ import annotations

import random
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moodstream.affect import bulk, inference, statistics
from moodstream.affect.bulk import look_all
from moodstream.affect.student import two_sided_p
from moodstream.affect.trends import SIGNALS, TrendRow, observe
from moodstream.schemas.errors import InvalidQuery
from support.looking import assert_all_equal

START = 1_772_366_400_000
LAST = 253_402_300_799_999
HOUR = 3_600_000
SENTIMENT = SIGNALS.index("sentiment_shift")
LENGTH = SIGNALS.index("response_length")
LARGEST, LEAST = float(np.finfo(np.float32).max), 2.0**-149

KINDS = {
    "yes": lambda rng, at: float(rng.random() < 0.6),
    "rare": lambda rng, at: float(rng.random() < 0.06),
    "turned": lambda rng, at: float(rng.random() < (0.1 if at < 0.5 else 0.9)),
    "real": lambda rng, at: rng.gauss(0, 1),
    "count": lambda rng, at: rng.choice([0.0, 0.0, 0.0, 1.0, 2.5]),
    "step": lambda rng, at: (at > 0.6) * 3 + rng.gauss(0, 1),
    "clean step": lambda rng, at: float(at > 0.6),
    "trend": lambda rng, at: at * 4 + rng.gauss(0, 1),
    "straight line": lambda rng, at: at,
    "waves": lambda rng, at: float(int(at * 12) % 3),
    "equal": lambda rng, at: 7.25,
    "largest": lambda rng, at: rng.choice([LARGEST, -LARGEST, 1.0, 0.0]),
    "least": lambda rng, at: rng.choice([LEAST, 0.0, -0.0, 3 * LEAST]),
}

regular = st.lists(st.sampled_from([1.0, 0.0]), min_size=7, max_size=7)
"""All reports of a row know the same signals."""
recipes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "count": st.integers(0, 90) | st.sampled_from([9, 10, 11, 15, 16, 17, 63, 64, 65]),
        "start": st.sampled_from([0, START, LAST - 100_000 * HOUR]),
        "gap_ms": st.sampled_from([0, 1, 1000, 2 * HOUR, 24 * HOUR, 90 * HOUR]),
        "kinds": st.lists(st.sampled_from(sorted(KINDS)), min_size=7, max_size=7),
        "known": st.lists(st.sampled_from([1.0, 1.0, 0.9, 0.4, 0.0]), min_size=7, max_size=7) | regular,
        "again": st.sampled_from([0.0, 0.3]),
        "packed": st.booleans(),
    }
)
half_lives = st.sampled_from([168.0, 168.0, 168.0, 24.0, 1e-6, 1e9, 1e300, 5e-324])


def made(
    seed: int, count: int, start: int, gap_ms: int, kinds: list[str], known: list[float], again: float, packed: bool
) -> TrendRow:
    """A row of `count` reports; with `again`, some tell of an earlier turn, some come late, and some at one time."""
    rng, row, t = random.Random(seed), TrendRow(), start  # noqa: S311
    for n in range(count):
        t += round(rng.choice([gap_ms, rng.expovariate(1) * gap_ms, 0 if again else gap_ms]))
        turn = rng.randrange(n + 1) if rng.random() < again else n
        late = rng.randrange(10 * HOUR) if rng.random() < again else 0
        values = [
            KINDS[kind](rng, n / count) if rng.random() < p else None for kind, p in zip(kinds, known, strict=True)
        ]
        observe(row, turn.to_bytes(12, "big"), rng.randbytes(12), max(t - late, 0), values)
    return TrendRow.unpack(row.pack()) if packed else row


def row_of(signal: int, values: list[float], gap_ms: int = HOUR) -> TrendRow:
    row = TrendRow()
    for n, value in enumerate(values):
        known = [value if bit == signal else None for bit in range(7)]
        observe(row, n.to_bytes(12, "big"), bytes(12), START + n * gap_ms, known)
    return row


@settings(deadline=None)
@given(st.lists(recipes, max_size=5), half_lives)
def test_all_rows_equal_their_summaries(drawn: list[dict[str, object]], half_life: float) -> None:
    rows = [made(**recipe) for recipe in drawn]  # type: ignore[arg-type]
    with mock.patch.object(bulk, "_ROWS", 2):
        assert_all_equal(rows, half_life)
    assert [row.pack() for row in rows] == [made(**recipe).pack() for recipe in drawn]  # type: ignore[arg-type]


def test_what_is_drawn_has_all_verdicts() -> None:
    rng = random.Random(5)  # noqa: S311
    common = {"count": 60, "start": START, "gap_ms": 2 * HOUR, "known": [0.9] * 7, "again": 0.3, "packed": False}
    rows = [made(seed, kinds=rng.choices(sorted(KINDS), k=7), **common) for seed in range(30)]  # type: ignore[arg-type]
    looks = assert_all_equal(rows)
    assert (looks.change_ms >= 0).sum() > 20
    assert (looks.p < 1e-3).sum() > 20
    assert (looks.p > 0.2).sum() > 50


@settings(deadline=None)
@given(st.lists(st.integers(0, 1), min_size=16, max_size=64), st.sampled_from([0, LENGTH, SENTIMENT]))
@example([0] * 20 + [1, 0] + [1] * 20, SENTIMENT)
@example([0] * 20 + [1, 0] * 2 + [1] * 20, 0)
@example([0] * 30 + [1] * 3, 0)
@example([0] * 50 + [1] * 9, LENGTH)
@example([0] * 40 + [0, 1] * 12, LENGTH)
@example([0] * 24 + [1] * 40, SENTIMENT)
def test_splits_that_are_equally_good(values: list[int], signal: int) -> None:
    turned = sorted(values[: len(values) // 2]) + values[len(values) // 2 :]
    assert_all_equal([row_of(signal, [float(v) for v in series]) for series in (values, turned)])


def test_equally_good_splits_are_settled_as_for_one_series() -> None:
    row = row_of(SENTIMENT, [0.0] * 20 + [1.0, 0.0] + [1.0] * 20)
    with mock.patch.object(bulk, "change_point", return_value=33) as settled:
        looks = look_all([row])
    settled.assert_called_once()
    assert looks.change_ms[0, SENTIMENT] == START + 33 * HOUR


def test_one_clear_step_needs_no_settling() -> None:
    rng = random.Random(1)  # noqa: S311
    rows = [row_of(SENTIMENT, [rng.gauss(3 * (n > 30), 1) for n in range(60)]) for _ in range(20)]
    with mock.patch.object(bulk, "change_point") as settled:
        looks = look_all(rows)
    settled.assert_not_called()
    assert (looks.change_ms[:, SENTIMENT] > 0).all()


@pytest.mark.parametrize("nu", [8, 9, 10, 31, 61, 62])
def test_p_is_students(nu: int) -> None:
    t = np.concatenate((np.linspace(0, 12, 500), np.logspace(-8, 2, 100)))
    careful = np.where(np.arange(len(t)) % 2, 1.0, 0.25)
    share = t * t / (t * t + nu * careful)
    p = bulk._p(share, careful, np.full(len(t), nu + 2))
    assert p == pytest.approx(np.array([two_sided_p(float(each), nu) for each in t]), rel=1e-10, abs=0.0)


def test_lines_without_any_residual() -> None:
    rows = [row_of(SENTIMENT, [float(n * rise) for n in range(count)]) for count in range(10, 65) for rise in (1, -3)]
    looks = assert_all_equal(rows, half_life=1e9)
    assert (looks.p[:, SENTIMENT] == 0.0).all()


def test_rows_with_too_little_cost_no_test() -> None:
    rows = [row_of(SENTIMENT, [float(n) for n in range(count)]) for count in range(10)]
    with mock.patch.object(bulk, "_test") as tested:
        looks = look_all(rows)
    tested.assert_not_called()
    assert looks.observations[:, SENTIMENT].tolist() == list(range(10))
    assert_all_equal(rows)


def test_no_rows_and_empty_rows() -> None:
    assert look_all([]).p.shape == (0, len(SIGNALS))
    assert_all_equal([TrendRow(), row_of(0, [1.0] * 12), TrendRow(), TrendRow()])


def test_turns_of_one_time_are_in_the_order_of_their_keys() -> None:
    row = row_of(SENTIMENT, [float(n > 40) for n in range(80)], gap_ms=0)
    turns = list(row.turns.items())
    random.Random(3).shuffle(turns)  # noqa: S311
    row = TrendRow(dict(turns))
    looks = assert_all_equal([row])
    assert not looks.testable[0, SENTIMENT]
    assert looks.change_ms[0, SENTIMENT] == START


def test_a_turn_four_half_lives_old_counts() -> None:
    looks = assert_all_equal([row_of(0, [n % 2 for n in range(20)], gap_ms=gap) for gap in (48 * HOUR, 48 * HOUR + 1)])
    assert looks.observations[:, 0].tolist() == [15, 14]


def test_steps_that_are_just_seen_or_just_not() -> None:
    rng = random.Random(4)  # noqa: S311
    kinds = {"step": lambda rng, at: 2.0 * (at > 0.16) + rng.gauss(0, 1)}
    with mock.patch.dict(KINDS, kinds):
        rows = [
            made(seed, rng.randrange(40, 64), START, HOUR, ["step"] * 7, [1.0] * 7, 0.0, False) for seed in range(100)
        ]
    seen = assert_all_equal(rows).change_ms >= 0
    assert 100 < seen.sum() < seen.size - 100


def test_gaps_on_the_edge_of_sparse_are_those_of_a_summary() -> None:
    rows = [row_of(0, [n % 2 for n in range(count)], gap_ms=24 * HOUR + 7) for count in range(10, 29)]
    assert_all_equal([*rows, *(row_of(0, [n % 2 for n in range(20)], gap_ms=gap * HOUR) for gap in (23, 24, 25))])


def test_rules_are_those_for_one_series() -> None:
    assert bulk.WINDOW_HALF_LIVES == statistics.WINDOW_HALF_LIVES
    assert bulk.MS_PER_HOUR == statistics._MS_PER_HOUR
    for name in ("CHANGE_MARGIN", "CHANGE_THRESHOLD", "RARE_EXPECTED", "LARGEST_RHO", "NO_RESIDUAL"):
        assert getattr(bulk, name) == getattr(inference, f"_{name}")


@pytest.mark.parametrize("half_life", [0.0, -1.0, float("inf"), float("nan")])
def test_half_life_must_be_positive(half_life: float) -> None:
    with pytest.raises(InvalidQuery):
        look_all([], half_life)
