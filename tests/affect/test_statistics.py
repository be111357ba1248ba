"""What is reported of a trend row: every number of contract §5, its guards, and when a notice is due."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.affect.statistics import TrendSummary, notice_step, series, summary
from moodstream.affect.trends import SIGNALS, TrendRow, observe
from moodstream.schemas.errors import InvalidQuery
from moodstream.schemas.identity import hash_id
from support import reference_statistics as reference

START = 1_772_366_400_000
HOUR = 3_600_000


def row_of(signal: str, observed: list[tuple[float, float]]) -> TrendRow:
    """A row with values of one signal, at hours after the start."""
    row, bit = TrendRow(), SIGNALS.index(signal)
    for n, (hours, value) in enumerate(observed):
        known = [value if bit == place else None for place in range(7)]
        observe(row, hash_id(f"turn {n}"), hash_id(f"event {n}"), START + round(hours * HOUR), known)
    return row


def about(signal: str, observed: list[tuple[float, float]], as_of: float | None = None, **more: float) -> TrendSummary:
    at = max((hours for hours, _ in observed), default=0.0) if as_of is None else as_of
    return summary(row_of(signal, observed), signal, START + round(at * HOUR), **more)  # type: ignore[arg-type]


def rising(n: int, slope: float = 0.1) -> list[tuple[float, float]]:
    return [(float(h), slope * h + 0.01 * (h * 7 % 5)) for h in range(n)]


def test_nothing_observed() -> None:
    found = about("responded", [])
    assert found == TrendSummary("responded", 1, 0, "insufficient")


def test_a_single_observation() -> None:
    found = about("responded", [(0.0, 1.0)])
    assert (found.observations, found.rate, found.decayed_mean, found.decayed_count) == (1, 1.0, 1.0, 1.0)
    assert (found.direction, found.slope_per_hour, found.p, found.volatility) == ("insufficient", None, None, None)
    assert (found.duration_hours, found.median_gap_hours, found.newest_ms) == (0.0, None, START)


def test_the_slope_is_the_reference_on_the_window() -> None:
    rng = np.random.default_rng(5)
    observed = [
        (float(h), float(np.float32(v)))
        for h, v in zip(np.cumsum(rng.exponential(30, 80)), rng.random(80), strict=True)
    ]
    found = about("sentiment_shift", observed)
    newest = observed[-1][0]
    used = [(h, v) for h, v in observed[-64:] if newest - h <= 4 * 168]
    assert 10 < found.observations == len(used) < 64
    hours, y = (np.array(column) for column in zip(*used, strict=True))
    slope, error, _ = reference.slope_test(hours, y, 168.0)
    assert (found.slope_per_hour, found.standard_error) == pytest.approx((slope, error), rel=1e-4)
    assert found.delta == pytest.approx(slope * (hours[-1] - hours[0]), rel=1e-4)
    assert found.duration_hours == pytest.approx(hours[-1] - hours[0], rel=1e-6)
    assert found.median_gap_hours == pytest.approx(np.median(np.diff(hours)), rel=1e-5)


@pytest.mark.parametrize(
    ("signal", "slope", "sign", "direction"),
    [
        ("sentiment_shift", 0.1, None, "improving"),
        ("sentiment_shift", -0.1, None, "declining"),
        ("response_time_ms", 0.1, None, "declining"),
        ("response_time_ms", -0.1, None, "improving"),
        ("response_time_ms", 0.1, 1, "improving"),
        ("reaction_count", 0.1, 0, "stable"),
    ],
)
def test_direction_follows_the_sign(signal: str, slope: float, sign: int | None, direction: str) -> None:
    found = about(signal, rising(20, slope), sign=sign)  # type: ignore[arg-type]
    assert found.direction == direction
    assert found.slope_per_hour == pytest.approx(slope, rel=0.1)
    assert found.p is not None
    assert found.p < 1e-6


def test_ten_observations_are_the_least() -> None:
    assert about("sentiment_shift", rising(9)).direction == "insufficient"
    assert about("sentiment_shift", rising(10)).direction == "improving"


def test_equal_times_are_insufficient_and_equal_values_stable() -> None:
    found = about("sentiment_shift", [(5.0, n % 3 / 3) for n in range(30)])
    assert (found.direction, found.slope_per_hour, found.acceleration) == ("insufficient", None, None)
    found = about("sentiment_shift", [(float(n), 0.1) for n in range(30)])
    assert (found.direction, found.slope_per_hour, found.p, found.delta) == ("stable", 0.0, 1.0, 0.0)
    assert found.change_at_ms is None


def test_the_window_is_four_half_lives_before_the_newest() -> None:
    observed = [(0.0, 1.0), (1.0, 0.0), *[(672.0 + n / 64, 1.0) for n in range(1, 65)]]
    assert about("responded", observed).observations == 64
    assert about("responded", [(0.0, 0.0), (672.0, 1.0)]).observations == 2
    assert about("responded", [(0.0, 0.0), (672.001, 1.0)]).observations == 1
    assert about("responded", [(0.0, 0.0), (672.001, 1.0)], half_life_hours=200.0).observations == 2


def test_decay_counts_from_as_of() -> None:
    observed = [(0.0, 0.0), (168.0, 1.0)]
    now = about("responded", observed)
    assert now.decayed_count == pytest.approx(1.5)
    later = about("responded", observed, 336.0)
    assert later.decayed_count == pytest.approx(0.75)
    assert about("responded", observed, 0.0).decayed_count == pytest.approx(2.0)
    assert now.decayed_mean == later.decayed_mean == pytest.approx(1 / 1.5)
    assert now.rate == later.rate == 0.5
    assert about("responded", observed, 1e7).decayed_mean == now.decayed_mean


def test_as_of_changes_neither_label_nor_slope() -> None:
    observed = rising(40)
    first, last = about("sentiment_shift", observed, 0.0), about("sentiment_shift", observed, 1e6)
    assert replace(first, decayed_count=0.0, stale=True) == replace(last, decayed_count=0.0)


def test_stale_after_four_half_lives() -> None:
    assert not about("responded", [(0.0, 1.0)], 672.0).stale
    assert about("responded", [(0.0, 1.0)], 672.001).stale
    assert not about("responded", [(0.0, 1.0)], -5.0).stale


@pytest.mark.parametrize(
    ("signal", "values", "expected"),
    [
        ("response_time_ms", [math.log(100), math.log(10_000)], 1000.0),
        ("response_length", [math.log1p(0), math.log1p(99)], 9.0),
        ("reaction_count", [0.0, 0.0], 0.0),
        ("sentiment_shift", [-0.5, 0.25], -0.125),
        ("continued", [1.0, 0.0], 0.5),
    ],
)
def test_means_are_in_the_unit_of_the_signal(signal: str, values: list[float], expected: float) -> None:
    found = about(signal, [(0.0, value) for value in values])
    assert found.decayed_mean == pytest.approx(expected, rel=1e-6)
    assert found.rate == (expected if signal == "continued" else None)


def test_a_mean_of_huge_times_is_still_a_number() -> None:
    assert math.isfinite(about("response_time_ms", [(0.0, 1e5)]).decayed_mean or math.inf)


def test_acceleration_needs_twenty() -> None:
    bent = [(float(h), 0.01 * h if h < 10 else 0.1 + 0.2 * (h - 10)) for h in range(20)]
    assert about("sentiment_shift", bent[1:]).acceleration is None
    assert about("sentiment_shift", bent).acceleration == pytest.approx(0.19 / 10, rel=1e-5)


def test_a_change_point_has_the_time_of_the_first_turn_after_it() -> None:
    observed = [(h / 2, float(h >= 30)) for h in range(64)]
    assert about("responded", observed).change_at_ms == START + 15 * HOUR
    assert about("responded", observed[:36]).change_at_ms is None


def test_volatility_is_what_the_trend_leaves_over() -> None:
    rng = np.random.default_rng(3)
    noisy = [(float(h), 0.05 * h + float(rng.normal(0, 0.2))) for h in range(64)]
    assert about("sentiment_shift", noisy).volatility == pytest.approx(0.2, rel=0.25)


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.inf, math.nan])
def test_a_half_life_must_be_positive(half_life: float) -> None:
    with pytest.raises(InvalidQuery):
        about("responded", [(0.0, 1.0)], half_life_hours=half_life)


def test_series_is_sorted() -> None:
    times, y = series(row_of("responded", [(3.0, 1.0), (1.0, 0.0)]), "responded")
    assert times.tolist() == [START + HOUR, START + 3 * HOUR]
    assert y.tolist() == [0.0, 1.0]


hours = st.floats(0, 6e7) | st.sampled_from([0.0, 1e-3, 168.0, 876_000.0])
raw = st.floats(0, 1e308) | st.sampled_from([0.0, 1.0, 1e308])


@given(
    st.lists(st.tuples(hours, raw), max_size=70),
    st.sampled_from(SIGNALS),
    st.sampled_from([-1, 0, 1, None]),
    st.sampled_from([1e-300, 0.5, 168.0, 1e308]),
    st.integers(0, 253_402_300_799_999),
)
def test_never_nan_or_infinite(
    observed: list[tuple[float, float]], signal: str, sign: int | None, half_life: float, as_of: int
) -> None:
    transformed = [(at, math.log(max(value, 1)) if value > 1 else value) for at, value in observed]
    found = summary(row_of(signal, transformed), signal, as_of, sign, half_life)
    numbers = [value for value in asdict(found).values() if isinstance(value, float)]
    assert all(math.isfinite(value) for value in numbers)
    assert found.direction in ("insufficient", "stable", "improving", "declining")
    assert found.p is None or 0.0 <= found.p <= 1.0
    assert found.decayed_count <= found.observations
    notice_step("stable", found)


def noticed(p: float | None, slope: float = 1.0, sign: int = 1, gap: float = 1.0) -> TrendSummary:
    return TrendSummary("responded", sign, 30, "stable", slope_per_hour=slope, p=p, median_gap_hours=gap)


@pytest.mark.parametrize(
    ("previous", "now", "expected"),
    [
        ("stable", noticed(0.0019), "improving"),
        ("stable", noticed(0.002), "stable"),
        ("stable", noticed(0.0019, -1.0), "declining"),
        ("stable", noticed(0.0019, -1.0, -1), "improving"),
        ("stable", noticed(0.0019, gap=24.01), "stable"),
        ("stable", noticed(0.0009, gap=24.01), "improving"),
        ("stable", noticed(0.0, sign=0), "stable"),
        ("improving", noticed(0.2), "improving"),
        ("improving", noticed(0.2001), "stable"),
        ("improving", noticed(0.1, -1.0), "stable"),
        ("improving", noticed(0.001, -1.0), "declining"),
        ("improving", noticed(None), "stable"),
        ("declining", noticed(0.15, -1.0), "declining"),
        ("insufficient", noticed(0.15), "stable"),
    ],
)
def test_notices_are_harder_to_enter_than_to_keep(previous: str, now: TrendSummary, expected: str) -> None:
    assert notice_step(previous, now) == expected


@pytest.mark.parametrize(
    ("rarer", "of", "p", "expected"),
    [
        (3, 30, 0.0004, "improving"),
        (3, 30, 0.0006, "stable"),
        (2, 30, 0.0, "stable"),  # 2 / C(30, 2) = .0046: chance orders two of thirty so more often than the limit
        (2, 64, 0.0, "stable"),
        (3, 64, 0.0, "improving"),
        (0, 64, 0.0, "stable"),
    ],
)
def test_few_rare_answers_are_not_enough_for_a_notice(rarer: int, of: int, p: float, expected: str) -> None:
    now = replace(noticed(p), observations=of, rarer=rarer)
    assert notice_step("stable", now) == expected
    assert notice_step("improving", replace(now, p=0.1)) == "improving"


@pytest.mark.parametrize(
    ("signal", "values", "rarer"),
    [
        ("responded", [1.0] * 10 + [0.0] * 5, 5),
        ("responded", [1.0] * 9 + [0.0] * 5, None),
        ("responded", [0.0] * 12, 0),
        ("reaction_count", [0.0] * 10 + [1.0, 2.0], 2),
        ("reaction_count", [1.0] * 10 + [0.0, 2.0], None),
        ("sentiment_shift", [0.0] * 10 + [1.0], None),
    ],
)
def test_rare_answers_are_counted_where_most_are_the_same(signal: str, values: list[float], rarer: int | None) -> None:
    assert summary(row_of(signal, list(enumerate(values))), signal, START).rarer == rarer
