"""What events do to the mood: own appraisal, default rules, and what moves nothing."""

from __future__ import annotations

import struct

import pytest

from moodstream.affect.appraisal import OCC, appraise
from moodstream.schemas.events import Action, Observation, Reflection, Relationship
from moodstream.schemas.profile import AppraisalRules
from moodstream.schemas.rules import Emotion
from moodstream.schemas.wire_names import OCC_EMOTIONS
from support import logs

RULES = AppraisalRules()


def single(*values: float) -> tuple[float, ...]:
    return struct.unpack(">3f", struct.pack(">3f", *values))


@pytest.mark.parametrize(
    ("result", "importance", "expected"),
    [
        ("success", None, (0.25, 0.10, 0.20)),
        (" Succeeded\t", 0.5, (0.125, 0.05, 0.10)),
        ("TIMEOUT", None, (-0.25, 0.15, -0.20)),
        ("error", 0.2, (-0.25 * 0.2, 0.15 * 0.2, -0.20 * 0.2)),
        ("error", 0.0, None),
        ("postponed", None, None),
    ],
)
def test_outcomes(result: str, importance: float | None, expected: tuple[float, ...] | None) -> None:
    found = appraise(logs.outcome("o", result=result, importance=importance), RULES)
    assert found == (None if expected is None else single(*expected))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"responded": True}, (0.05, 0.02, 0.02)),
        ({"responded": False}, (-0.05, -0.03, -0.03)),
        ({"continued": True}, (0.06, 0.02, 0.03)),
        ({"continued": False}, (-0.03, -0.02, -0.02)),
        ({"sentiment_shift": -0.5}, (-0.10, -0.025, -0.025)),
        ({"sentiment_shift": 0.0}, None),
        ({"response_time_ms": 0}, (0.02, 0.02, 0.0)),
        ({"response_time_ms": 30_000}, (0.02, 0.02, 0.0)),
        ({"response_time_ms": 30_001}, None),
        ({"response_time_ms": 3_599_999}, None),
        ({"response_time_ms": 3_600_000}, (-0.02, -0.01, 0.0)),
        ({"response_length": 7, "reaction_count": 3}, None),
        ({}, None),
        (
            {"responded": True, "continued": False, "sentiment_shift": 0.3, "response_time_ms": 1},
            (0.05 + -0.03 + 0.20 * 0.3 + 0.02, 0.02 + -0.02 + 0.05 * 0.3 + 0.02, 0.02 + -0.02 + 0.05 * 0.3 + 0.0),
        ),
    ],
)
def test_engagement(fields: dict[str, object], expected: tuple[float, ...] | None) -> None:
    assert appraise(logs.engagement("e", **fields), RULES) == (None if expected is None else single(*expected))


def test_an_own_appraisal_wins() -> None:
    by_deltas = logs.outcome("o", result="failure", appraisal={"pleasure": 1.5, "dominance": -2.0})
    assert appraise(by_deltas, RULES) == (1.5, 0.0, -2.0)
    by_emotion = logs.engagement("e", responded=False, appraisal={"emotion": "joy", "intensity": 0.5})
    assert appraise(by_emotion, RULES) == single(0.2, 0.1, 0.05)
    unmoved = logs.outcome("o", result="failure", appraisal={"emotion": "anger", "intensity": 0})
    assert appraise(unmoved, RULES) is None
    assert appraise(logs.outcome("o", result="failure", appraisal={}), RULES) is None


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Observation, {"subject": "s"}),
        (Action, {}),
        (Relationship, {"other_agent_id": "bob", "source_event_type": "x", "quality_signal": "positive"}),
        (Reflection, {"insight": "i", "level": 1, "source_memory_ids": ["m"]}),
    ],
)
def test_other_domains_move_the_mood_only_by_their_own_appraisal(kind: type, fields: dict[str, object]) -> None:
    assert appraise(logs.event(kind, "x", description="d", **fields), RULES) is None
    own = {"emotion": "fears_confirmed", "intensity": 1}
    assert appraise(logs.event(kind, "x", description="d", appraisal=own, **fields), RULES) == single(-0.5, -0.3, -0.7)


def test_appraise_false_moves_nothing() -> None:
    assert appraise(logs.outcome("o", appraise=False), RULES) is None
    assert appraise(logs.outcome("o", appraise=False, appraisal={"pleasure": 1.0}), RULES) is None


def test_a_mood_signal_is_its_own_delta_even_when_zero() -> None:
    assert appraise(logs.push("p", delta=-0.1, arousal=2.0), RULES) == single(-0.1, 2.0, 0.0)
    assert appraise(logs.push("p", delta=0.0), RULES) == (0.0, 0.0, 0.0)


def test_rules_are_data() -> None:
    rules = AppraisalRules(success=["  Geschafft "], failure=["ok"], on_success=(1.0, 0.0, 0.0), fast_ms=5, slow_ms=6)
    assert appraise(logs.outcome("o", result="GESCHAFFT"), rules) == (1.0, 0.0, 0.0)
    assert appraise(logs.outcome("o", result="ok"), rules) == single(-0.25, 0.15, -0.20)
    assert appraise(logs.outcome("o", result="success"), rules) is None
    assert appraise(logs.engagement("e", response_time_ms=6), rules) == single(-0.02, -0.01, 0.0)


def test_a_rule_may_be_an_emotion() -> None:
    rules = AppraisalRules(
        on_failure=Emotion(emotion="disappointment", intensity=0.5),
        responded_yes=Emotion(emotion="joy", intensity=0.25),
        sentiment=Emotion(emotion="liking", intensity=1.0),
    )
    assert appraise(logs.outcome("o", result="failure", importance=0.5), rules) == single(-0.075, 0.025, -0.1)
    assert appraise(logs.engagement("e", responded=True), rules) == single(0.1, 0.05, 0.025)
    assert appraise(logs.engagement("e", sentiment_shift=-0.5), rules) == single(-0.2, -0.08, 0.12)


def test_gains_apply_to_rules_and_emotions_axis_by_axis() -> None:
    gains = (2.0, 0.0, 0.5)
    assert appraise(logs.outcome("o", result="failure"), RULES, gains) == single(-0.5, 0.0, -0.1)
    assert appraise(logs.engagement("e", responded=True, continued=True), RULES, gains) == single(
        (0.05 + 0.06) * 2.0, 0.0, (0.02 + 0.03) * 0.5
    )
    felt = logs.outcome("o", appraisal={"emotion": "joy", "intensity": 1.0})
    assert appraise(felt, RULES, gains) == single(0.8, 0.0, 0.05)


def test_gains_do_not_apply_to_what_is_stated() -> None:
    gains = (5.0, 5.0, 0.0)
    stated = logs.outcome("o", appraisal={"pleasure": 0.25, "dominance": -0.5})
    assert appraise(stated, RULES, gains) == (0.25, 0.0, -0.5)
    assert appraise(logs.push("p", delta=0.25, dominance=1.0), RULES, gains) == (0.25, 0.0, 1.0)


def test_gains_are_applied_before_the_clamp_and_may_take_everything() -> None:
    assert appraise(logs.outcome("o", appraisal={"emotion": "joy", "intensity": 1.0}), RULES, (5.0, 0.0, 0.0)) == (
        2.0,
        0.0,
        0.0,
    )
    assert appraise(logs.outcome("o", result="failure"), RULES, (0.0, 0.0, 0.0)) is None
    assert appraise(logs.outcome("o", result="failure", importance=0.7), RULES, (1.0, 1.0, 1.0)) == appraise(
        logs.outcome("o", result="failure", importance=0.7), RULES
    )


def test_sums_are_clamped_to_two() -> None:
    rules = AppraisalRules(responded_yes=(2.0, -2.0, 1.0), continued_yes=(1.0, -1.0, 0.5))
    assert appraise(logs.engagement("e", responded=True, continued=True), rules) == (2.0, -2.0, 1.5)


def test_all_emotions_have_a_place() -> None:
    assert set(OCC) == set(OCC_EMOTIONS)
    assert len(OCC) == 24
    assert all(-1 <= value <= 1 for place in OCC.values() for value in place)
    # Sums over the columns of Gebhard 2005, table 2: a typing error would change them.
    assert [round(sum(column), 2) for column in zip(*OCC.values(), strict=True)] == [-0.45, 2.55, -1.82]
