"""What an event does to the mood: its own appraisal, else the rules of the profile in force (docs/concepts.md)."""

from __future__ import annotations

from moodstream.cli.oracle.dynamics import AXES, Triple, triple
from moodstream.cli.oracle.layout import f32
from moodstream.schemas.events import Deltas, DomainEvent, Emotion, Engagement, MoodSignal, Outcome
from moodstream.schemas.profile import AppraisalRules, ProfileValues

LARGEST = 2.0

# Emotions of the OCC model in PAD space: Gebhard, ALMA: a layered model of affect, AAMAS 2005, table 2.
EMOTIONS: dict[str, Triple] = {
    "admiration": (0.5, 0.3, -0.2),
    "anger": (-0.51, 0.59, 0.25),
    "disliking": (-0.4, 0.2, 0.1),
    "disappointment": (-0.3, 0.1, -0.4),
    "distress": (-0.4, -0.2, -0.5),
    "fear": (-0.64, 0.60, -0.43),
    "fears_confirmed": (-0.5, -0.3, -0.7),
    "gloating": (0.3, -0.3, -0.1),
    "gratification": (0.6, 0.5, 0.4),
    "gratitude": (0.4, 0.2, -0.3),
    "happy_for": (0.4, 0.2, 0.2),
    "hate": (-0.6, 0.6, 0.3),
    "hope": (0.2, 0.2, -0.1),
    "joy": (0.4, 0.2, 0.1),
    "liking": (0.40, 0.16, -0.24),
    "love": (0.3, 0.1, 0.2),
    "pity": (-0.4, -0.2, -0.5),
    "pride": (0.4, 0.3, 0.3),
    "relief": (0.2, -0.3, 0.4),
    "remorse": (-0.3, 0.1, -0.6),
    "reproach": (-0.3, -0.1, 0.4),
    "resentment": (-0.2, -0.3, -0.2),
    "satisfaction": (0.3, -0.2, 0.4),
    "shame": (-0.3, 0.1, -0.6),
}


def delta_of(event: DomainEvent | MoodSignal, profile: ProfileValues) -> Triple | None:
    """The shift that an event makes, as f32 values; None when it makes none."""
    if isinstance(event, MoodSignal):
        return rounded([event.pleasure, event.arousal, event.dominance])
    if not event.appraise:
        return None
    if isinstance(event.appraisal, Deltas):
        total = [event.appraisal.pleasure, event.appraisal.arousal, event.appraisal.dominance]
    else:
        felt = by_rules(event, profile.rules) if event.appraisal is None else scaled(event.appraisal)
        total = [felt[axis] * profile.gains[axis] for axis in AXES]
    return rounded(total) if any(total) else None


def rounded(total: list[float]) -> Triple:
    """Clamp each axis to [-2, 2], then round to f32."""
    return triple([f32(min(max(x, -LARGEST), LARGEST)) for x in total])


def by_rules(event: DomainEvent, rules: AppraisalRules) -> list[float]:
    """The sum of what the rules say of each known field, in the order of the fields."""
    parts: list[list[float]] = []
    if isinstance(event, Outcome):
        parts = result_part(event, rules)
    elif isinstance(event, Engagement):
        parts = engagement_parts(event, rules)
    total = [0.0, 0.0, 0.0]
    for part in parts:
        total = [total[axis] + part[axis] for axis in AXES]  # not sum(): from Python 3.12 on that rounds otherwise
    return total


def succeeded(event: Outcome, rules: AppraisalRules) -> bool | None:
    """Whether a result counts as a success; None for one that no vocabulary knows."""
    result = plain(event.result)
    if result in map(plain, rules.success):
        return True
    return False if result in map(plain, rules.failure) else None


def plain(word: str) -> str:
    """A word as vocabularies compare it."""
    return word.strip().casefold()


def result_part(event: Outcome, rules: AppraisalRules) -> list[list[float]]:
    """Success or failure, weighted by importance (1 when the event has none)."""
    success = succeeded(event, rules)
    if success is None:
        return []
    weight = 1.0 if event.importance is None else event.importance
    return [scaled(rules.on_success if success else rules.on_failure, weight)]


def engagement_parts(event: Engagement, rules: AppraisalRules) -> list[list[float]]:
    """One part per known field: responded, continued, sentiment_shift, response_time_ms."""
    parts = []
    if event.responded is not None:
        parts.append(scaled(rules.responded_yes if event.responded else rules.responded_no))
    if event.continued is not None:
        parts.append(scaled(rules.continued_yes if event.continued else rules.continued_no))
    if event.sentiment_shift is not None:
        parts.append(scaled(rules.sentiment, event.sentiment_shift))
    if event.response_time_ms is not None:
        if event.response_time_ms <= rules.fast_ms:
            parts.append(scaled(rules.fast))
        elif event.response_time_ms >= rules.slow_ms:
            parts.append(scaled(rules.slow))
    return parts


def scaled(vector: Triple | Emotion, weight: float = 1.0) -> list[float]:
    """Three numbers, or those of an emotion with its intensity, times a weight."""
    if isinstance(vector, Emotion):
        return [x * vector.intensity * weight for x in EMOTIONS[vector.emotion]]
    return [x * weight for x in vector]
