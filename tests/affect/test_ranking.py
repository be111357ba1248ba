"""Strength of trends, and the share of false ones among those that look clear."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from moodstream.affect.ranking import LARGEST_STRENGTH, false_shares, strengths


def strength(p: float, slope: float = 1.0, sign: int = 1) -> float:
    return float(strengths(np.array([p]), np.array([slope]), np.array([sign]))[0])


def test_strength_is_the_evidence_with_its_direction() -> None:
    assert strength(0.001) == pytest.approx(3)
    assert strength(0.05) == pytest.approx(1.30103)
    assert strength(0.001, slope=-5.0) == strength(0.001, sign=-1) == pytest.approx(-3)
    assert strength(0.001, slope=-5.0, sign=-1) == pytest.approx(3)
    assert strength(1.0) == strength(0.001, slope=0.0) == strength(0.001, sign=0) == 0.0


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-300, 1e-17])
def test_strength_is_bounded(p: float) -> None:
    assert strength(p, slope=-1.0) == -LARGEST_STRENGTH


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 1.0]), max_size=50))
def test_false_shares_are_those_of_benjamini_and_hochberg(p: list[float]) -> None:
    found = false_shares(np.array(p))
    assert found == pytest.approx(false_discovery_control(p) if p else [], abs=1e-12)
    assert ((found >= p) & (found <= 1)).all()


def test_among_agents_without_any_trend_nothing_is_clear() -> None:
    rng = np.random.default_rng(3)
    least = [false_shares(rng.random(100)).min() < 0.05 for _ in range(2000)]
    assert np.mean(least) == pytest.approx(0.05, abs=0.015)
