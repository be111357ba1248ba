"""Profiles: defaults of the contract, bounds, the canonical JSON of a row, and baselines from traits."""

from __future__ import annotations

import json

import pytest

from moodstream.schemas import (
    DEFAULT_PROFILE,
    AgentProfile,
    AppraisalRules,
    InvalidEvent,
    ProfileValues,
    baseline_from_traits,
    make,
    parse,
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
        b'{"baseline":[0.0,0.0,0.0],"domain_weights":{},"influence":0.3,"max_displacement":[1.0,1.0,1.0],"rules":{'
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
        ({"influence": 1.01}, "influence", "range"),
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
    ],
)
def test_values_that_are_refused(changes, field, rule):
    assert refusal(**changes) == (field, rule)
    with pytest.raises(InvalidEvent) as parsed:
        parse(json.dumps({"type": "agent.profile", **WHO, **changes}))
    assert (parsed.value.field, parsed.value.rule) == (field, rule)


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
