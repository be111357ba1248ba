"""Names on the wire and in rows: domains, signals, attribute keys, CloudEvents types. They never change within v1."""

from __future__ import annotations

from typing import Literal, get_args

Domain = Literal["experience", "relationship", "reflection", "engagement", "mood"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
"""The five memory domains."""

EngagementSignal = Literal[
    "responded", "response_time_ms", "response_length", "sentiment_shift", "reaction_count", "continued"
]
TrendSignal = Literal[EngagementSignal, "outcome_success"]
ENGAGEMENT_SIGNALS: tuple[str, ...] = get_args(EngagementSignal)
"""The six signals of an engagement report, in the order of the bits in a row."""
TREND_SIGNALS: tuple[str, ...] = get_args(TrendSignal)
"""The signals that have trends: those of engagement, then the success of outcomes."""

Emotion24 = Literal[
    "admiration", "anger", "disappointment", "disliking", "distress", "fear", "fears_confirmed", "gloating",
    "gratification", "gratitude", "happy_for", "hate", "hope", "joy", "liking", "love", "pity", "pride", "relief",
    "remorse", "reproach", "resentment", "satisfaction", "shame",
]  # fmt: skip
OCC_EMOTIONS: tuple[str, ...] = get_args(Emotion24)
"""The 24 emotions of Ortony, Clore and Collins that Gebhard (2005, ALMA, table 2) places in PAD space."""

DOMAIN_ATTRIBUTES: dict[Domain, frozenset[str]] = {
    "experience": frozenset(
        {"event-type", "turn-id", "subject", "capability", "result", "target-agent", "source-channel"}
    ),
    "relationship": frozenset({"other-agent", "source-event-type", "quality-signal", "turn-id"}),
    "reflection": frozenset({"reflection-level", "source-memory-ids"}),
    "engagement": frozenset({"other-agent", "turn-id", *(name.replace("_", "-") for name in ENGAGEMENT_SIGNALS)}),
    "mood": frozenset(
        {"pleasure", "arousal", "dominance", "turn-id", "baseline", "tau", "max-displacement", "cause-event"}
    ),
}
"""The attribute keys of each domain's memory records."""

ATTRIBUTE_KEYS: frozenset[str] = frozenset().union(*DOMAIN_ATTRIBUTES.values())
"""All attribute keys of all domains. Free metadata may use none of them in any domain."""

RESERVED_PREFIX = "ms-"
"""Starts keys that moodstream keeps for itself; free metadata may use none."""


def is_reserved(key: str) -> bool:
    """Tell whether free metadata may not use this key."""
    return key in ATTRIBUTE_KEYS or key.startswith(RESERVED_PREFIX)


def ce_type(type_name: str) -> str:
    """Return the CloudEvents type of an event type: `engagement` is `moodstream.engagement.v1`."""
    return f"moodstream.{type_name}.v1"
