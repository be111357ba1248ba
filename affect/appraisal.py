"""What an event does to the mood: its own appraisal, or the rules of the agent's profile (docs/concepts.md).

Rules judge an event by its own fields that are known. They are data in the profile, so an agent can be made tough,
touchy or indifferent without code; its gains say how strongly it feels what rules and emotions name, axis by axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from moodstream.affect.dynamics import AT_REST, Triple, signal_delta
from moodstream.schemas.events import Deltas, Emotion, Engagement, MoodSignal, Outcome
from moodstream.schemas.rules import AppraisalRules

OCC: Final[Mapping[str, Triple]] = {
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
"""Emotions as points of PAD space. Source: Gebhard, P. (2005), ALMA: a layered model of affect, AAMAS '05, table 2."""


UNCHANGED: Final[Triple] = (1.0, 1.0, 1.0)


def appraise(event: object, rules: AppraisalRules, gains: Triple = UNCHANGED) -> Triple | None:
    """Return the delta per axis that the event asks for, in [-2, 2] and of 32-bit precision; None if it moves nothing.

    A mood signal is its own delta, also where that is zero: it still has a cause. `appraise: false` moves nothing.
    `gains` say how strongly the agent feels what rules and emotions name; deltas that are stated count as they are.
    """
    if isinstance(event, MoodSignal):
        return signal_delta((event.pleasure, event.arousal, event.dominance))
    if not getattr(event, "appraise", False):
        return None
    own = getattr(event, "appraisal", None)
    if isinstance(own, Deltas):
        delta = own.pleasure, own.arousal, own.dominance
    else:
        p, a, d = _by_rules(event, rules) if own is None else shift_of(own)
        delta = p * gains[0], a * gains[1], d * gains[2]
    return None if delta == AT_REST else signal_delta(delta)


def shift_of(rule: Triple | Emotion) -> Triple:
    """Return what a rule or an emotion does to the mood of an agent without gains."""
    return _scaled(OCC[rule.emotion], rule.intensity) if isinstance(rule, Emotion) else rule


def judge_result(result: str, rules: AppraisalRules) -> bool | None:
    """Return True for a success, False for a failure, None for a result that the vocabulary does not know."""
    word = result.strip().casefold()
    if _listed(word, rules.success):
        return True
    return False if _listed(word, rules.failure) else None


def _listed(word: str, words: Sequence[str]) -> bool:
    return word in words or any(word == other.strip().casefold() for other in words)


def _by_rules(event: object, rules: AppraisalRules) -> Triple:
    if isinstance(event, Outcome):
        return _outcome(event, rules)
    if isinstance(event, Engagement):
        return _engagement(event, rules)
    return AT_REST


def _outcome(event: Outcome, rules: AppraisalRules) -> Triple:
    success = judge_result(event.result, rules)
    if success is None:
        return AT_REST
    weight = 1.0 if event.importance is None else event.importance
    return _scaled(shift_of(rules.on_success if success else rules.on_failure), weight)


def _engagement(event: Engagement, rules: AppraisalRules) -> Triple:
    """Add up what each known field says, in a fixed order: sums of floats depend on it."""
    terms: list[Triple | Emotion] = []
    if event.responded is not None:
        terms.append(rules.responded_yes if event.responded else rules.responded_no)
    if event.continued is not None:
        terms.append(rules.continued_yes if event.continued else rules.continued_no)
    if event.sentiment_shift is not None:
        terms.append(_scaled(shift_of(rules.sentiment), event.sentiment_shift))
    if event.response_time_ms is not None:
        terms.append(_pace(event.response_time_ms, rules))
    p, a, d = AT_REST
    for term in terms:
        x, y, z = term if type(term) is tuple else shift_of(term)
        p, a, d = p + x, a + y, d + z
    return p, a, d


def _pace(ms: float, rules: AppraisalRules) -> Triple | Emotion:
    if ms <= rules.fast_ms:
        return rules.fast
    return rules.slow if ms >= rules.slow_ms else AT_REST


def _scaled(delta: Triple, factor: float) -> Triple:
    return delta[0] * factor, delta[1] * factor, delta[2] * factor
