"""An agent's profile: where its mood rests, how fast it returns there, and how events move it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from moodstream.schemas.base import Identified, Model
from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.fields import Bound3, Gains3, Hours3, Pad3, Positive, Unit
from moodstream.schemas.rules import AppraisalRules
from moodstream.schemas.wire_names import Domain, TrendSignal

__all__ = [
    "DEFAULT_PROFILE",
    "AgentProfile",
    "AppraisalRules",
    "ProfileValues",
    "baseline_from_traits",
    "gains_for_rate",
    "steady_displacement",
]

_Sign = Annotated[int, Field(ge=-1, le=1)]


class ProfileValues(Model):
    """The values of a profile, without whose it is.

    `baseline`: pleasure, arousal, dominance at rest, in [-1, 1]. `tau_hours`: time constants of the decay.
    `max_displacement`: how far the mood can move from the baseline, in (0, 2]. `gains`: how strongly rules and emotions
    are felt, in [0, 5]; deltas that an event states itself, and mood signals, count as they are. `influence` of the
    mood on recall, in [0, 1]. `domain_weights` of recall, > 0, 1 where none is given. `trend_signs`: whether more is
    better (1), worse (-1) or neither (0), where it differs from the default.
    """

    baseline: Pad3 = (0.0, 0.0, 0.0)
    tau_hours: Hours3 = (4.0, 4.0, 4.0)
    max_displacement: Bound3 = (1.0, 1.0, 1.0)
    gains: Gains3 = (1.0, 1.0, 1.0)
    influence: Unit = 0.3
    domain_weights: dict[Domain, Positive] = Field(default_factory=dict)
    rules: AppraisalRules = AppraisalRules()
    trend_signs: dict[TrendSignal, _Sign] = Field(default_factory=dict)

    def canonical(self) -> bytes:
        """Return the JSON of docs/rows.md: all fields, keys sorted, no spaces, UTF-8."""
        fields = self.model_dump(mode="json")
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def from_canonical(cls, data: bytes) -> Self:
        """Read what `canonical` wrote; pydantic's error if it is something else."""
        return cls.model_validate_json(data)


DEFAULT_PROFILE = ProfileValues()
"""Holds for an agent until its first profile event."""


class AgentProfile(ProfileValues, Identified):
    """Sets an agent's profile from its place in the log on. Fields that are left out get their defaults."""

    type_name: ClassVar[str] = "agent.profile"
    type: Literal["agent.profile"] = "agent.profile"

    @property
    def values(self) -> ProfileValues:
        """The profile without whose it is."""
        return ProfileValues.model_construct(**{name: getattr(self, name) for name in ProfileValues.model_fields})


def baseline_from_traits(
    openness: float, conscientiousness: float, extraversion: float, agreeableness: float, stability: float
) -> tuple[float, float, float]:
    """Suggest a baseline (pleasure, arousal, dominance) from Big Five traits, each in [-1, 1].

    Mehrabian 1996 (Current Psychology 14), with emotional stability, the opposite of neuroticism; clamped to [-1, 1].
    Raises InvalidEvent for a trait outside [-1, 1].
    """
    traits = {
        "openness": openness,
        "conscientiousness": conscientiousness,
        "extraversion": extraversion,
        "agreeableness": agreeableness,
        "stability": stability,
    }
    for name, value in traits.items():
        if not -1 <= value <= 1:  # false for NaN too
            raise InvalidEvent(name, "range", "must lie between -1 and 1")
    o, c, e, a, s = traits.values()
    pleasure = 0.21 * e + 0.59 * a + 0.19 * s
    arousal = 0.15 * o + 0.30 * a - 0.57 * s
    dominance = 0.25 * o + 0.17 * c + 0.60 * e - 0.32 * a
    return _clamp(pleasure), _clamp(arousal), _clamp(dominance)


def steady_displacement(per_hour: float, tau_hours: float, delta: float) -> float:
    """Return the displacement around which an axis settles under shifts of `delta` that come `per_hour`: rate · τ · δ.

    Clamps apart. For shifts at random times it scatters around it by δ · √(rate · τ / 2) (Campbell's theorem).

    >>> steady_displacement(per_hour=100, tau_hours=4, delta=0.05)
    20.0
    """
    return per_hour * tau_hours * delta


def gains_for_rate(
    per_hour: float, shift: Sequence[float], *, tau_hours: float = 4.0, target: float = 0.3
) -> tuple[float, float, float]:
    """Suggest gains for an agent that meets an event with this `shift` (three deltas) so often an hour.

    With them each axis settles `target` away from the baseline, where it would settle further off; else its gain is 1.
    Raises InvalidEvent for a rate, time constant or target that is not positive and finite.

    >>> gains_for_rate(100, (0.05, 0.02, 0.0))
    (0.015, 0.0375, 1.0)
    """
    for name, value in (("per_hour", per_hour), ("tau_hours", tau_hours), ("target", target)):
        if not 0 < value < inf:  # false for NaN too
            raise InvalidEvent(name, "range", "must be positive and finite")
    p, a, d = (abs(steady_displacement(per_hour, tau_hours, delta)) for delta in shift)
    return _gain(p, target), _gain(a, target), _gain(d, target)


def _gain(settles: float, target: float) -> float:
    return 1.0 if settles <= target else target / settles


def _clamp(value: float) -> float:
    return min(max(value, -1.0), 1.0)
