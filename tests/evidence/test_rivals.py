"""The usual rules: a comparison with something else than what people use would be worth nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import rivals

series = st.lists(st.floats(-5, 5, width=32), min_size=10, max_size=90).map(np.array)


@given(series)
def test_slope_is_that_of_a_fit(y: np.ndarray) -> None:
    assert rivals.slope(y[None, :])[0] == pytest.approx(np.polyfit(np.arange(len(y)), y, 1)[0], abs=1e-9)


def test_halves_leave_the_middle_out() -> None:
    assert rivals.halves(np.array([[1.0, 2.0, 99.0, 5.0, 8.0]]))[0] == 5.0


@given(series, st.sampled_from(["slope", "halves"]))
def test_running_looks_at_the_newest_64(y: np.ndarray, name: str) -> None:
    rule = getattr(rivals, name)
    wanted = [rule(y[None, max(n - 64, 0) : n])[0] if n >= 10 else 0.0 for n in range(1, len(y) + 1)]
    assert rivals.running(y, name) == pytest.approx(wanted, abs=1e-9)


def slow_cusum(y: list[float]) -> list[bool]:
    up = down = 0.0
    alarms = []
    for n, value in enumerate(y):
        alarm = False
        if n >= 10:
            deviation = float(np.std(y[:n], ddof=1))
            z = (value - float(np.mean(y[:n]))) / deviation if deviation > 1e-12 else 0.0
            up, down = max(0.0, up + z - 0.5), max(0.0, down - z - 0.5)
            alarm = up > 4 or down > 4
            if alarm:
                up = down = 0.0
        alarms.append(alarm)
    return alarms


@pytest.mark.parametrize("seed", range(20))
def test_cusum_is_the_one_of_the_book(seed: int) -> None:
    y = np.random.default_rng(seed).standard_normal(200)
    y[100:] += 1.0
    alarms = rivals.cusum(np.array([y, -y]))
    assert alarms[0].tolist() == alarms[1].tolist() == slow_cusum(y.tolist())
    assert alarms[0].any()


def test_cusum_is_quiet_where_nothing_varies() -> None:
    assert not rivals.cusum(np.ones((1, 100))).any()


def test_an_onset_is_a_flag_that_was_not_up_before() -> None:
    assert rivals.onsets(np.array([True, True, False, True, True, False, True])) == 3
    assert rivals.onsets(np.array([False, True])) == 1
