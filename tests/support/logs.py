"""Logs for tests: events made from a few words, and strategies that draw the awkward ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from moodstream.schemas.events import (
    Action,
    AgentProfile,
    Engagement,
    InputEvent,
    MoodSignal,
    Observation,
    Outcome,
    Reflection,
    Relationship,
    make,
)
from moodstream.schemas.wire_names import OCC_EMOTIONS

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENANT, AGENT = "acme", "ada"


def at(seconds: float) -> datetime:
    """A time, counted from the start of the tests' world."""
    return START + timedelta(seconds=seconds)


def event(kind: type[InputEvent], name: str, seconds: float = 0, /, **fields: Any) -> InputEvent:
    """An event of the agent acme/ada."""
    identity = {"tenant_id": TENANT, "agent_id": AGENT, "event_id": name, "occurred_at": at(seconds)}
    return make(kind, **(identity | fields))


def outcome(name: str, seconds: float = 0, result: str = "success", **fields: Any) -> InputEvent:
    """Something the agent did has ended."""
    return event(Outcome, name, seconds, **({"description": f"tried {name}", "result": result} | fields))


def engagement(name: str, seconds: float = 0, other: str = "bob", turn: str = "m1", **fields: Any) -> InputEvent:
    """How a message landed."""
    text = {"description": f"heard of {name}", "other_agent_id": other, "turn_id": turn}
    return event(Engagement, name, seconds, **(text | fields))


def push(name: str, seconds: float = 0, delta: float = 0.5, **fields: Any) -> InputEvent:
    """A direct shift of pleasure."""
    return event(MoodSignal, name, seconds, **({"kind": "direct_shift", "pleasure": delta, "cause": name} | fields))


def profile(name: str, seconds: float = 0, **fields: Any) -> InputEvent:
    """A profile."""
    return event(AgentProfile, name, seconds, **fields)


_names = st.sampled_from([f"e{n}" for n in range(40)] + ["ä", "x/y", "e 1"])
_seconds = st.one_of(
    st.sampled_from([0.0, 0.000_4, 1.0, 3_599.999, 3_600.0, 3_600.001, 604_800.0]),
    st.floats(0, 3_700),
    st.floats(-90_000, 90_000),
)
_unit, _axis, _delta = st.floats(0, 1), st.floats(-1, 1), st.floats(-2, 2)
_count = st.one_of(st.sampled_from([0, 1, 30_000, 30_001, 3_600_000, 2**53 - 1]), st.integers(0, 10**7))
_maybe_count, _maybe_flag = st.none() | _count, st.none() | st.booleans()
_triples = st.tuples(_axis, _axis, _axis)
_pads = st.fixed_dictionaries({}, optional={"pleasure": _axis, "arousal": _axis, "dominance": _axis})
_appraisals = st.one_of(
    st.fixed_dictionaries({}, optional={"pleasure": _delta, "arousal": _delta, "dominance": _delta}),
    st.fixed_dictionaries({"emotion": st.sampled_from(OCC_EMOTIONS), "intensity": _unit}),
)
_shared = {
    "importance": st.none() | _unit,
    "metadata": st.dictionaries(st.sampled_from(["b", "a", "ä", "z-1"]), st.text(max_size=4), max_size=3),
    "case_id": st.none() | st.sampled_from(["c1", "c/2"]),
    "embedding": st.none() | st.builds(lambda v: {"model": "m", "values": v}, st.lists(_axis, min_size=1, max_size=4)),
}
_domain = _shared | {
    "description": st.sampled_from(["did it", "  spaces ", "ünïcode 😀", "long " * 200, "é" * 300]),
    "pad": st.none() | _pads,
    "appraisal": st.none() | st.none() | _appraisals,
    "appraise": st.sampled_from([True, True, True, False]),
}
_others = st.sampled_from(["bob", "Bob", "c/d", "ö"])
_turns = st.sampled_from([f"m{n}" for n in range(6)])


def _of(kind: type[InputEvent], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[InputEvent]:
    drawn = st.fixed_dictionaries(fields)
    return st.builds(lambda name, seconds, rest: event(kind, name, seconds, **rest), _names, _seconds, drawn)


outcomes = _of(
    Outcome,
    **_domain,
    result=st.sampled_from(["success", " OK ", "FAILED", "perhaps", "Straße"]),
    capability=st.none() | st.just("search"),
    turn_id=st.none() | _turns,
)
engagements = _of(
    Engagement,
    **_domain,
    other_agent_id=_others,
    turn_id=_turns,
    responded=_maybe_flag,
    response_time_ms=_maybe_count,
    response_length=_maybe_count,
    sentiment_shift=st.none() | _axis,
    reaction_count=_maybe_count,
    continued=_maybe_flag,
)
_signals = _of(
    MoodSignal,
    **_shared,
    kind=st.just("interaction_appraisal"),
    pleasure=_delta,
    arousal=_delta,
    dominance=_delta,
    cause=st.none() | st.sampled_from(["news", "ö" * 400]),
    turn_id=st.none() | _turns,
)
_plain = st.one_of(
    _of(Observation, **_domain, subject=st.just("weather")),
    _of(Action, **_domain, turn_id=st.none() | _turns, target_agent=st.none() | _others),
    _of(
        Relationship,
        **_domain,
        other_agent_id=_others,
        source_event_type=st.just("review"),
        quality_signal=st.sampled_from(["positive", "negative", "neutral"]),
    ),
    _of(
        Reflection,
        **_domain,
        insight=st.just("so it is"),
        level=st.integers(1, 5),
        source_memory_ids=st.lists(st.sampled_from(["e1", "mood:e2"]), min_size=1, max_size=2),
    ),
)
_rules = st.fixed_dictionaries(
    {},
    optional={
        "success": st.lists(st.sampled_from(["Perhaps", "strasse"]), max_size=2),
        "responded_no": st.tuples(_delta, _delta, _delta),
        "continued_yes": _appraisals.filter(lambda appraisal: "emotion" in appraisal),
        "on_success": _appraisals.filter(lambda appraisal: "emotion" in appraisal),
        "fast_ms": _count,
    },
)
_hours = st.floats(0.001, 100) | st.sampled_from([0.25, 4.0, 87_600.0])
profiles = _of(
    AgentProfile,
    baseline=_triples,
    tau_hours=_hours | st.tuples(_hours, _hours, _hours),
    max_displacement=st.floats(0.01, 2) | st.tuples(*[st.floats(0.01, 2)] * 3),
    gains=st.sampled_from([0, 1, 5, (0.5, 1, 2)]) | st.tuples(*[st.floats(0, 5)] * 3),
    influence=_unit,
    domain_weights=st.dictionaries(st.sampled_from(["mood", "experience"]), st.floats(0.1, 3)),
    rules=_rules,
)
events = st.one_of(outcomes, engagements, engagements, _signals, _plain, profiles)
"""Any event of the agent acme/ada; ids, turns and times repeat often."""

busy_hours = st.lists(
    st.builds(
        lambda name, seconds, turn, flag, ms: engagement(
            str(name), seconds, turn=str(turn), responded=flag, response_time_ms=ms
        ),
        st.integers(0, 10**6),
        st.floats(0, 40_000),
        st.integers(0, 150),
        _maybe_flag,
        _maybe_count,
    ),
    min_size=100,
    max_size=250,
    unique_by=lambda one: one.event_id,
)
"""More turns than a row keeps, and more shifts within an hour than a mood keeps."""
