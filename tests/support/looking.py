"""Looks at many rows against `summary`, which looks at one signal of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pytest

from moodstream.affect.bulk import Looks, look_all
from moodstream.affect.statistics import TrendSummary, summary
from moodstream.affect.trends import SIGNALS, TrendRow

START = 1_772_366_400_000


def assert_equal(looks: Looks, at: tuple[int, int], one: TrendSummary) -> None:
    """Assert that a look says what `summary` says; counts, times and verdicts to the bit."""
    assert looks.observations[at] == one.observations
    assert looks.newest_ms[at] == (-1 if one.newest_ms is None else one.newest_ms)
    assert looks.change_ms[at] == (-1 if one.change_at_ms is None else one.change_at_ms)
    assert looks.median_gap_hours[at] == (one.median_gap_hours if one.observations >= 10 else 0.0)
    assert looks.testable[at] == (one.p is not None)
    if one.p is None or one.slope_per_hour is None or one.standard_error is None:
        assert (looks.p[at], looks.slope[at]) == (1.0, 0.0)
    else:
        # Where almost nothing is left over, p is beyond all thresholds and its digits are those of rounding.
        assert looks.p[at] == pytest.approx(one.p, rel=1e-9, abs=1e-15)
        assert looks.slope[at] == pytest.approx(one.slope_per_hour, rel=1e-9, abs=1e-9 * one.standard_error)


def assert_all_equal(rows: Sequence[TrendRow], half_life: float = 168.0) -> Looks:
    """Assert that every look at every row is what `summary` says; give the looks."""
    looks = look_all(rows, half_life)
    for field in fields(looks):
        array = getattr(looks, field.name)
        assert array.shape == (len(rows), len(SIGNALS))
        assert np.isfinite(array).all()
    for at, row in enumerate(rows):
        for bit, signal in enumerate(SIGNALS):
            assert_equal(looks, (at, bit), summary(row, signal, START, half_life_hours=half_life))
    return looks
