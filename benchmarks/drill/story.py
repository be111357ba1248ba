"""What is published in a round: lives of many agents, with all that input can have wrong with it."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from moodstream.schemas.codec import encode
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.events import Engagement, InputEvent, Observation, Reflection, Relationship, make
from moodstream.schemas.identity import partition_of
from moodstream.schemas.instants import from_ms
from moodstream.schemas.profile import AgentProfile
from support.events import T0_MS, engagement, outcome, profile, signal

AGENTS = [("red", f"agent-{number:02}") for number in range(40)] + [("blue ü/%", f"b {number}") for number in range(20)]
"""Tenant and agent; names that have to be encoded among them."""
HOUR_MS = 3_600_000
SPAN_MS = 5 * HOUR_MS
"""Time of the events of a round."""
END_MS = T0_MS + SPAN_MS + 2 * HOUR_MS
"""A time after all events: what readers ask for."""


@dataclass(frozen=True)
class Raw:
    """A record that no worker may accept."""

    partition: int
    key: bytes | None
    value: bytes | None


@dataclass
class Story:
    """Items in the order in which they are published, and how many there are of each kind of trouble."""

    items: list[InputEvent | Raw] = field(default_factory=list)
    troubles: Counter[str] = field(default_factory=Counter)


def story(rng: random.Random, count: int, partitions: int) -> Story:
    """Write a story of so many items."""
    author = _Author(rng, count, partitions)
    for number in range(count):
        author.write(number)
    return author.story


class _Author:
    """Writes item after item. Each kind of trouble is drawn on its own."""

    def __init__(self, rng: random.Random, count: int, partitions: int) -> None:
        self.story = Story()
        self._rng = rng
        self._count = count
        self._partitions = partitions
        self._written: list[InputEvent] = []
        self._troubles: list[tuple[float, str, Callable[[int], InputEvent | Raw]]] = [
            (0.04, "duplicated", self._duplicate),
            (0.03, "malformed", self._malformed),
            (0.04, "judged-again", self._judged_again),
            (0.02, "contradicted", self._contradiction),
            (0.03, "profile", self._profile),
            (0.04, "late", self._late),
            (0.012, "erased", self._erasure),
            (0.003, "expired", self._expiry),
        ]

    def write(self, number: int) -> None:
        """Add one item."""
        draw = self._rng.random()
        for share, name, write in self._troubles:
            draw -= share
            if draw < 0 and self._written:
                self.story.troubles[name] += 1
                self._add(write(number))
                return
        self._add(self._plain(number))

    def _add(self, item: InputEvent | Raw) -> None:
        self.story.items.append(item)
        if not isinstance(item, Raw):
            self._written.append(item)

    def _when(self, number: int) -> int:
        """Times go on, and are shuffled within the better part of an hour."""
        self.story.troubles["shuffled"] += 1
        return T0_MS + SPAN_MS * number // self._count + self._rng.randint(0, HOUR_MS * 3 // 4)

    def _plain(self, number: int) -> InputEvent:
        return self._event(number, self._when(number))

    def _event(self, number: int, ms: int) -> InputEvent:
        rng, (tenant, agent) = self._rng, self._rng.choice(AGENTS)
        name, kind = f"e{number:05}", self._rng.random()
        if kind < 0.5:
            return engagement(tenant, agent, name, ms, turn=f"m{number}", **self._report())
        if kind < 0.75:
            own: dict[str, Any] = {
                "result": rng.choice(("success", "failed", "unclear")),
                "importance": round(rng.random(), 2),
            }
            return outcome(tenant, agent, name, ms, **own)
        if kind < 0.9:
            return signal(tenant, agent, name, ms, round(rng.uniform(-0.5, 0.5), 3), arousal=round(rng.random(), 3))
        return self._other(tenant, agent, name, ms)

    def _report(self) -> dict[str, Any]:
        rng = self._rng
        return {
            "other": f"peer-{rng.randrange(5)}",
            "responded": rng.random() < 0.8,
            "response_time_ms": int(rng.lognormvariate(10, 1.5)),
            "response_length": rng.randrange(1, 800),
            "sentiment_shift": round(rng.uniform(-1, 1), 3),
            "continued": rng.choice((True, False, None)),
        }

    def _other(self, tenant: str, agent: str, name: str, ms: int) -> InputEvent:
        common: dict[str, Any] = {"tenant_id": tenant, "agent_id": agent, "event_id": name, "occurred_at": from_ms(ms)}
        common["description"] = f"what {name} was"
        return self._rng.choice(
            (
                Observation(**common, subject="weather"),
                Reflection(**common, insight="it helps", level=2, source_memory_ids=["e00001"]),
                Relationship(**common, other_agent_id="u", source_event_type="chat", quality_signal="positive"),
            )
        )

    # -- troubles

    def _duplicate(self, number: int) -> InputEvent:
        """An event of late, once more."""
        del number
        return self._rng.choice(self._written[-200:])

    def _malformed(self, number: int) -> Raw:
        """No JSON, no key, another agent's key, a field that breaks its rule, a key in the wrong partition."""
        wire = encode(self._event(number, self._when(number)))
        right = partition_of(wire.key, self._partitions)
        broken = json.loads(wire.value) | {"importance": 7, "tenant_id": "", "number": number}
        choices = (
            Raw(right, wire.key, b"no JSON %d {" % number),
            Raw(right, None, wire.value),
            Raw(right, wire.key, None),
            Raw(right, wire.key, json.dumps(broken).encode()),
            Raw((right + 1) % self._partitions, wire.key, wire.value),
        )
        return self._rng.choice(choices)

    def _judged_again(self, number: int) -> InputEvent:
        """Another report on a turn that was reported."""
        reports = [event for event in self._written[-200:] if isinstance(event, Engagement)]
        if not reports:
            return self._plain(number)
        old = self._rng.choice(reports)
        told = {"turn": old.turn_id, **self._report(), "other": old.other_agent_id}
        return engagement(old.tenant_id, old.agent_id, f"e{number:05}", self._when(number), **told)

    def _contradiction(self, number: int) -> InputEvent:
        """Another event under an id that is taken."""
        old = self._rng.choice(self._written[-200:])
        if isinstance(old, AgentProfile | Erase | Expire):
            return old
        return outcome(old.tenant_id, old.agent_id, old.event_id, self._when(number), result="failed")

    def _profile(self, number: int) -> InputEvent:
        rng, (tenant, agent) = self._rng, self._rng.choice(AGENTS)
        baseline = tuple(round(rng.uniform(-0.5, 0.5), 2) for _ in range(3))
        tau = round(rng.uniform(1, 8), 2)
        return profile(tenant, agent, f"e{number:05}", self._when(number), baseline=baseline, tau_hours=tau)

    def _late(self, number: int) -> InputEvent:
        """An event of hours ago."""
        return self._event(number, T0_MS - self._rng.randint(0, 6 * HOUR_MS))

    def _erasure(self, number: int) -> InputEvent:
        """Of one memory more often than of a domain or of another agent, and of a whole agent now and then."""
        scope = self._rng.choices(("memory", "domain", "other_agent", "agent"), (5, 3, 2, 1))[0]
        old = self._rng.choice(self._written[-200:])
        target: dict[str, Any] = {
            "memory": {"memory_id": old.event_id},
            "domain": {"domain": self._rng.choice(("experience", "engagement", "mood", "reflection"))},
            "other_agent": {"other_agent_id": f"peer-{self._rng.randrange(5)}"},
            "agent": {},
        }[scope]
        return make(Erase, **self._common(number, old), scope=scope, **target)

    def _expiry(self, number: int) -> InputEvent:
        """Of what is older than some hours."""
        old = self._rng.choice(self._written[-200:])
        common = self._common(number, old)
        return make(Expire, **common, before=common["occurred_at"] - timedelta(hours=self._rng.uniform(1, 4)))

    def _common(self, number: int, old: InputEvent) -> dict[str, Any]:
        """An event about the agent of an older one."""
        when = from_ms(self._when(number))
        return {
            "tenant_id": old.tenant_id,
            "agent_id": old.agent_id,
            "event_id": f"e{number:05}",
            "occurred_at": when,
        }
