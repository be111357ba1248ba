"""Recall (docs/concepts.md): filter, score all that remain, take the best. Exact, by a scan of the agents' memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from moodstream.affect.dynamics import Triple
from moodstream.affect.recall import Candidates, RecallQuery, Score, embedding_relevance, recall, text_relevance
from moodstream.affect.recall import Memory as Scored
from moodstream.affect.relevance import Column
from moodstream.query.asked import GivenMood, RecallBody
from moodstream.query.memories import Remembered, kept_points, remembered
from moodstream.query.minds import SUFFIXES, Mind, mood_then
from moodstream.schemas.errors import InvalidQuery
from moodstream.schemas.instants import to_us
from moodstream.state.reader import StateReader
from moodstream.state.views import AgentView


class Found(NamedTuple):
    """One result: a memory of an agent, and its score."""

    agent: str
    memory: Remembered
    score: Score


class Feeling(NamedTuple):
    """Whose mind colours the memories, and how."""

    query: RecallQuery
    approximate: bool = False


@dataclass(slots=True)
class Recollection:
    """What a recall gives."""

    results: list[Found]
    candidates: int
    broken: int
    feeling: Feeling
    views: list[AgentView]


@dataclass(slots=True)
class _Pool:
    """Memories that passed the filters, so far."""

    limit: int
    agents: list[str] = field(default_factory=list)
    memories: list[Remembered] = field(default_factory=list)
    broken: int = 0

    def add(self, agent: str, memory: Remembered) -> None:
        if len(self.memories) == self.limit:
            raise InvalidQuery(
                f"more than {self.limit} memories pass the filters",
                hint="Ask for a shorter time, a domain or a case, or raise query.recall_candidates.",
                field="agents",
                rule="too_many_candidates",
            )
        self.agents.append(agent)
        self.memories.append(memory)
        self.broken += memory.broken


async def recollect(reader: StateReader, tenant: str, body: RecallBody, as_of_us: int, limit: int) -> Recollection:
    """Answer a recall as of a time. Raises `NotFound` when an agent is not there, `InvalidQuery`, `Restoring`."""
    names = dict.fromkeys(body.agents if body.whose is None else (*body.agents, body.whose))
    views = {name: await reader.agent(tenant, name, SUFFIXES, buckets=True) for name in names}
    minds = {name: Mind.of(view) for name, view in views.items()}
    whose = body.whose
    feeling = await _feeling(reader, body, as_of_us, None if whose is None else (views[whose], minds[whose]))
    pool = _Pool(limit)
    for name in dict.fromkeys(body.agents):
        await _gather(reader, views[name], minds[name], body, as_of_us, pool)
    scored = [_scored(each) for each in pool.memories]
    places = {id(each): at for at, each in enumerate(scored)}
    laid = Candidates.of(scored)
    best = recall(laid, feeling.query, body.k, _relevance(body, pool.memories))
    found = [Found(pool.agents[at], pool.memories[at], each) for each in best for at in (places[id(each.memory)],)]
    return Recollection(found, len(scored), pool.broken + laid.broken, feeling, list(views.values()))


async def _gather(
    reader: StateReader, view: AgentView, mind: Mind, body: RecallBody, as_of_us: int, pool: _Pool
) -> None:
    """Put what passes the filters into the pool; what happened after `as_of` is not seen."""
    low = None if body.since is None else to_us(body.since)
    high = as_of_us + 1 if body.until is None else min(to_us(body.until), as_of_us + 1)
    passes, kept = _filter(body, low, high), kept_points(mind)
    async for rows in reader.memories(view, low, high):
        pool.broken += rows.broken
        for memory in remembered(rows, kept):
            if passes(memory):
                pool.add(view.agent, memory)


def _filter(body: RecallBody, low: int | None, high: int) -> Callable[[Remembered], bool]:
    domains, case, attributes = frozenset(body.domains), body.case_id, body.attributes.items()

    def passes(memory: Remembered) -> bool:
        return (
            memory.us < high
            and (low is None or memory.us >= low)
            and (not domains or memory.domain in domains)
            and (case is None or memory.content.case_id == case)
            and (not attributes or attributes <= memory.attributes.items())
        )

    return passes


async def _feeling(reader: StateReader, body: RecallBody, as_of_us: int, of: tuple[AgentView, Mind] | None) -> Feeling:
    """The mood at `as_of`, with the influence and the weights of the profile in force now."""
    if of is None:
        return Feeling(RecallQuery(as_of_us, order=body.order))
    view, mind = of
    then = await mood_then(reader, view, mind, as_of_us // 1000)
    weights = {str(domain): weight for domain, weight in mind.profile.values.domain_weights.items()}
    mood: Triple | None = None
    if body.moody:
        given = body.mood
        mood = (given.pleasure, given.arousal, given.dominance) if isinstance(given, GivenMood) else then.reading.mood
    query = RecallQuery(
        as_of_us,
        mood,
        then.dynamics.baseline,
        mind.profile.values.influence,
        weights,
        body.order,
        body.centred,
    )
    return Feeling(query, body.moody and body.mood == "own" and then.reading.approximate)


def _scored(memory: Remembered) -> Scored:
    return Scored(memory.memory_id, memory.us, memory.domain, memory.content.importance, memory.pad)


def _relevance(body: RecallBody, memories: list[Remembered]) -> Column | None:
    if body.order == "salience":
        return None
    if body.question is not None:
        return text_relevance(body.question, [each.content.text for each in memories])
    if body.embedding is None:
        return None
    vectors = [each.content.embedding for each in memories]
    known = [None if each is None else (each[0], np.frombuffer(each[1], ">f4")) for each in vectors]
    return embedding_relevance(body.embedding.model, body.embedding.values, known)
