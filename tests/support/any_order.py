"""Lives of one agent as a log may hold them: the same events in many orders, some of them more than once.

A life has parts. Each may begin with a profile change, which holds from its place in the log on, so no event crosses
it. Within a part events come as late as the mood's horizon allows: no signal is late. By seed, the short ones first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from moodstream.schemas.events import (
    Action,
    Deltas,
    Embedding,
    Emotion,
    InputEvent,
    MoodSignal,
    Observation,
    Pad,
    Reflection,
    Relationship,
)
from moodstream.schemas.instants import from_ms
from support.events import T0_MS, engagement, outcome, profile, signal
from support.folding import AGENT, TENANT

HOUR_MS = 3_600_000
KEPT = 64
_OTHERS = ("u", "v", "ü/%")
_BEHIND = 20
"""Places that an event of a dense part may be behind: of the 64 signals that are kept it is then never the oldest."""


@dataclass(frozen=True)
class Pace:
    """How a part goes: how many events, how far apart, in which order they may come, and whether they move the mood."""

    most: int
    gap: Callable[[random.Random], int]
    arrival: Callable[[random.Random, int, int], float]
    """By place and time in ms: events come in the order of this number."""
    moved: bool = True


PACES = (
    # Within the hour that the mood waits for signals: far fewer than 64 in it.
    Pace(40, lambda rng: round(rng.expovariate(1 / 900_000)), lambda rng, _, ms: ms + rng.uniform(0, HOUR_MS - 1)),
    Pace(40, lambda rng: rng.choice([0, 1, 240_000, HOUR_MS]), lambda rng, _, ms: ms + rng.uniform(0, HOUR_MS - 1)),
    # Far more than 64 signals in an hour, each a few places behind.
    Pace(160, lambda rng: rng.choice([0, 0, 1, 500, 10_000]), lambda rng, place, _: place + rng.uniform(0, _BEHIND)),
    # Nothing moves the mood: any order at all, over more turns than are kept.
    Pace(160, lambda rng: rng.choice([0, 1, 60_000, 90 * HOUR_MS]), lambda rng, _place, _ms: rng.random(), moved=False),
)

Part = tuple[Pace, list[InputEvent]]


def life(rng: random.Random, size: int) -> list[Part]:
    """Make a life of about `size` events a part; in each part they are in the order of time."""
    ms, parts = T0_MS, []
    for number in range(rng.choice([1, 1, 2, 3])):
        pace = rng.choice(PACES)
        events: list[InputEvent] = [_profile(rng, number, ms)] if rng.random() < 0.6 else []
        for place in range(rng.randint(1, max(min(size, pace.most), 1))):
            ms += 1 + pace.gap(rng) if place == 0 else pace.gap(rng)
            events.append(_event(rng, f"{number}-{place}", ms, moved=pace.moved))
        parts.append((pace, events))
        ms += 2 * HOUR_MS
    return parts


def in_time(parts: list[Part]) -> list[InputEvent]:
    """Give the log in which everything comes once and in its time."""
    return [event for _, events in parts for event in events]


def as_it_comes(rng: random.Random, parts: list[Part]) -> list[InputEvent]:
    """Give a log of the same events: in another order, and some of them again, at once or much later."""
    log: list[InputEvent] = []
    for pace, events in parts:
        log += _arrived(rng, pace, events)
    for _ in range(rng.choice([0, 0, 1, len(log)])):
        place = rng.randrange(len(log))
        again = log[place] if rng.random() < 0.8 else _contradicted(log[place])
        log.insert(rng.randint(place + 1, len(log)), again)
    return log


def _arrived(rng: random.Random, pace: Pace, events: list[InputEvent]) -> Iterator[InputEvent]:
    first = 1 if events[0].type_name == "agent.profile" else 0
    yield from events[:first]
    numbered = [(pace.arrival(rng, place, _ms(event)), event) for place, event in enumerate(events[first:])]
    yield from (event for _, event in sorted(numbered, key=lambda one: one[0]))


def _ms(event: InputEvent) -> int:
    return round(event.occurred_at.timestamp() * 1000)


def _contradicted(event: InputEvent) -> InputEvent:
    """The same id with other content: the first wins, so this changes nothing."""
    return event.model_copy(update={"description": "something else"} if hasattr(event, "description") else {})


def _profile(rng: random.Random, number: int, ms: int) -> InputEvent:
    return profile(
        TENANT,
        AGENT,
        f"profile {number}",
        ms,
        baseline=tuple(rng.uniform(-1, 1) for _ in range(3)),
        tau_hours=rng.choice([0.1, 4.0, 50.0]),
        max_displacement=rng.choice([0.05, 0.5, 2.0]),
    )


def _event(rng: random.Random, name: str, ms: int, *, moved: bool) -> InputEvent:
    kind = rng.choice(
        ["engagement", "engagement", "outcome", "signal", "other"] if moved else ["engagement", "outcome"]
    )
    if kind == "signal":
        return _signal(rng, name, ms)
    more: dict[str, Any] = {"importance": rng.choice([None, 0.0, rng.random()]), "appraise": moved}
    if moved and rng.random() < 0.3:
        deltas = Deltas(pleasure=rng.uniform(-2, 2), arousal=rng.uniform(-1, 1))
        more["appraisal"] = rng.choice([deltas, Emotion(emotion="joy", intensity=rng.random())])
    if kind == "engagement":
        turn = f"m{rng.randrange(90)}"
        return engagement(TENANT, AGENT, name, ms, other=rng.choice(_OTHERS), turn=turn, **_known(rng), **more)
    if kind == "outcome":
        return outcome(TENANT, AGENT, name, ms, result=rng.choice(["success", " Failed ", "unclear"]), **more)
    return _other(rng, name, ms, more)


def _signal(rng: random.Random, name: str, ms: int) -> InputEvent:
    if rng.random() < 0.5:
        return signal(TENANT, AGENT, name, ms, rng.choice([0.0, 2.0, rng.uniform(-0.5, 0.5)]))
    given = {"tenant_id": TENANT, "agent_id": AGENT, "event_id": name, "occurred_at": from_ms(ms)}
    return MoodSignal(**given, kind="interaction_appraisal", arousal=rng.uniform(-0.3, 0.3))


def _known(rng: random.Random) -> dict[str, Any]:
    values = {
        "responded": rng.random() < 0.7,
        "response_time_ms": rng.choice([0, rng.randrange(10**7)]),
        "response_length": rng.randrange(500),
        "sentiment_shift": rng.uniform(-1, 1),
        "reaction_count": rng.randrange(3),
        "continued": rng.random() < 0.5,
    }
    return {name: value for name, value in values.items() if rng.random() < 0.6}


def _other(rng: random.Random, name: str, ms: int, more: dict[str, Any]) -> InputEvent:
    given = {"tenant_id": TENANT, "agent_id": AGENT, "event_id": name, "occurred_at": from_ms(ms), **more}
    given |= {"description": "as it was", "turn_id": rng.choice([None, "m1"]), "metadata": {"k": name}}
    given["pad"] = rng.choice([None, Pad(pleasure=rng.uniform(-1, 1))])
    given["embedding"] = rng.choice([None, Embedding(model="small", values=[rng.random(), 1.0])])
    return rng.choice(
        [
            lambda: Observation(**given, subject="weather"),
            lambda: Action(**given, capability="search"),
            lambda: Relationship(**given, other_agent_id="u", source_event_type="chat", quality_signal="positive"),
            lambda: Reflection(**given, insight="it helps", level=2, source_memory_ids=["e1"]),
        ]
    )()
