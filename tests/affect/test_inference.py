"""The slope and the step test: equal to the reference, careful at every edge, and as rarely wrong as they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from moodstream.affect.inference import acceleration, change_point, slope_test
from moodstream.affect.student import two_sided_p
from support import reference_statistics as reference

HALF_LIFE = 168.0


def white(rng: np.random.Generator, n: int, gap: float = 12.0) -> tuple[np.ndarray, np.ndarray]:
    return np.cumsum(rng.exponential(gap, n)), rng.standard_normal(n)


@pytest.mark.parametrize("nu", [1, 2, 3, 8, 18, 62, 500, 2.5])
def test_student_p_equals_scipy(nu: float) -> None:
    for t in [0.0, 1e-300, 1e-9, 0.01, 0.5, 1.0, 1.96, 3.0, 4.25, 12.0, 60.0, 1e4, 1e9]:
        for signed in (t, -t):
            assert two_sided_p(signed, nu) == pytest.approx(2 * stats.t.sf(t, nu), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("t", [1e160, 1e308, 5e-324])
def test_student_p_has_no_edge(t: float) -> None:
    assert 0.0 <= two_sided_p(t, 8) <= 1.0


@pytest.mark.parametrize("n", [10, 11, 16, 20, 50, 64])
def test_the_slope_equals_the_reference(n: int) -> None:
    rng = np.random.default_rng(n)
    for gap in (0.1, 12.0, 40.0):
        t, y = white(rng, n, gap)
        y = y + rng.choice([0.0, 0.02]) * t
        found, (slope, error, stat) = slope_test(t, y, HALF_LIFE), reference.slope_test(t, y, HALF_LIFE)
        assert found is not None
        assert (found.slope, found.error) == pytest.approx((slope, error), rel=1e-9)
        assert found.p == pytest.approx(2 * stats.t.sf(abs(stat), n - 2), rel=1e-9)


def test_slope_and_scatter_have_the_unit_of_the_values() -> None:
    t = np.arange(50.0)
    noise = np.random.default_rng(2).normal(0, 3, 50)
    found = slope_test(t, 7.0 + 0.5 * t + noise, HALF_LIFE)
    assert found is not None
    assert found.slope == pytest.approx(0.5, abs=0.1)
    assert found.residual == pytest.approx(noise.std(), rel=0.1)
    straight = slope_test(t, 7.0 + 0.5 * t, 20.0)
    assert straight is not None
    assert (straight.slope, straight.residual) == pytest.approx((0.5, 0.0))


def test_guards_of_the_slope() -> None:
    t = np.arange(10.0)
    y = np.array([0.0, 1.0] * 5)
    assert slope_test(t[1:], y[1:], HALF_LIFE) is None
    assert slope_test(np.full(10, 3.0), y, HALF_LIFE) is None
    flat = slope_test(t, np.full(10, 0.1), HALF_LIFE)
    assert flat is not None
    assert (flat.slope, flat.error, flat.p, flat.residual) == (0.0, 0.0, 1.0, 0.0)
    c = np.exp2((t - t[-1]) / HALF_LIFE)
    line = slope_test(t, c * (t - (c * t).sum() / c.sum()), HALF_LIFE)
    assert line is not None
    assert line.p == line.error == 0.0
    assert line.slope > 0


@pytest.mark.parametrize("n", [16, 17, 20, 32, 64])
def test_the_step_equals_the_reference(n: int) -> None:
    rng = np.random.default_rng(n)
    seen = 0
    for step in (0.0, 1.5, 4.0) * 10:
        y = rng.standard_normal(n) + step * (np.arange(n) >= n // 2)
        found = change_point(y)
        assert found == reference.change_point(y)
        seen += found is not None
    assert 5 <= seen <= 25


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5, 0.9])
def test_rare_answers_are_expected_on_both_sides(share: float) -> None:
    rng = np.random.default_rng(7)
    for n in (20, 50, 64):
        for _ in range(20):
            y = (rng.random(n) < np.where(np.arange(n) < n // 2, share, 1 - share)).astype(float)
            if np.abs(np.diff(y)).sum() > 1:  # the reference has no guard for a constant or a clean step
                ones = int(y.sum())
                assert change_point(y, "boolean") == reference.change_point(y, min(ones, n - ones))
                counts = np.log1p(y * rng.integers(1, 9, n))
                mostly_zero = 2 * ones < n
                assert change_point(counts, "count") == reference.change_point(counts, ones if mostly_zero else None)


@pytest.mark.parametrize(("at", "expected"), [(8, False), (11, False), (12, True), (20, True), (52, True), (56, False)])
def test_a_clean_step_is_found_where_it_is(at: int, expected: bool) -> None:
    y = np.where(np.arange(64) < at, 0.0, 1.0)
    assert change_point(y) == at
    # 12 rare answers of 64 are the least of which two are expected in 11 turns: 12 * 12 >= 2 * 64 > 11 * 11
    assert (change_point(1.0 - y, "boolean") == at) is expected
    assert (change_point(np.log1p(5.0 * y), "count") == at) is (expected or at <= 32)


def test_two_rare_answers_are_enough_on_either_side() -> None:
    y = np.zeros(64)
    y[49::2] = 1.0  # 8 of 64: two are expected in 16
    assert change_point(y, "boolean") == change_point(1.0 - y, "boolean") == 48
    assert change_point(y, "real") == 49


def test_a_ramp_and_a_constant_are_no_step() -> None:
    ramp = np.arange(64.0) + np.random.default_rng(1).standard_normal(64)
    assert change_point(ramp) is None
    assert change_point(np.full(64, 0.3)) is None
    assert change_point(np.arange(15.0) > 7) is None


def test_acceleration_is_the_change_of_the_slope() -> None:
    t = np.arange(40.0)
    y = np.where(t < 20, 0.1 * t, 2.0 + 0.5 * (t - 20))
    assert acceleration(t, y, HALF_LIFE) == pytest.approx(0.4 / 20)
    assert acceleration(np.array([0.0] * 10 + [*range(10)]), t[:20], HALF_LIFE) is None


def test_promises_on_white_noise() -> None:
    """Contract §5: at most 5 % false directions a look; steps far rarer. Wide bounds, fixed seed."""
    rng = np.random.default_rng(20)
    slopes = [slope_test(*white(rng, 30), HALF_LIFE) for _ in range(1_500)]
    assert 0.02 < np.mean([test is not None and test.p < 0.05 for test in slopes]) < 0.055
    assert np.mean([change_point(rng.standard_normal(64)) is not None for _ in range(1_500)]) < 0.005


def test_promised_power() -> None:
    """A step of 1.5 sigma after 64 steady values is seen within 16 more, in at least 80 of 100 cases."""
    rng = np.random.default_rng(21)
    seen = 0
    for _ in range(150):
        y = np.concatenate((rng.standard_normal(64), rng.standard_normal(16) + 1.5))
        seen += any(change_point(y[n - 64 : n]) is not None for n in range(65, 81))
    assert seen >= 120


wild = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e308, -1e308, 5e-324, 0.0, 1.0, 3.4e38])
moments = st.floats(-1e9, 0) | st.sampled_from([0.0, -1e-7, -876_000.0])


@given(
    st.lists(st.tuples(moments, wild), min_size=1, max_size=64),
    st.sampled_from([1e-320, 1e-6, 168.0, 1e6, 1e308]),
)
@example([(0.0, 1e308)] * 32 + [(0.0, -1e308)] * 32, 168.0)
@example([(-876_000.0 * (n < 40), float(n % 2)) for n in range(64)], 168.0)
def test_never_nan_or_infinite_or_a_warning(observed: list[tuple[float, float]], half_life: float) -> None:
    hours = np.sort(np.array([t for t, _ in observed]))
    y = np.array([value for _, value in observed])
    test = slope_test(hours, y, half_life)
    if test is not None:
        assert all(math.isfinite(value) for value in (test.slope, test.error, test.p, test.residual))
        assert 0.0 <= test.p <= 1.0
    if len(y) > 1:
        bend = acceleration(hours, y, half_life)
        assert bend is None or math.isfinite(bend)
    step = change_point(y)
    assert step is None or 8 <= step <= len(y) - 8
