"""What is observed of a turn: the seven signals, their values and their signs (docs/concepts.md)."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, log1p
from typing import Final

from moodstream.affect.appraisal import judge_result
from moodstream.schemas.events import Engagement, Outcome
from moodstream.schemas.identity import hash_id
from moodstream.schemas.rules import AppraisalRules
from moodstream.schemas.wire_names import TREND_SIGNALS, TrendSignal

SIGNALS: Final = TREND_SIGNALS
"""The signals in the order of their bits. The last, `outcome_success`, is never in a pair row."""

SIGNS: Final[Mapping[str, int]] = {name: -1 if name == "response_time_ms" else 1 for name in SIGNALS}
"""Whether more is better (+1) or worse (-1), unless a profile says otherwise."""

Values = tuple[float | None, ...]
"""One value per signal, transformed; None is unknown."""

UNKNOWN: Final[Values] = (None,) * len(SIGNALS)


def sign_of(signal: str, signs: Mapping[TrendSignal, int] | Mapping[str, int]) -> int:
    """Return +1 where more is better, -1 where less is, 0 where neither: by the profile, else by default."""
    return next((sign for name, sign in signs.items() if name == signal), SIGNS[signal])


def turn_key(other: str, turn: str) -> bytes:
    """Return the key of a turn: one message to one other agent. An outcome is the turn ("", event id)."""
    return hash_id(f"{other}\0{turn}")


def values_of(event: object, rules: AppraisalRules) -> Values:
    """Return what an event reports for each signal, transformed; all None if it is no observation.

    Times become ln(max(ms, 1)), lengths and counts ln(1 + v), yes and no 1 and 0.
    """
    if isinstance(event, Engagement):
        ms = event.response_time_ms
        return (
            _flag(event.responded),
            None if ms is None else log(max(ms, 1)),
            _log_count(event.response_length),
            event.sentiment_shift,
            _log_count(event.reaction_count),
            _flag(event.continued),
            None,
        )
    if isinstance(event, Outcome):
        return (*UNKNOWN[:-1], _flag(judge_result(event.result, rules)))
    return UNKNOWN


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)


def _log_count(value: float | None) -> float | None:
    return None if value is None else log1p(value)
