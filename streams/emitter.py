"""A publisher bound to one agent: a method for each kind of event, with texts and times filled in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict, Unpack

from moodstream.affect.annotate import Annotator
from moodstream.schemas.erasure import TARGETS, Erase, Expire
from moodstream.schemas.events import (
    Action,
    AgentProfile,
    Deltas,
    Embedding,
    Emotion,
    Engagement,
    InputEvent,
    MoodSignal,
    Observation,
    Outcome,
    Pad,
    Reflection,
    Relationship,
    make,
)
from moodstream.schemas.limits import DEFAULT_LIMITS, Limits
from moodstream.schemas.profile import AppraisalRules
from moodstream.schemas.wire_names import Domain
from moodstream.streams.report import Receipt

Quality = Literal["positive", "negative", "neutral"]


class Given(TypedDict, total=False):
    """Fields that every event but a profile may be given. `occurred_at` defaults to now, `event_id` to a new one."""

    event_id: str
    occurred_at: datetime
    case_id: str | None
    importance: float | None
    metadata: dict[str, str]
    embedding: Embedding | None


class Felt(Given, total=False):
    """Fields that every event with a memory of its own may be given."""

    turn_id: str | None
    pad: Pad | None
    appraisal: Deltas | Emotion | None
    appraise: bool


class Experienced(Felt, total=False):
    """Fields that observations, actions and outcomes may be given."""

    target_agent: str | None
    source_channel: str | None


class Engaged(Given, total=False):
    """Signals of an engagement report; one that is left out is unknown, which is neither "no" nor 0."""

    responded: bool | None
    response_time_ms: int | None
    response_length: int | None
    sentiment_shift: float | None
    reaction_count: int | None
    continued: bool | None
    pad: Pad | None
    appraisal: Deltas | Emotion | None
    appraise: bool


class Sent(TypedDict, total=False):
    """Fields of an event that is no memory."""

    event_id: str
    occurred_at: datetime


class ProfileGiven(TypedDict, total=False):
    """Fields of a profile; one that is left out gets its default."""

    event_id: str
    occurred_at: datetime
    baseline: Sequence[float]
    tau_hours: float | Sequence[float]
    max_displacement: float | Sequence[float]
    influence: float
    domain_weights: dict[str, float]
    rules: AppraisalRules
    trend_signs: dict[str, int]


class AgentEmitter:
    """Fires events of one agent. Made by `Bus.agent`.

    Each method checks its values before anything is sent (`InvalidEvent` names field and rule) and returns when the
    broker has the event. An annotator gets to see the texts of the caller, not those that are made up here.
    """

    def __init__(
        self,
        fire: Callable[[InputEvent, Annotator | None], Awaitable[Receipt]],
        tenant: str,
        agent: str,
        limits: Limits = DEFAULT_LIMITS,
        annotate: Annotator | None = None,
    ) -> None:
        self.tenant = tenant
        self.agent = agent
        self._fire = fire
        self._limits = limits
        self._annotate = annotate

    async def observation(self, subject: str, description: str | None = None, **given: Unpack[Experienced]) -> Receipt:
        """The agent noticed something about a subject."""
        text = subject if description is None else description
        return await self._send(Observation, {"subject": subject, "description": text}, given)

    async def action(self, description: str, capability: str | None = None, **given: Unpack[Experienced]) -> Receipt:
        """The agent did something."""
        return await self._send(Action, {"description": description, "capability": capability}, given)

    async def outcome(
        self, result: str, description: str | None = None, capability: str | None = None, **given: Unpack[Experienced]
    ) -> Receipt:
        """Something the agent did has ended; `result` is judged by the vocabulary of the agent's profile."""
        text = f"outcome: {result}" if description is None else description
        own = {"result": result, "description": text, "capability": capability}
        return await self._send(Outcome, own, given, said=description is not None)

    async def relationship(
        self,
        other_agent_id: str,
        quality_signal: Quality,
        source_event_type: str,
        description: str | None = None,
        **given: Unpack[Felt],
    ) -> Receipt:
        """A sign of how the relation to another agent goes."""
        text = f"{quality_signal} {source_event_type} with {other_agent_id}" if description is None else description
        own = {"quality_signal": quality_signal, "source_event_type": source_event_type, "description": text}
        own["other_agent_id"] = other_agent_id
        return await self._send(Relationship, own, given, said=description is not None)

    async def reflection(
        self,
        insight: str,
        source_memory_ids: Sequence[str],
        level: int = 1,
        description: str | None = None,
        **given: Unpack[Felt],
    ) -> Receipt:
        """An insight drawn from memories."""
        text = insight if description is None else description
        own = {"insight": insight, "level": level, "source_memory_ids": list(source_memory_ids), "description": text}
        return await self._send(Reflection, own, given)

    async def engagement(
        self, other_agent_id: str, turn_id: str, description: str | None = None, **given: Unpack[Engaged]
    ) -> Receipt:
        """How the message `turn_id` of this agent landed with another agent, as far as it has become known."""
        text = f"engagement of {other_agent_id} with {turn_id}" if description is None else description
        own = {"other_agent_id": other_agent_id, "turn_id": turn_id, "description": text}
        return await self._send(Engagement, own, given, said=description is not None)

    async def signal(
        self,
        *,
        pleasure: float = 0.0,
        arousal: float = 0.0,
        dominance: float = 0.0,
        cause: str | None = None,
        turn_id: str | None = None,
        **given: Unpack[Given],
    ) -> Receipt:
        """Shift the mood by deltas in [-2, 2]: a `direct_shift` where a cause is given, else an appraisal."""
        kind = "interaction_appraisal" if cause is None else "direct_shift"
        own = {"kind": kind, "cause": cause, "turn_id": turn_id}
        deltas = {"pleasure": pleasure, "arousal": arousal, "dominance": dominance}
        return await self._send(MoodSignal, {**own, **deltas}, given)

    async def profile(self, **given: Unpack[ProfileGiven]) -> Receipt:
        """Set the agent's profile: where the mood rests, how fast it returns, how events move it."""
        return await self._send(AgentProfile, {}, given)

    async def erase(
        self,
        *,
        domain: Domain | None = None,
        memory_id: str | None = None,
        other_agent_id: str | None = None,
        **given: Unpack[Sent],
    ) -> Receipt:
        """Erase all of the agent; or only a domain of its memories, one memory, or the traces of another agent in it.

        What happened before `occurred_at` (default now) does not come back.
        """
        targets = {"domain": domain, "memory_id": memory_id, "other_agent_id": other_agent_id}
        named = [name for name, value in targets.items() if value is not None]
        scope = next((scope for scope, name in TARGETS.items() if name in named), "agent")
        return await self._send(Erase, {"scope": scope, **targets}, given, said=False)

    async def expire(
        self,
        before: datetime,
        *,
        domain: Domain | None = None,
        markers_before: datetime | None = None,
        **given: Unpack[Sent],
    ) -> Receipt:
        """Erase memories that are older than a time; `markers_before`: erasures that need no longer be known."""
        own = {"before": before, "domain": domain, "markers_before": markers_before}
        return await self._send(Expire, own, given, said=False)

    async def _send(
        self, kind: type[InputEvent], own: Mapping[str, object], given: Mapping[str, Any], *, said: bool = True
    ) -> Receipt:
        # The only place where "now" is a time of an event: the publisher is where it happens.
        fields = {"occurred_at": datetime.now(UTC), **own, **given}
        event = make(kind, self._limits, tenant_id=self.tenant, agent_id=self.agent, **fields)
        return await self._fire(event, self._annotate if said else None)
