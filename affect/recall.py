"""Recall (docs/concepts.md): how strongly each memory comes to mind, and which come first.

    score = recency · importance · domain weight · mood factor [· relevance]

All candidates are scored and only then the best are taken. The terms are kept, so that an answer can be explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan, sqrt
from sys import float_info
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moodstream.affect.dynamics import AT_REST, Triple
from moodstream.affect.relevance import Column, embedding_relevance, text_relevance

__all__ = [
    "Candidates",
    "Memory",
    "Order",
    "RecallQuery",
    "Score",
    "Terms",
    "embedding_relevance",
    "recall",
    "score",
    "text_relevance",
]

Order = Literal["relevance", "salience", "chronological"]
"""relevance: the whole score; salience: without mood and question; chronological: newest first."""

RECENCY_HOURS = 168.0
"""Time constant of the recency; the half-life that belongs to it is 116.4 h."""

_US_PER_HOUR = 3_600_000_000.0
_LONGEST = sqrt(12.0)
"""The distance between opposite corners of PAD space."""
_NO_PAD = (None, None, None)
_UNKNOWN = (nan, nan, nan)


class Memory(NamedTuple):
    """What recall needs of a memory: time in µs, importance in [0, 1] and PAD axes in [-1, 1] where they are known."""

    id: str
    at_us: int
    domain: str
    importance: float | None = None
    pad: Sequence[float | None] | None = None


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """Whose mood, and what counts how much.

    `as_of_us` is the clock of the query. `mood` None means that no mood is used. `baseline` is needed for `centred`,
    which compares with the agent at rest in place of a fixed 0.5. `influence` in [0, 1], `domain_weights` > 0.
    """

    as_of_us: int
    mood: Triple | None = None
    baseline: Triple = AT_REST
    influence: float = 0.3
    domain_weights: Mapping[str, float] = field(default_factory=dict)
    order: Order = "relevance"
    centred: bool = False


class Score(NamedTuple):
    """One memory's score and the terms that it is the product of; `relevance` None when nothing was asked."""

    memory: Memory
    total: float
    recency: float
    importance: float
    domain_weight: float
    mood_factor: float
    relevance: float | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Memories in columns. A missing importance or axis is NaN; `broken` counts annotations that were no numbers."""

    memories: Sequence[Memory]
    at_us: NDArray[np.int64]
    importance: Column
    pad: Column
    broken: int

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> Candidates:
        """Lay memories out in columns; an annotation out of range is treated as none, and counted."""
        rows = list(memories)
        importance = [_annotation((memory.importance,), 1, 0.0) for memory in rows]
        pads = [_annotation(memory.pad or _NO_PAD, 3, -1.0) for memory in rows]
        broken = sum(found is None for found in (*importance, *pads))
        return cls(
            rows,
            np.array([memory.at_us for memory in rows], dtype=np.int64),
            np.array([nan if found is None else found[0] for found in importance], dtype=np.float64),
            np.array([_UNKNOWN if found is None else found for found in pads], dtype=np.float64).reshape(-1, 3),
            broken,
        )


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of all candidates, and their product."""

    total: Column
    recency: Column
    importance: Column
    domain_weight: Column
    mood_factor: Column
    relevance: Column | None


def score(candidates: Candidates, query: RecallQuery, relevance: Column | None = None) -> Terms:
    """Score all candidates; `relevance` in [0, 1] per candidate, of `text_relevance` or `embedding_relevance`."""
    if query.order == "salience":
        relevance = None
    age = np.maximum(query.as_of_us - candidates.at_us, 0) / _US_PER_HOUR
    recency = np.exp(-age / RECENCY_HOURS)
    importance = np.where(np.isnan(candidates.importance), 1.0, candidates.importance)
    weights = query.domain_weights
    weight = np.array([weights.get(memory.domain, 1.0) for memory in candidates.memories], dtype=np.float64)
    factor = _mood_factor(candidates.pad, query)
    total = recency * importance * factor
    if relevance is not None:
        total = total * relevance
    with np.errstate(over="ignore"):  # weights have no upper bound; all other terms are small
        total = np.minimum(total * weight, float_info.max)
    return Terms(total, recency, importance, weight, factor, relevance)


def recall(candidates: Candidates, query: RecallQuery, limit: int, relevance: Column | None = None) -> list[Score]:
    """Return the first `limit` memories in the order of the query; ties: newer first, then by memory id."""
    terms = score(candidates, query, relevance)
    if query.order == "chronological":
        places = _first(candidates, candidates.at_us.astype(np.float64), limit)
    else:
        places = _first(candidates, terms.total, limit)
    return [_explain(candidates.memories[at], terms, at) for at in places]


def _mood_factor(pad: Column, query: RecallQuery) -> Column:
    if query.mood is None or query.order == "salience":
        return np.ones(len(pad))
    missing = np.isnan(pad)
    known = np.where(missing, 0.0, pad)
    neutral = _alignment(known, query.baseline) if query.centred else 0.5
    factor = 1.0 + query.influence * (_alignment(known, query.mood) - neutral)
    factor[missing.all(axis=1)] = 1.0
    return factor


def _alignment(pad: Column, mood: Triple) -> Column:
    """Return 1 - distance/√12: 1 for the mood itself, 0 for the opposite corner."""
    away = pad - np.array(mood)
    distance: Column = np.sqrt((away * away).sum(axis=1))
    return 1.0 - distance / _LONGEST


def _first(candidates: Candidates, key: Column, limit: int) -> list[int]:
    """Return the places of the greatest keys, in order; only those that can be among the first are sorted."""
    count = len(key)
    if limit <= 0:
        return []
    least = -inf if limit >= count else np.partition(key, count - limit)[count - limit]
    places: list[int] = np.flatnonzero(key >= least).tolist()
    memories = candidates.memories
    return sorted(places, key=lambda at: (-key[at], -memories[at].at_us, memories[at].id))[:limit]


def _explain(memory: Memory, terms: Terms, at: int) -> Score:
    return Score(
        memory,
        float(terms.total[at]),
        float(terms.recency[at]),
        float(terms.importance[at]),
        float(terms.domain_weight[at]),
        float(terms.mood_factor[at]),
        None if terms.relevance is None else float(terms.relevance[at]),
    )


def _annotation(values: Sequence[float | None], size: int, least: float) -> tuple[float, ...] | None:
    """Return `size` numbers in [least, 1], NaN for those that are missing; None if they are something else."""
    right = len(values) == size and all(
        value is None or (isinstance(value, int | float) and least <= value <= 1.0) for value in values
    )
    return tuple(nan if value is None else float(value) for value in values) if right else None
