"""The shapes of all answers. Times are UTC; moods are pleasure, arousal and dominance in [-1, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from moodstream.schemas.instants import from_ms
from moodstream.schemas.outputs import Direction, Octant
from moodstream.schemas.wire_names import Domain, TrendSignal
from moodstream.state.views import AgentView


class Answer(BaseModel):
    """What all answers share: frozen, described by their attributes."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Position(Answer):
    """A place in the log of events."""

    partition: int
    offset: int
    """The next record: all records of the partition below it are in the state."""


class Applied(Answer):
    """Up to where an agent's state is applied."""

    position: Position
    version: int
    """Offset of the last record that counted for this agent; -1: it lies before this log began."""
    time: datetime
    """Greatest time of an event that counted for this agent."""

    @classmethod
    def of(cls, view: AgentView) -> Applied:
        """Take it from what was read with the agent."""
        position = Position(partition=view.meta.partition, offset=view.meta.source)
        return cls(position=position, version=view.version, time=from_ms(view.facts.newest))


class AgentApplied(Applied):
    """Up to where one of several agents is applied."""

    agent_id: str


class Axes(Answer):
    """One number per axis."""

    pleasure: float
    arousal: float
    dominance: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Axes:
        """From three numbers in the order pleasure, arousal, dominance."""
        return cls(pleasure=values[0], arousal=values[1], dominance=values[2])


class SomeAxes(Answer):
    """One number per axis; null: unknown."""

    pleasure: float | None
    arousal: float | None
    dominance: float | None


class LateSignals(Answer):
    """Signals that came after the row had passed their time; moods in the window are approximate."""

    count: int
    since: datetime
    until: datetime


class MoodPart(Answer):
    """A shift of the mood, and what of it is still there."""

    kind: Literal["shift", "profile"]
    """profile: a change of the profile whose new bounds cut something off."""
    event_id: str | None
    """Null: a change of the profile, or an event that is no longer kept."""
    type: str | None
    cause: str | None
    """Its text, cut to 512 bytes."""
    occurred_at: datetime
    delta: Axes
    """What it asked for."""
    left: Axes
    """What is left of that now."""
    cut: Axes
    """What a clamp took away from it then, as far as that still counts now; of the opposite sign."""
    late: bool
    """It came late: what is left of it is approximate."""


class MoodExplanation(Answer):
    """The terms of a mood, per axis: mood = baseline + shifts + cut + earlier."""

    baseline: Axes
    shifts: Axes
    """What is left of all parts."""
    cut: Axes
    """What clamps took away from them."""
    earlier: Axes
    """All that is not listed: older shifts of which little is left, or that are too far back to be read."""
    unlisted: int
    """Older shifts that were read and are not listed."""
    parts: list[MoodPart]
    """Newest first: the newest 50, and older ones of which more than 0.001 counts on an axis; 500 at most."""


class MoodAnswer(Answer):
    """An agent's mood at one time."""

    tenant_id: str
    agent_id: str
    at: datetime
    mood: Axes
    octant: Octant
    displacement: Axes
    """Distance from the baseline."""
    baseline: Axes
    tau_hours: Axes
    """Time constants of the decay."""
    max_displacement: Axes
    approximate: bool
    """A signal came late near this time, or the profile of that time is no longer kept."""
    cause: str | None
    """What moved the mood last, when that lies not after `at`; null also where it is no longer known."""
    moved_at: datetime | None
    """Time of the newest shift not after `at`."""
    late: LateSignals | None
    explanation: MoodExplanation | None
    """Null unless asked for."""
    applied: Applied


class AgentTrend(Answer):
    """How one signal of an agent has developed, for a ranking."""

    direction: Direction
    strength: float | None
    """log10(1/p), at most 16; positive for the better, negative for the worse; null where nothing can be told."""
    observations: int
    p: float | None
    """Of no slope, two-sided."""
    q: float | None
    """Share of false ones to be expected, at most, among all ranked agents with at most this p."""
    slope_per_hour: float | None
    """In transformed units."""
    change_at: datetime | None
    newest: datetime | None
    stale: bool


class TrendRule(Answer):
    """How often the rule of directions is wrong, on values without a trend that are independent of each other."""

    false_direction: float
    """Share of looks that give a direction, at most."""
    false_step: float
    """Change points per observation, with a look at each, at most."""
    looks: int
    """Signals of this answer that have enough observations for a direction."""
    expected_false: float
    """Directions that chance alone would give among them, at most: looks times false_direction."""


class Ranking(Answer):
    """By what agents are ordered, and how many of them."""

    signal: TrendSignal
    first: Literal["improving", "declining"]
    as_of: datetime
    agents: int
    """Agents of the tenant."""
    read: int
    """Agents that were looked at; fewer than there are: the setting query.ranked_agents cut the rest off."""
    rule: TrendRule


class AgentLine(Answer):
    """One agent of a tenant."""

    agent_id: str
    events: int
    """Events that counted."""
    newest: datetime
    """Greatest time of such an event."""
    version: int
    position: Position
    trend: AgentTrend | None = None
    """Null unless the agents are ordered by it."""


class AgentsAnswer(Answer):
    """Agents in the byte order of their percent-encoded ids, page by page; or those that come first by a trend."""

    tenant_id: str
    agents: list[AgentLine]
    next: str | None
    """Give it as `after` for the next page; null: this is the last one, or a ranking."""
    ranking: Ranking | None = None
    """Null unless the agents are ordered by a trend."""


class Memory(Answer):
    """One memory. Without the numbers of its embedding."""

    memory_id: str
    agent_id: str
    domain: Domain
    type: str
    text: str
    occurred_at: datetime
    importance: float | None
    pad: SomeAxes | None
    attributes: dict[str, str]
    metadata: dict[str, str]
    case_id: str | None
    turn_id: str | None
    embedding_model: str | None
    approximate: bool
    """A mood that was computed near a late signal."""
    offset: int
    """Offset in the log at which it was first accepted; -1: before this log began."""


class MemoryAnswer(Answer):
    """One memory, and up to where its agent is applied."""

    tenant_id: str
    memory: Memory
    applied: Applied


class MemoriesAnswer(Answer):
    """A page of an agent's memories, newest first."""

    tenant_id: str
    agent_id: str
    memories: list[Memory]
    broken: int
    """Rows of these pages that could not be read."""
    next: str | None
    """Give it as `after` for the next page; null: this is the last one."""
    applied: Applied


class Terms(Answer):
    """What a score is the product of."""

    total: float
    recency: float
    importance: float
    domain_weight: float
    mood_factor: float
    relevance: float | None
    """Null: neither a question nor an embedding counted."""


class Recalled(Memory):
    """A memory with its score."""

    score: Terms


class RecallAnswer(Answer):
    """The best memories, best first."""

    tenant_id: str
    results: list[Recalled]
    candidates: int
    """Memories that passed the filters, all of which were scored."""
    broken: int
    """Rows or annotations that could not be used: such a row is left out, such an annotation counts as none."""
    as_of: datetime
    order: Literal["relevance", "salience", "chronological"]
    mood: Axes | None
    """The mood that was used; null: none was."""
    mood_approximate: bool
    applied: list[AgentApplied]
    """One per agent, `as_agent` among them."""


class Check(Answer):
    """One thing that readiness depends on."""

    name: str
    ok: bool
    reason: str
    lag: int | None = None
    """Records between the state and the end of the log, where that is known."""


class Health(Answer):
    """Whether the service can answer."""

    ready: bool
    checks: list[Check]


class TrendAnswer(Answer):
    """How one signal of an agent has developed. Null: cannot be said."""

    direction: Direction
    observations: int
    """Turns in use: the newest 64, not older than four half-lives before the newest."""
    sign: int
    """1: more is better, -1: less is, 0: neither."""
    decayed_count: float
    """Observations weighted by their age at `as_of`; half-life 168 hours."""
    decayed_mean: float | None
    """Weighted mean, in the signal's own unit."""
    rate: float | None
    """Yes among the known, for signals that are yes or no."""
    slope_per_hour: float | None
    """In transformed units, as the next four: logarithm for times, lengths and counts."""
    standard_error: float | None
    p: float | None
    """Of no slope, two-sided."""
    delta: float | None
    """Slope times duration."""
    volatility: float | None
    """Residual standard deviation."""
    acceleration: float | None
    """Change of the slope per hour."""
    change_at: datetime | None
    """Time of the first turn after the newest step of the level."""
    duration_hours: float | None
    newest: datetime | None
    """Time of the newest observation."""
    stale: bool
    """The newest observation is older than four half-lives."""


class TrendsAnswer(Answer):
    """The trends of an agent, over all others or with one of them."""

    tenant_id: str
    agent_id: str
    other_agent_id: str | None
    as_of: datetime
    signals: dict[str, TrendAnswer]
    rule: TrendRule
    applied: Applied
