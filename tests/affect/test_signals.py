"""What events report: transforms of contract §5, unknown is never zero."""

from __future__ import annotations

from math import log

import pytest

from moodstream.affect.signals import SIGNALS, SIGNS, UNKNOWN, sign_of, values_of
from moodstream.schemas.profile import AppraisalRules
from support import logs

RULES = AppraisalRules()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"responded": True}, {"responded": 1.0}),
        ({"responded": False, "continued": True}, {"responded": 0.0, "continued": 1.0}),
        ({"response_time_ms": 0}, {"response_time_ms": 0.0}),
        ({"response_time_ms": 1}, {"response_time_ms": 0.0}),
        ({"response_time_ms": 30_000}, {"response_time_ms": log(30_000)}),
        ({"response_length": 0, "reaction_count": 0}, {"response_length": 0.0, "reaction_count": 0.0}),
        ({"response_length": 99, "reaction_count": 3}, {"response_length": log(100), "reaction_count": log(4)}),
        ({"sentiment_shift": -0.25}, {"sentiment_shift": -0.25}),
        ({}, {}),
    ],
)
def test_an_engagement_reports_what_is_known(fields: dict[str, object], expected: dict[str, float]) -> None:
    found = values_of(logs.engagement("e", **fields), RULES)
    assert len(found) == len(SIGNALS)
    assert {name: value for name, value in zip(SIGNALS, found, strict=True) if value is not None} == expected


@pytest.mark.parametrize(("result", "expected"), [("success", 1.0), (" FAILED\n", 0.0), ("who knows", None)])
def test_an_outcome_reports_success(result: str, expected: float | None) -> None:
    assert values_of(logs.outcome("o", result=result), RULES) == (*[None] * 6, expected)
    assert values_of(logs.outcome("o", result=result, appraise=False), RULES)[-1] == expected


def test_other_events_report_nothing() -> None:
    assert values_of(logs.push("p"), RULES) == UNKNOWN


def test_better_is_more_but_for_time_and_what_a_profile_says() -> None:
    assert [name for name in SIGNALS if SIGNS[name] < 0] == ["response_time_ms"]
    assert sign_of("response_time_ms", {}) == -1
    assert sign_of("response_time_ms", {"response_time_ms": 0, "responded": -1}) == 0
