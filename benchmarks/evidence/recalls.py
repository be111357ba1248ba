"""How far does a mood move what is recalled towards itself, and how much relevance and recency does that cost?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from evidence.feelings import FEELINGS, Feel, Pad
from evidence.jobs import rng_of
from evidence.moods import dynamics
from evidence.talk import Life, chat
from moodstream.affect.mood import mood_at
from moodstream.affect.recall import Candidates, Memory, RecallQuery, Score, recall, text_relevance
from moodstream.affect.relevance import Column, words_of
from moodstream.schemas.events import Action, InputEvent
from moodstream.schemas.instants import to_us

INFLUENCES: Final = (0.0, 0.1, 0.3, 0.6, 1.0)
TOP: Final = 10
CLOCKS: Final = ("log", "spread")
APART_US: Final = 3 * 3_600_000_000
LOW_MOOD: Final = (-0.7, -0.3, -0.3)
HIGH_MOOD: Final = (0.7, 0.3, 0.3)
NO_FEELING: Final = (0.0, 0.0, 0.0)
"""What a memory without a feeling counts as where feelings are averaged."""
_FIRST_ASKED = 60

Triple = tuple[float, float, float]


class Question(NamedTuple):
    """Somebody asks an agent: the words, the time in µs, the agent's mood then, and all that it could remember."""

    as_of_us: int
    mood: Triple
    candidates: Candidates
    relevance: Column


@dataclass(slots=True)
class Tally:
    """What the first ten memories were like, summed over questions."""

    sums: dict[str, float] = field(default_factory=dict)
    questions: int = 0

    def add(self, **values: float) -> None:
        """Take in one question."""
        self.questions += 1
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def means(self) -> dict[str, float]:
        """Return the means over all questions."""
        return {name: value / max(self.questions, 1) for name, value in self.sums.items()}


def tradeoff(
    path: Path, limit: int | None, seed: int, feeling: str, clock: str, agents: int, each: int
) -> dict[str, object]:
    """Ask the most talkative agents in three moods, with each influence, plain and centred, with a question or none.

    `clock` says how old the memories are: as in the log, or spread over weeks.
    """
    tallies: dict[tuple[str, str, str, float], Tally] = {}
    unlike, asked, annotated, candidates = 0, 0, 0, 0
    for one in questions(path, limit, seed, FEELINGS[feeling], agents, each):
        question = spread(one) if clock == "spread" else one
        asked += 1
        candidates += len(question.candidates.memories)
        annotated += int(np.count_nonzero(~np.isnan(question.candidates.pad).all(axis=1)))
        for about, relevance in (("question", question.relevance), ("none", None)):
            unlike += not same_without_influence(question, relevance)
            for whose, mood in (("own", question.mood), ("low", LOW_MOOD), ("high", HIGH_MOOD)):
                for how in ("plain", "centred"):
                    measure(tallies, (about, whose, how), question, relevance, mood)
    rows = [
        {"about": about, "mood": whose, "how": how, "influence": influence, **tally.means()}
        for (about, whose, how, influence), tally in tallies.items()
    ]
    share = annotated / max(candidates, 1)
    return {"rows": rows, "questions": asked, "candidates": candidates, "annotated": share, "unlike": unlike}


def measure(
    tallies: dict[tuple[str, str, str, float], Tally],
    place: tuple[str, str, str],
    question: Question,
    relevance: Column | None,
    mood: Triple,
) -> None:
    """Recall with each influence, and note how the first ten differ from those without any."""
    rest: list[Score] = []
    for influence in INFLUENCES:
        query = RecallQuery(question.as_of_us, mood, influence=influence, centred=place[2] == "centred")
        found = recall(question.candidates, query, TOP, relevance)
        rest = rest or found
        ids, before = {one.memory.id for one in found}, {one.memory.id for one in rest}
        tallies.setdefault((*place, influence), Tally()).add(
            alignment=mean([alignment(one.memory.pad or NO_FEELING, mood) for one in found]),
            pleasure=mean([(one.memory.pad or (0.0,))[0] or 0.0 for one in found]),
            relevance=mean([one.relevance or 0.0 for one in found]),
            recency=mean([one.recency for one in found]),
            kept=len(ids & before) / max(len(before), 1),
        )


def same_without_influence(question: Question, relevance: Column | None) -> bool:
    """Whether an influence of 0 gives exactly the order of a recall without mood, to the last memory."""
    everything = len(question.candidates.memories)
    orders = [
        [one.memory.id for one in recall(question.candidates, query, everything, relevance)]
        for query in (
            RecallQuery(question.as_of_us, None),
            RecallQuery(question.as_of_us, LOW_MOOD, influence=0.0),
            RecallQuery(question.as_of_us, LOW_MOOD, influence=0.0, centred=True),
        )
    ]
    return orders[0] == orders[1] == orders[2]


def alignment(pad: Sequence[float | None], mood: Triple) -> float:
    """Return 1 - distance / √12, a missing axis being 0 (docs/concepts.md)."""
    return 1.0 - sqrt(sum(((a or 0.0) - b) ** 2 for a, b in zip(pad, mood, strict=True))) / sqrt(12.0)


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def questions(path: Path, limit: int | None, seed: int, feel: Feel, agents: int, each: int) -> Iterator[Question]:
    """Ask agents what they are about to say: their own message is the question, what came before is the memory."""
    by_agent = chat(path, limit).events
    talkative = sorted(by_agent, key=lambda name: (-len(by_agent[name]), name))[:agents]
    for name in talkative:
        actions = ((at, event) for at, event in enumerate(by_agent[name]) if isinstance(event, Action))
        said = [at for at, event in actions if words_of(event.description)]
        later = said[min(_FIRST_ASKED, len(said) // 2) :]
        chosen = rng_of(seed, "recall", name).choice(later, min(each, len(later)), replace=False)
        yield from asked_of(name, by_agent[name], sorted(chosen.tolist()), feel)


def asked_of(name: str, events: list[InputEvent], places: list[int], feel: Feel) -> Iterator[Question]:
    """Give one agent's questions; its mood is the one that the fold of its events until then leaves."""
    life, done = Life(name), 0
    for place in places:
        for event in events[done:place]:
            life.fold(event)
        done = place
        now = to_us(events[place].occurred_at)
        mood = mood_at(life.rows.mood, now // 1000, dynamics()).mood
        yield question(events[:place], events[place].description, now, mood, feel)


def spread(question: Question) -> Question:
    """Let the same memories lie three hours apart, in their order: most people of a chat log talk for a few hours only.

    Then all memories are equally fresh, and no mood could cost any recency.
    """
    memories = sorted(question.candidates.memories, key=lambda one: one.at_us)
    ages = {one.id: (len(memories) - at) * APART_US for at, one in enumerate(memories)}
    aged = [one._replace(at_us=question.as_of_us - ages[one.id]) for one in question.candidates.memories]
    return question._replace(candidates=Candidates.of(aged))


def question(known: list[InputEvent], text: str, now: int, mood: Triple, feel: Feel) -> Question:
    """Lay out what the agent has said before, each with the feeling that it carries."""
    said = [event for event in known if isinstance(event, Action)]
    felt = feel(said, known)
    candidates = Candidates.of(memory(event, felt.get(event.event_id)) for event in said)
    return Question(now, mood, candidates, text_relevance(text, [event.description for event in said]))


def memory(event: Action, pad: Pad | None) -> Memory:
    """Return a message as recall sees it."""
    return Memory(event.event_id, to_us(event.occurred_at), "experience", event.importance, pad)
