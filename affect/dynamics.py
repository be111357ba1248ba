"""How a displacement decays and where it is clamped: the formulas that all of mood is made of (docs/concepts.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp, sqrt
from struct import Struct

from moodstream.schemas.profile import ProfileValues

Triple = tuple[float, float, float]
"""One value per axis, in the order pleasure, arousal, dominance."""

AT_REST: Triple = (0.0, 0.0, 0.0)
MS_PER_HOUR = 3_600_000.0

_FADED = 17.0
"""Time constants after which a difference is below the resolution of a 32-bit float: e^-17 < 2^-24."""

_NEUTRAL_LENGTH = 0.1
_LARGEST_DELTA = 2.0
_F32 = Struct(">3f")
_as_f32: Callable[[bytes], Triple] = _F32.unpack

_OCTANTS = {
    (True, True, True): "exuberant",
    (True, True, False): "dependent",
    (True, False, True): "relaxed",
    (True, False, False): "docile",
    (False, True, True): "hostile",
    (False, True, False): "anxious",
    (False, False, True): "disdainful",
    (False, False, False): "bored",
}


@dataclass(frozen=True, slots=True)
class Dynamics:
    """What a profile says about moving and resting: baseline, time constant τ in ms and largest displacement, per axis.

    `low` and `high` are the limits of a displacement that follow from it, `fading_ms` the time after which an error of
    any size is no longer visible.
    """

    baseline: Triple
    tau_ms: Triple
    bound: Triple
    low: Triple = field(init=False, repr=False, compare=False)
    high: Triple = field(init=False, repr=False, compare=False)
    fading_ms: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        low = [max(-1.0 - b, -m) for b, m in zip(self.baseline, self.bound, strict=True)]
        high = [min(1.0 - b, m) for b, m in zip(self.baseline, self.bound, strict=True)]
        object.__setattr__(self, "low", tuple(low))
        object.__setattr__(self, "high", tuple(high))
        object.__setattr__(self, "fading_ms", _FADED * max(self.tau_ms))

    @classmethod
    def of(cls, profile: ProfileValues) -> Dynamics:
        """Take the part of a profile that the mood fold needs."""
        p, a, d = profile.tau_hours
        tau_ms = p * MS_PER_HOUR, a * MS_PER_HOUR, d * MS_PER_HOUR
        return cls(profile.baseline, tau_ms, profile.max_displacement)


def decay(x: Triple, ms: int, dynamics: Dynamics) -> Triple:
    """Return what is left of displacement `x` after `ms` milliseconds (>= 0): x · exp(-ms/τ)."""
    p, a, d = dynamics.tau_ms
    return x[0] * exp(-ms / p), x[1] * exp(-ms / a), x[2] * exp(-ms / d)


def limit(x: Triple, dynamics: Dynamics) -> Triple:
    """Clamp a displacement, so that the mood stays in [-1, 1] and within the largest displacement of its baseline."""
    (low_p, low_a, low_d), (high_p, high_a, high_d) = dynamics.low, dynamics.high
    p, a, d = x
    # Comparisons in place of min and max: this runs several times an event, and the calls are most of its cost.
    return (
        low_p if p < low_p else high_p if p > high_p else p,
        low_a if a < low_a else high_a if a > high_a else a,
        low_d if d < low_d else high_d if d > high_d else d,
    )


def step(x: Triple, ms: int, delta: Triple, dynamics: Dynamics) -> Triple:
    """First decay, then add a signal's delta, then clamp: one signal of the fold."""
    # `decay` and `limit`, written out: this is the inside of the fold, and two calls are a third of it.
    tau_p, tau_a, tau_d = dynamics.tau_ms
    (low_p, low_a, low_d), (high_p, high_a, high_d) = dynamics.low, dynamics.high
    p = x[0] * exp(-ms / tau_p) + delta[0]
    a = x[1] * exp(-ms / tau_a) + delta[1]
    d = x[2] * exp(-ms / tau_d) + delta[2]
    return (
        low_p if p < low_p else high_p if p > high_p else p,
        low_a if a < low_a else high_a if a > high_a else a,
        low_d if d < low_d else high_d if d > high_d else d,
    )


def signal_delta(delta: Triple) -> Triple:
    """Clamp a delta to [-2, 2] per axis and round it to 32 bits: the value that counts from then on. Idempotent."""
    p, a, d = delta
    largest = _LARGEST_DELTA
    if not (-largest <= p <= largest and -largest <= a <= largest and -largest <= d <= largest):
        p, a, d = (min(max(v, -largest), largest) for v in delta)
    return _as_f32(_F32.pack(p, a, d))


def mood_of(x: Triple, dynamics: Dynamics) -> Triple:
    """Return the mood that lies `x` away from the baseline, in [-1, 1] per axis."""
    base = dynamics.baseline
    return _within(base[0] + x[0]), _within(base[1] + x[1]), _within(base[2] + x[2])


def _within(value: float) -> float:
    return -1.0 if value < -1.0 else 1.0 if value > 1.0 else value


def octant(pad: Triple) -> str:
    """Name the octant of a mood; `neutral` where its length is under 0.1. An axis at 0 counts as positive.

    Names: Mehrabian 1996 (temperament), as used for moods by Gebhard 2005.

    >>> octant((0.4, -0.2, 0.1))
    'relaxed'
    """
    p, a, d = pad
    if sqrt(p * p + a * a + d * d) < _NEUTRAL_LENGTH:
        return "neutral"
    return _OCTANTS[p >= 0, a >= 0, d >= 0]
