"""What the worker announces: the newest mood, and a trend that has turned. Subscribers read these."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from moodstream.schemas.base import Identified
from moodstream.schemas.fields import Count, Delta3, Hours3, Id, Instant, Pad3, Unit
from moodstream.schemas.identity import agent_key
from moodstream.schemas.wire_names import TrendSignal

Direction = Literal["insufficient", "stable", "improving", "declining"]
Octant = Literal[
    "exuberant", "dependent", "relaxed", "docile", "hostile", "anxious", "disdainful", "bored", "neutral"
]  # fmt: skip


def output_id(tenant: str, agent: str, kind: str, sequence: int) -> str:
    """Return the id of an output: the agent's key, its kind and the log offset it stands for. Repeats are equal."""
    return output_id_of(agent_key(tenant, agent), kind, sequence)


def output_id_of(key: bytes, kind: str, sequence: int) -> str:
    """Return what `output_id` does, by the agent's key."""
    return f"{key.decode()}/{kind}/{sequence}"


class Output(Identified):
    """What all outputs share. `sequence` is the offset in the log that the announced state has reached."""

    id_fields: ClassVar[tuple[str, ...]] = ("tenant_id", "agent_id")

    event_id: Annotated[str, Field(min_length=1, max_length=2048)]
    sequence: Count


class MoodChanged(Output):
    """The newest mood of an agent, with all that is needed to compute it at any later time.

    `occurred_at` is the reference time t0; `displacement` is x(t0) per axis, so that
    mood(t) = baseline + displacement · exp(-(t - t0) / tau), per axis and clamped to [-1, 1]; `mood` is mood(t0).
    `octants_passed` are the octants entered on the way since the announcement before, in order.
    """

    type_name: ClassVar[str] = "mood.changed"
    type: Literal["mood.changed"] = "mood.changed"
    mood: Pad3
    baseline: Pad3
    tau_hours: Hours3
    displacement: Delta3
    cause: str
    octant: Octant
    octants_passed: list[Octant] = Field(default_factory=list)


class TrendChanged(Output):
    """A trend of an agent has turned: from `previous` to `direction`, or a change point was seen at `change_at`.

    Without `other_agent_id` it is the trend over all other agents. `slope_per_hour` is in transformed units (logarithm
    for times, lengths and counts). A notice, made by stricter thresholds than the label that a query gives.
    """

    type_name: ClassVar[str] = "trend.changed"
    type: Literal["trend.changed"] = "trend.changed"
    id_fields: ClassVar[tuple[str, ...]] = (*Output.id_fields, "other_agent_id")

    signal: TrendSignal
    other_agent_id: Id | None = None
    direction: Direction
    previous: Direction
    p: Unit | None = None
    slope_per_hour: float | None = None
    change_at: Instant | None = None
    observations: Count


OutputEvent = MoodChanged | TrendChanged
"""Every kind of event that the worker sends."""

OUTPUT_TYPES: dict[str, type[OutputEvent]] = {kind.type_name: kind for kind in (MoodChanged, TrendChanged)}
"""The models by their type names."""
