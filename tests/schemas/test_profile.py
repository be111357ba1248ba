"""Profiles: defaults of the contract, bounds, the canonical JSON of a row, and baselines from traits."""

from __future__ import annotations

import json
import math
import random

import pytest

from moodstream.schemas import (
    DEFAULT_PROFILE,
    AgentProfile,
    AppraisalRules,
    Emotion,
    InvalidEvent,
    ProfileValues,
    baseline_from_traits,
    decode,
    gains_for_rate,
    make,
    parse,
    steady_displacement,
)

WHO = {"tenant_id": "acme", "agent_id": "bot", "event_id": "p1", "occurred_at": "2026-01-31T12:00:00Z"}


def refusal(**changes):
    with pytest.raises(InvalidEvent) as made:
        make(AgentProfile, **WHO, **changes)
    return made.value.field, made.value.rule


def test_the_defaults_are_those_of_the_contract():
    assert (
        ProfileValues(
            baseline=(0.0, 0.0, 0.0),
            tau_hours=4.0,
            max_displacement=1.0,
            gains=1.0,
            influence=0.3,
            domain_weights={},
            rules=AppraisalRules(),
            trend_signs={},
        )
        == DEFAULT_PROFILE
    )
    assert make(AgentProfile, **WHO).values == DEFAULT_PROFILE


def test_the_canonical_json_of_the_default_profile_never_changes():
    assert DEFAULT_PROFILE.canonical() == (
        b'{"baseline":[0.0,0.0,0.0],"domain_weights":{},"gains":[1.0,1.0,1.0],"influence":0.3,"max_displacement":[1.0,1.0,1.0],"rules":{'
        b'"continued_no":[-0.03,-0.02,-0.02],"continued_yes":[0.06,0.02,0.03],'
        b'"failure":["failure","failed","error","timeout","rejected","aborted"],"fast":[0.02,0.02,0.0],"fast_ms":30000,'
        b'"on_failure":[-0.25,0.15,-0.2],"on_success":[0.25,0.1,0.2],"responded_no":[-0.05,-0.03,-0.03],'
        b'"responded_yes":[0.05,0.02,0.02],"sentiment":[0.2,0.05,0.05],"slow":[-0.02,-0.01,0.0],"slow_ms":3600000,'
        b'"success":["success","succeeded","ok","done","completed","passed","resolved"],"version":1},'
        b'"tau_hours":[4.0,4.0,4.0],"trend_signs":{}}'
    )


def test_equal_profiles_have_equal_bytes_however_they_are_written():
    one = parse(
        {
            "type": "agent.profile",
            **WHO,
            "tau_hours": 6,
            "domain_weights": {"mood": 2, "experience": 1.5},
            "influence": 1,
        }
    )
    other = parse(
        json.dumps(
            {
                "influence": 1.0,
                "domain_weights": {"experience": 1.5, "mood": 2.0},
                "tau_hours": [6, 6.0, 6],
                "type": "agent.profile",
                **WHO,
            }
        ).encode()
    )
    assert one == other
    assert one.values.canonical() == other.values.canonical()


def test_canonical_json_reads_back_and_is_utf8():
    values = make(AgentProfile, **WHO, rules={"success": ["gelöst 🙂"]}, trend_signs={"responded": -1}).values
    assert "gelöst 🙂".encode() in values.canonical()
    assert ProfileValues.from_canonical(values.canonical()) == values
    assert list(json.loads(values.canonical())) == sorted(ProfileValues.model_fields)


def test_one_number_stands_for_three_axes():
    profile = make(AgentProfile, **WHO, tau_hours=2, max_displacement=0.5)
    assert profile.tau_hours == (2.0, 2.0, 2.0)
    assert profile.max_displacement == (0.5, 0.5, 0.5)
    assert make(AgentProfile, **WHO, tau_hours=[1, 2, 3]).tau_hours == (1.0, 2.0, 3.0)
    assert all(type(value) is float for value in profile.tau_hours)


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"baseline": [0, 0, 1.01]}, "baseline.2", "range"),
        ({"baseline": [0, 0]}, "baseline.2", "missing"),
        ({"baseline": [0, 0, 0, 0]}, "baseline", "too_long"),
        ({"baseline": 0}, "baseline", "type"),
        ({"baseline": [0, float("nan"), 0]}, "baseline.1", "finite"),
        ({"tau_hours": 0}, "tau_hours.0", "range"),
        ({"tau_hours": -1}, "tau_hours.0", "range"),
        ({"tau_hours": [4, 4, 87601]}, "tau_hours.2", "range"),
        ({"tau_hours": True}, "tau_hours", "type"),
        ({"tau_hours": "4"}, "tau_hours", "type"),
        ({"tau_hours": float("inf")}, "tau_hours.0", "finite"),
        ({"max_displacement": 0}, "max_displacement.0", "range"),
        ({"max_displacement": 2.01}, "max_displacement.0", "range"),
        ({"gains": -0.01}, "gains.0", "range"),
        ({"gains": [1, 1, 5.01]}, "gains.2", "range"),
        ({"gains": [1, float("nan"), 1]}, "gains.1", "finite"),
        ({"gains": [1, 1]}, "gains.2", "missing"),
        ({"influence": 1.01}, "influence", "range"),
        ({"domain_weights": {"mood": float("nan")}}, "domain_weights.mood", "finite"),
        ({"domain_weights": {"mood": 0}}, "domain_weights.mood", "range"),
        ({"domain_weights": {"moods": 1}}, "domain_weights.moods", "choice"),
        ({"trend_signs": {"responded": 2}}, "trend_signs.responded", "range"),
        ({"trend_signs": {"responded": True}}, "trend_signs.responded", "type"),
        ({"trend_signs": {"success": 1}}, "trend_signs.success", "choice"),
        ({"rules": {"version": 2}}, "rules.version", "choice"),
        ({"rules": {"on_success": [2.1, 0, 0]}}, "rules.on_success.0", "range"),
        ({"rules": {"success": [" "]}}, "rules.success.0", "not_blank"),
        ({"rules": {"fast_ms": -1}}, "rules.fast_ms", "range"),
        ({"rules": {"sucess": []}}, "rules.sucess", "unknown_field"),
        ({"rules": {"on_success": [0, float("nan"), 0]}}, "rules.on_success.1", "finite"),
        ({"rules": {"on_success": [0, 0]}}, "rules.on_success.2", "missing"),
        ({"rules": {"on_success": 0.5}}, "rules.on_success", "type"),
        ({"rules": {"slow": {"emotion": "boredom", "intensity": 1}}}, "rules.slow.emotion", "choice"),
        ({"rules": {"slow": {"emotion": "joy", "intensity": 1.5}}}, "rules.slow.intensity", "range"),
        ({"rules": {"slow": {"emotion": "joy", "intensity": float("nan")}}}, "rules.slow.intensity", "finite"),
        ({"rules": {"slow": {"emotion": "joy"}}}, "rules.slow.intensity", "missing"),
        ({"rules": {"slow": {"pleasure": 1}}}, "rules.slow.emotion", "missing"),
        ({"rules": []}, "rules", "type"),
    ],
)
def test_values_that_are_refused(changes, field, rule):
    assert refusal(**changes) == (field, rule)
    with pytest.raises(InvalidEvent) as parsed:
        parse(json.dumps({"type": "agent.profile", **WHO, **changes}))
    assert (parsed.value.field, parsed.value.rule) == (field, rule)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ({"on_sucess": [0, 0, 0]}, ["on_success", "on_failure", "slow_ms"]),
        ({"fast": {"emotion": "boredom", "intensity": 1}}, ["admiration", "shame"]),
    ],
)
def test_what_is_not_known_is_refused_with_what_is(rules, names):
    with pytest.raises(InvalidEvent) as caught:
        make(AgentProfile, **WHO, rules=rules)
    assert all(name in caught.value.detail for name in names)


def test_a_misspelt_rule_on_a_topic_is_ignored_and_counted():
    value = json.dumps({"type": "agent.profile", **WHO, "rules": {"on_sucess": [0, 0, 0], "fast_ms": 7}}).encode()
    decoded = decode(b"acme/bot", value)
    assert (decoded.ignored, decoded.event.rules.fast_ms) == (1, 7)


def test_a_rule_may_name_an_emotion_and_keeps_it():
    values = make(AgentProfile, **WHO, rules={"on_success": {"emotion": "pride", "intensity": 0.5}}).values
    assert values.rules.on_success == Emotion(emotion="pride", intensity=0.5)
    assert b'"on_success":{"emotion":"pride","intensity":0.5}' in values.canonical()
    assert ProfileValues.from_canonical(values.canonical()) == values


@pytest.mark.parametrize(("per_hour", "tau", "delta"), [(1, 4, 0.05), (0.5, 100, -0.02), (60, 0.25, 0.01)])
def test_where_a_mood_settles_is_rate_times_tau_times_delta(per_hour, tau, delta):
    """Shifts at random times, simulated: their sum, each decayed."""
    rng, found = random.Random(7), []  # noqa: S311
    for _ in range(300):
        x, t, end = 0.0, rng.expovariate(per_hour), 12 * tau
        while t < end:
            gap = rng.expovariate(per_hour)
            x, t = (x + delta) * math.exp(-min(gap, end - t) / tau), t + gap
        found.append(x)
    expected, spread = steady_displacement(per_hour, tau, delta), abs(delta) * math.sqrt(per_hour * tau / 2)
    assert sum(found) / 300 == pytest.approx(expected, abs=4 * spread / math.sqrt(300))


def test_gains_hold_a_busy_agent_where_it_shall_be():
    gains = gains_for_rate(100, (0.13, -0.06, 0.0005), tau_hours=4, target=0.3)
    settled = [
        steady_displacement(100, 4, delta * gain) for delta, gain in zip((0.13, -0.06, 0.0005), gains, strict=True)
    ]
    assert settled == pytest.approx([0.3, -0.3, 0.2])
    assert gains[2] == 1.0
    assert make(AgentProfile, **WHO, gains=gains).gains == gains
    for wrong in ({"per_hour": 0.0}, {"per_hour": math.nan}, {"target": -1.0}, {"tau_hours": math.inf}):
        with pytest.raises(InvalidEvent):
            gains_for_rate(**{"per_hour": 1.0, "shift": (0.1, 0.1, 0.1), **wrong})


@pytest.mark.parametrize(
    ("traits", "baseline"),
    [
        ((0, 0, 0, 0, 0), (0, 0, 0)),
        ((1, 0, 0, 0, 0), (0, 0.15, 0.25)),
        ((0, 1, 0, 0, 0), (0, 0, 0.17)),
        ((0, 0, 1, 0, 0), (0.21, 0, 0.60)),
        ((0, 0, 0, 1, 0), (0.59, 0.30, -0.32)),
        ((0, 0, 0, 0, 1), (0.19, -0.57, 0)),
        ((1, 1, 1, -1, -1), (-0.57, 0.42, 1)),
    ],
)
def test_a_baseline_is_suggested_by_mehrabians_formula(traits, baseline):
    assert baseline_from_traits(*traits) == pytest.approx(baseline, abs=1e-12)


@pytest.mark.parametrize("value", [1.01, -1.01, float("nan"), float("inf")])
def test_traits_lie_between_minus_one_and_one(value):
    with pytest.raises(InvalidEvent) as caught:
        baseline_from_traits(0, 0, value, 0, 0)
    assert (caught.value.field, caught.value.rule) == ("extraversion", "range")
