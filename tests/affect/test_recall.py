"""Recall scores against a scalar twin, and the order of what comes to mind."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.affect.recall import Candidates, Memory, RecallQuery, recall, score

NOW = 1_772_366_400_000_000
HOUR = 3_600_000_000
HAPPY, SAD = (0.8, 0.2, 0.3), (-0.8, -0.2, -0.3)

axis = st.none() | st.floats(-1, 1)
pads = st.none() | st.tuples(axis, axis, axis)
memories = st.lists(
    st.builds(
        Memory,
        st.sampled_from(["a", "b", "ä", "z"]),
        st.integers(-5, 3_000).map(lambda n: NOW - n * HOUR // 2),
        st.sampled_from(["experience", "reflection", "mood"]),
        st.none() | st.floats(0, 1) | st.sampled_from([0.0, 1.0]),
        pads,
    ),
    max_size=30,
)
moods = st.none() | st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
queries = st.builds(
    RecallQuery,
    st.just(NOW),
    moods,
    st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.dictionaries(st.sampled_from(["experience", "mood"]), st.floats(0.01, 100)),
    st.sampled_from(["relevance", "salience", "chronological"]),
    st.booleans(),
)


def alignment(pad: tuple[float | None, ...], mood: tuple[float, ...]) -> float:
    distance = math.sqrt(sum(((0 if p is None else p) - m) ** 2 for p, m in zip(pad, mood, strict=True)))
    return 1 - distance / math.sqrt(12)


def slow_score(memory: Memory, query: RecallQuery, relevance: float | None) -> float:
    """Contract §6, one memory at a time."""
    hours = max(0, query.as_of_us - memory.at_us) / HOUR
    total = math.exp(-hours / 168) * (1.0 if memory.importance is None else memory.importance)
    total *= query.domain_weights.get(memory.domain, 1.0)
    if query.order == "salience":
        return total
    pad = memory.pad
    if query.mood is not None and pad is not None and any(value is not None for value in pad):
        middle = alignment(tuple(pad), query.baseline) if query.centred else 0.5
        total *= 1 + query.influence * (alignment(tuple(pad), query.mood) - middle)
    return total if relevance is None else total * relevance


@given(memories, queries, st.booleans())
def test_scores_equal_the_scalar_twin(found: list[Memory], query: RecallQuery, asked: bool) -> None:
    shares = np.linspace(0, 1, len(found))
    terms = score(Candidates.of(found), query, shares if asked else None)
    expected = [
        slow_score(memory, query, share if asked else None) for memory, share in zip(found, shares, strict=True)
    ]
    assert terms.total.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-300)
    product = terms.recency * terms.importance * terms.domain_weight * terms.mood_factor
    product = product if terms.relevance is None else product * terms.relevance
    assert terms.total.tolist() == pytest.approx(product.tolist(), rel=1e-12, abs=1e-300)


@given(memories, queries, st.integers(0, 12))
def test_the_first_are_the_first_of_all(found: list[Memory], query: RecallQuery, limit: int) -> None:
    candidates = Candidates.of(found)
    ranked = recall(candidates, query, len(found))
    assert recall(candidates, query, limit) == ranked[:limit]
    assert sorted((one.memory for one in ranked), key=repr) == sorted(found, key=repr)
    for first, second in pairwise(ranked):
        keys = [
            (0.0 if query.order == "chronological" else -one.total, -one.memory.at_us, one.memory.id)
            for one in (first, second)
        ]
        assert keys[0] <= keys[1]


@given(memories, moods, st.floats(-1, 1))
def test_influence_zero_is_the_order_without_mood(found: list[Memory], mood: tuple[float, ...], base: float) -> None:
    candidates = Candidates.of(found)
    without = recall(candidates, RecallQuery(NOW), 9)
    for centred in (False, True):
        query = RecallQuery(NOW, mood, (base, base, base), influence=0.0, centred=centred)  # type: ignore[arg-type]
        assert recall(candidates, query, 9) == without


@given(memories, st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)))
def test_centred_changes_nothing_at_rest(found: list[Memory], rest: tuple[float, float, float]) -> None:
    candidates = Candidates.of(found)
    assert recall(candidates, RecallQuery(NOW, rest, rest, centred=True), 9) == recall(candidates, RecallQuery(NOW), 9)


def test_a_mood_favours_memories_like_itself() -> None:
    glad = Memory("glad", NOW, "experience", 1.0, HAPPY)
    sorry = Memory("sorry", NOW, "experience", 1.0, SAD)
    candidates = Candidates.of([glad, sorry])
    for centred in (False, True):
        for mood, first in ((HAPPY, "glad"), (SAD, "sorry")):
            ranked = recall(candidates, RecallQuery(NOW, mood, centred=centred), 2)
            assert ranked[0].memory.id == first
    same = recall(candidates, RecallQuery(NOW, HAPPY, influence=0.5), 1)[0]
    assert same.mood_factor == 1.25


def test_opposite_corners_and_missing_axes() -> None:
    corner = Candidates.of([
        Memory("opposite", NOW, "experience", None, (-1, -1, -1)),
        Memory("no axis", NOW, "experience", None, (None, None, None)),
        Memory("none", NOW, "experience"),
        Memory("one axis", NOW, "experience", None, (None, 1.0, None)),
    ])  # fmt: skip
    factors = score(corner, RecallQuery(NOW, (1.0, 1.0, 1.0), influence=1.0)).mood_factor
    assert factors.tolist() == pytest.approx([0.5, 1.0, 1.0, 1.5 - math.sqrt(2) / math.sqrt(12)])


def test_recency_is_a_time_constant_and_the_future_has_no_age() -> None:
    hours = [0, 168, 116.449, -50]
    found = Candidates.of([Memory(str(h), NOW - int(h * HOUR), "experience") for h in hours])
    recency = score(found, RecallQuery(NOW)).recency
    assert recency.tolist() == pytest.approx([1.0, math.exp(-1), 0.5, 1.0], rel=1e-5)


def test_ties_are_newer_first_then_by_id() -> None:
    found = Candidates.of([
        Memory("b", NOW, "experience", 0.0), Memory("a", NOW, "experience", 0.0),
        Memory("c", NOW + 1, "experience", 0.0), Memory("d", NOW - 1, "experience", 0.0),
    ])  # fmt: skip
    for order in ("relevance", "salience", "chronological"):
        assert [one.memory.id for one in recall(found, RecallQuery(NOW, order=order), 9)] == ["c", "a", "b", "d"]  # type: ignore[arg-type]


def test_salience_knows_neither_mood_nor_question() -> None:
    found = Candidates.of([Memory("x", NOW, "experience", 0.5, SAD), Memory("y", NOW, "experience", 0.4, HAPPY)])
    relevance = np.array([0.0, 1.0])
    ranked = recall(found, RecallQuery(NOW, HAPPY, influence=1.0, order="salience"), 2, relevance)
    assert [(one.memory.id, one.total, one.mood_factor, one.relevance) for one in ranked] == [
        ("x", 0.5, 1.0, None),
        ("y", 0.4, 1.0, None),
    ]
    assert [one.memory.id for one in recall(found, RecallQuery(NOW, HAPPY), 2, relevance)] == ["y", "x"]


def test_chronological_is_newest_first_also_where_floats_are_too_coarse() -> None:
    late = 253_402_300_799_999_990
    found = Candidates.of([Memory(str(n), late + n, "experience", n / 10) for n in (3, 0, 9, 1)])
    ranked = recall(found, RecallQuery(late, order="chronological"), 3)
    assert [one.memory.id for one in ranked] == ["9", "3", "1"]


@pytest.mark.parametrize("pad", [(2.0, 0, 0), (math.nan, 0, 0), (0, math.inf, 0), (0.1, 0.2), ("x", 0, 0)])
def test_a_broken_annotation_is_none_and_is_counted(pad: tuple[float, ...]) -> None:
    found = Candidates.of([Memory("x", NOW, "experience", None, pad), Memory("y", NOW, "experience", 7.0, HAPPY)])
    assert found.broken == 2
    terms = score(found, RecallQuery(NOW, HAPPY, influence=1.0))
    assert terms.mood_factor.tolist() == [1.0, 1.5]
    assert terms.importance.tolist() == [1.0, 1.0]


def test_no_candidates() -> None:
    found = Candidates.of([])
    assert recall(found, RecallQuery(NOW, HAPPY), 5, np.zeros(0)) == []
    assert recall(Candidates.of([Memory("x", NOW, "mood")]), RecallQuery(NOW), 0) == []


def test_huge_weights_stay_numbers() -> None:
    found = Candidates.of([Memory("x", NOW, "mood", 1.0, HAPPY), Memory("y", NOW, "mood", 1.0, SAD)])
    query = RecallQuery(NOW, HAPPY, domain_weights={"mood": 1.7e308}, influence=1.0)
    totals = [one.total for one in recall(found, query, 2, np.array([0.0, 1.0]))]
    assert all(math.isfinite(total) for total in totals)
