"""The events that publishers send: one model per kind, checked against every rule of docs/events.md."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, ValidationError

from moodstream.schemas.base import Embedding, Event, Identified, Model, check_bytes, check_text
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.faults import broken, invalid_event, too_long
from moodstream.schemas.fields import (
    Axis,
    Bound3,
    Count,
    Delta,
    Hours3,
    Id,
    MemoryId,
    Millis,
    Pad3,
    Text,
)
from moodstream.schemas.identity import ID_BYTES, MOOD_PREFIX
from moodstream.schemas.limits import DEFAULT_LIMITS, Limits
from moodstream.schemas.profile import AgentProfile
from moodstream.schemas.rebuild import Rebuild
from moodstream.schemas.rules import Emotion

__all__ = [
    "INPUT_TYPES",
    "Action",
    "AgentProfile",
    "Appraisal",
    "Deltas",
    "DomainEvent",
    "Embedding",
    "Emotion",
    "Engagement",
    "Erase",
    "Event",
    "Expire",
    "Identified",
    "InputEvent",
    "MoodSignal",
    "MoodState",
    "Observation",
    "Outcome",
    "Pad",
    "Rebuild",
    "Reflection",
    "Relationship",
    "make",
]


class Pad(Model):
    """Pleasure, arousal and dominance of a memory, each in [-1, 1]; an axis that is missing is unknown."""

    pleasure: Axis | None = None
    arousal: Axis | None = None
    dominance: Axis | None = None


class Deltas(Model):
    """An appraisal as the shift itself: a change per axis, in [-2, 2]."""

    pleasure: Delta = 0.0
    arousal: Delta = 0.0
    dominance: Delta = 0.0


def _appraisal_kind(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict):
        return "<emotion>" if "emotion" in value or "intensity" in value else "<deltas>"
    return "<emotion>" if isinstance(value, Emotion) else "<deltas>"


Appraisal = Annotated[
    Annotated[Deltas, Tag("<deltas>")] | Annotated[Emotion, Tag("<emotion>")], Discriminator(_appraisal_kind)
]
"""What an event did to the agent, in the publisher's own judgement; it wins over the rules."""


class DomainEvent(Event):
    """An event that becomes a memory of its own: what happened, how it felt, how it is to be appraised.

    `appraise: false` keeps it from moving the mood; an `appraisal` of its own wins over the profile's rules.
    """

    description: Text
    pad: Pad | None = None
    appraisal: Appraisal | None = None
    appraise: bool = True

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        check_text("description", self.description, limits)


class _Experience(DomainEvent):
    id_fields: ClassVar[tuple[str, ...]] = (*DomainEvent.id_fields, "target_agent")

    target_agent: Id | None = None
    source_channel: Text | None = None


class Observation(_Experience):
    """The agent noticed something about a subject."""

    type_name: ClassVar[str] = "experience.observation"
    type: Literal["experience.observation"] = "experience.observation"
    subject: Text


class Action(_Experience):
    """The agent did something, by one of its capabilities if that is known."""

    type_name: ClassVar[str] = "experience.action"
    type: Literal["experience.action"] = "experience.action"
    capability: Text | None = None


class Outcome(_Experience):
    """Something the agent did has ended; `result` is judged by the vocabulary of the profile's rules."""

    type_name: ClassVar[str] = "experience.outcome"
    type: Literal["experience.outcome"] = "experience.outcome"
    result: Text
    capability: Text | None = None


class _Between(DomainEvent):
    """An event between the agent and another one."""

    id_fields: ClassVar[tuple[str, ...]] = (*DomainEvent.id_fields, "other_agent_id")

    other_agent_id: Id

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        if self.other_agent_id == self.agent_id:
            raise broken("other_agent_id", "differs", "must differ from agent_id")


class Relationship(_Between):
    """A sign of how the relation to another agent goes."""

    type_name: ClassVar[str] = "relationship"
    type: Literal["relationship"] = "relationship"
    source_event_type: Text
    quality_signal: Literal["positive", "negative", "neutral"]


class Reflection(DomainEvent):
    """An insight drawn from memories. Without an importance it gets min(0.3 + 0.2 level, 1)."""

    type_name: ClassVar[str] = "reflection"
    type: Literal["reflection"] = "reflection"
    insight: Text
    level: Annotated[Count, Field(ge=1)]
    source_memory_ids: list[MemoryId] = Field(min_length=1)

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        check_text("insight", self.insight, limits)
        if len(self.source_memory_ids) > limits.source_memory_ids:
            found, allowed = len(self.source_memory_ids), limits.source_memory_ids
            raise too_long("source_memory_ids", found, "source_memory_ids", allowed)
        for index, memory_id in enumerate(self.source_memory_ids):
            check_bytes(f"source_memory_ids.{index}", memory_id, ID_BYTES + len(MOOD_PREFIX))
        if self.importance is None:
            self.__dict__["importance"] = min(0.3 + 0.2 * self.level, 1.0)


class Engagement(_Between):
    """How a message of the agent (`turn_id`) landed with another agent, as far as it has become known.

    Each signal may be unknown (null), which is neither "no" nor 0. `response_time_ms` is milliseconds,
    `response_length` a count of what the publisher chooses to count (the same for all its reports).
    """

    type_name: ClassVar[str] = "engagement"
    type: Literal["engagement"] = "engagement"
    turn_id: Id
    responded: bool | None = None
    response_time_ms: Millis | None = None
    response_length: Count | None = None
    sentiment_shift: Axis | None = None
    reaction_count: Count | None = None
    continued: bool | None = None


class MoodSignal(Event):
    """An explicit shift of the mood: a delta per axis, in [-2, 2]. A `direct_shift` must name its cause."""

    type_name: ClassVar[str] = "mood.signal"
    type: Literal["mood.signal"] = "mood.signal"
    kind: Literal["interaction_appraisal", "direct_shift"]
    pleasure: Delta = 0.0
    arousal: Delta = 0.0
    dominance: Delta = 0.0
    cause: Text | None = None

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        if self.cause is not None:
            check_text("cause", self.cause, limits)
        elif self.kind == "direct_shift":
            raise broken("cause", "missing", "a direct_shift must name its cause")


class MoodState(Event):
    """The mood just after a shift: made by the mood fold, never sent by a publisher.

    `event_id` is `mood:` and the id of the event that moved the mood. The last three fields are the profile's values
    in force then (time constants in hours).
    """

    type_name: ClassVar[str] = "mood.state"
    type: Literal["mood.state"] = "mood.state"
    event_id: MemoryId
    pleasure: Axis
    arousal: Axis
    dominance: Axis
    cause: Text
    baseline: Pad3 | None = None
    tau_hours: Hours3 | None = None
    max_displacement: Bound3 | None = None

    @property
    def cause_event(self) -> str:
        """The id of the event that moved the mood."""
        return self.event_id.removeprefix(MOOD_PREFIX)

    def _check_event_id(self, event_id: str) -> None:
        if not event_id.startswith(MOOD_PREFIX) or len(event_id) == len(MOOD_PREFIX):
            raise broken("event_id", "reserved_prefix", f"must be {MOOD_PREFIX} and an event id")


InputEvent = (
    Observation
    | Action
    | Outcome
    | Relationship
    | Reflection
    | Engagement
    | MoodSignal
    | AgentProfile
    | Erase
    | Expire
    | Rebuild
)
"""Every kind of event that the log takes."""

INPUT_TYPES: dict[str, type[InputEvent]] = {
    kind.type_name: kind
    for kind in (
        Observation,
        Action,
        Outcome,
        Relationship,
        Reflection,
        Engagement,
        MoodSignal,
        AgentProfile,
        Erase,
        Expire,
        Rebuild,
    )
}
"""The models by their type names."""

AnyEvent = TypeVar("AnyEvent", bound=Model)


def make(kind: type[AnyEvent], limits: Limits = DEFAULT_LIMITS, /, **fields: Any) -> AnyEvent:  # noqa: ANN401
    """Make an event (or a part of one) from its fields; raises InvalidEvent, which names field and rule."""
    try:
        return kind.model_validate(fields, context=limits)
    except ValidationError as failure:
        raise invalid_event(failure) from None
