"""What every peer does with an event: the reference for their outputs. `KafkaStreamsPeer.java` repeats it.

It is lighter than what moodstream folds: a mood that decays and is moved, and weighted sums of four signals.
"""

from __future__ import annotations

from datetime import datetime
from math import exp
from typing import Any, Protocol

MOOD_SECONDS, TREND_SECONDS = 14_400.0, 86_400.0
"""Time constants of the mood and of the sums."""
FLAT = 1e-12
"""Below this spread of the times there is no slope."""
SUMS = range(2, 22, 5)
"""Where the five sums of each signal begin in a trend."""

State = list[float]


class Report(Protocol):
    """The fields of an event that are folded or given out again."""

    tenant_id: str
    agent_id: str
    event_id: str
    responded: bool
    response_time_ms: float
    response_length: int
    sentiment_shift: float
    reaction_count: int
    continued: bool


def seconds(moment: str) -> float:
    """The time of an event in seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def mood(state: State | None, event: Report, t: float) -> State:
    """Pleasure, arousal, dominance and time: decayed to `t` (s), then moved by the event."""
    p, a, d, last = state or (0.0, 0.0, 0.0, t)
    f = exp(-max(0.0, t - last) / MOOD_SECONDS)
    landed = 0.05 if event.responded and event.continued else -0.05
    return [
        _clamped(p * f + event.sentiment_shift),
        _clamped(a * f + 0.02 * event.reaction_count),
        _clamped(d * f + landed),
        max(t, last),
    ]


def trend(state: State | None, event: Report, t: float) -> State:
    """First time, last time (s), then for each of four signals the sums of w, wx, wxx, wy, wxy; x in hours."""
    first, last, *sums = state or [t, t, *[0.0] * 20]
    f = exp(-max(0.0, t - last) / TREND_SECONDS)
    x = (t - first) / 3600.0
    found = [first, max(t, last)]
    signals = (event.response_time_ms, event.response_length, event.sentiment_shift, event.reaction_count)
    for i, y in zip(range(0, 20, 5), signals, strict=True):
        w, wx, wxx, wy, wxy = sums[i : i + 5]
        found += (w * f + 1.0, wx * f + x, wxx * f + x * x, wy * f + y, wxy * f + x * y)
    return found


def output(event: Report, mood: State, trend: State) -> dict[str, Any]:
    """The record that is given out for an event: the mood, and mean and slope of each signal."""
    means, slopes = [], []
    for i in SUMS:
        w, wx, wxx, wy, wxy = trend[i : i + 5]
        spread = w * wxx - wx * wx
        means.append(wy / w)
        slopes.append((w * wxy - wx * wy) / spread if spread > FLAT else 0.0)
    names = {"tenant_id": event.tenant_id, "agent_id": event.agent_id, "event_id": event.event_id}
    return {**names, "p": mood[0], "a": mood[1], "d": mood[2], "mean": means, "slope": slopes}


def _clamped(value: float) -> float:
    return -1.0 if value < -1.0 else 1.0 if value > 1.0 else value  # quicker than min and max, once an event and axis
