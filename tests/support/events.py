"""Events for tests: short makers, and a Hypothesis strategy over everything that an agent's log may hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from moodstream.schemas.events import (
    Action,
    Deltas,
    Emotion,
    Engagement,
    Erase,
    Expire,
    InputEvent,
    MoodSignal,
    Observation,
    Outcome,
    Reflection,
    Relationship,
)
from moodstream.schemas.instants import from_ms
from moodstream.schemas.profile import AgentProfile
from moodstream.schemas.rebuild import Rebuild

T0_MS = 1_767_225_600_000
"""2026-01-01."""
_HOUR_MS = 3_600_000


def _common(tenant: str, agent: str, event_id: str, ms: int) -> dict[str, Any]:
    return {"tenant_id": tenant, "agent_id": agent, "event_id": event_id, "occurred_at": from_ms(ms)}


def outcome(tenant: str, agent: str, event_id: str, ms: int, *, result: str = "success", **more: Any) -> Outcome:
    """An outcome."""
    text = f"{event_id} ended"
    return Outcome(**_common(tenant, agent, event_id, ms), **{"description": text, "result": result, **more})


def engagement(
    tenant: str, agent: str, event_id: str, ms: int, *, other: str = "u", turn: str = "m", **more: Any
) -> Engagement:
    """An engagement report; signals that are not given are unknown."""
    fields = {"description": f"report on {turn}", "other_agent_id": other, "turn_id": turn, **more}
    return Engagement(**_common(tenant, agent, event_id, ms), **fields)


def signal(tenant: str, agent: str, event_id: str, ms: int, pleasure: float, **more: Any) -> MoodSignal:
    """A direct shift of pleasure."""
    fields = {"kind": "direct_shift", "cause": f"cause of {event_id}", "pleasure": pleasure, **more}
    return MoodSignal(**_common(tenant, agent, event_id, ms), **fields)


def profile(tenant: str, agent: str, event_id: str, ms: int, **values: Any) -> AgentProfile:
    """A profile change."""
    return AgentProfile(**_common(tenant, agent, event_id, ms), **values)


def erase(tenant: str, agent: str, event_id: str, ms: int, **target: Any) -> Erase:
    """An erasure; without a target that of the agent."""
    names = {"domain": "domain", "memory_id": "memory", "other_agent_id": "other_agent"}
    scope = names[next(iter(target))] if target else "agent"
    return Erase(**_common(tenant, agent, event_id, ms), scope=scope, **target)


def rebuild(tenant: str, agent: str, event_id: str, ms: int, **more: Any) -> Rebuild:
    """A wish to have an agent's rows made anew."""
    return Rebuild(**_common(tenant, agent, event_id, ms), **more)


def expire(tenant: str, agent: str, event_id: str, before: int, **more: Any) -> Expire:
    """An expiry of what is older than a time in ms; it is noticed long after."""
    if "markers_before" in more:
        more["markers_before"] = from_ms(more["markers_before"])
    return Expire(**_common(tenant, agent, event_id, T0_MS + 10**10), before=from_ms(before), **more)


def life(agent: str, count: int = 40, tenant: str = "t") -> list[InputEvent]:
    """Outcomes, reports and signals of one agent over some days."""
    events: list[InputEvent] = [profile(tenant, agent, "p", T0_MS, baseline=(0.1, 0.0, -0.1))]
    for i in range(count):
        ms = T0_MS + i * _HOUR_MS // 2
        events.append(outcome(tenant, agent, f"o{i}", ms, result="success" if i % 4 else "failure"))
        events.append(engagement(tenant, agent, f"e{i}", ms + 1, other=f"u{i % 2}", turn=f"m{i}", responded=i % 3 > 0))
        if i % 10 == 9:
            events.append(signal(tenant, agent, f"s{i}", ms + 2, 0.3))
    return events


def lives(agents: int) -> list[InputEvent]:
    """The lives of several agents, mixed by time."""
    events = [event for number in range(agents) for event in life(f"agent-{number}")]
    return sorted(events, key=lambda event: (event.occurred_at, event.agent_id))


_IDS = st.integers(0, 30).map(lambda n: f"e{n}")
_TIMES = st.one_of(
    st.integers(0, 3_600_000), st.integers(0, 40).map(lambda n: n * 900_000), st.integers(0, 10**10)
).map(lambda ms: T0_MS + ms)
_AXIS = st.floats(-1, 1)
_DELTA = st.floats(-2, 2)
_UNIT = st.floats(0, 1)
_FELT = st.sampled_from(["joy", "disappointment", "fears_confirmed"])
_OWN = st.one_of(
    st.none(),
    st.builds(Deltas, pleasure=_DELTA, arousal=_DELTA, dominance=_DELTA),
    st.builds(Emotion, emotion=st.sampled_from(["joy", "anger", "relief"]), intensity=st.floats(0, 1)),
)
_COUNT = st.one_of(st.none(), st.integers(0, 10**9), st.just(0))
_FLAG = st.one_of(st.none(), st.booleans())
_OTHER = st.sampled_from(["u", "v", "ü/%"])


@st.composite
def events(draw: st.DrawFn, tenant: str, agent: str) -> InputEvent:
    """Any event of one agent; ids repeat often, times are close, equal or far apart."""
    common = _common(tenant, agent, draw(_IDS), draw(_TIMES))
    kind = draw(st.sampled_from(["outcome", "engagement", "signal", "profile", "other"]))
    if kind == "profile":
        return AgentProfile(**common, **_profile(draw))
    if kind == "signal":
        return MoodSignal(**common, kind="interaction_appraisal", pleasure=draw(_DELTA), dominance=draw(_DELTA))
    common |= {"description": draw(st.text("abcü ", min_size=1, max_size=9)) + ".", "appraisal": draw(_OWN)}
    common |= {"appraise": draw(st.sampled_from([True, True, False])), "importance": draw(st.none() | st.floats(0, 1))}
    if kind == "outcome":
        return Outcome(**common, result=draw(st.sampled_from(["success", " Failed ", "unclear"])))
    if kind == "engagement":
        return Engagement(**common, **_report(draw))
    return _other(draw, common)


def _profile(draw: st.DrawFn) -> dict[str, Any]:
    triple = st.tuples(_AXIS, _AXIS, _AXIS)
    return {
        "baseline": draw(triple),
        "tau_hours": draw(st.floats(0.1, 100)),
        "max_displacement": draw(st.floats(0.05, 2)),
        "influence": draw(st.floats(0, 1)),
        "gains": draw(st.tuples(*[st.sampled_from([0.0, 1.0]) | st.floats(0, 5)] * 3)),
        "rules": {
            "on_failure": draw(st.just((-0.25, 0.15, -0.2)) | st.builds(Emotion, emotion=_FELT, intensity=_UNIT)),
            "responded_no": draw(st.tuples(_DELTA, _DELTA, _DELTA) | st.just({"emotion": "anger", "intensity": 0.3})),
        },
    }


def _report(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "other_agent_id": draw(_OTHER),
        "turn_id": draw(st.integers(0, 6).map(lambda n: f"m{n}")),
        "responded": draw(_FLAG),
        "response_time_ms": draw(_COUNT),
        "response_length": draw(_COUNT),
        "sentiment_shift": draw(st.none() | _AXIS),
        "reaction_count": draw(_COUNT),
        "continued": draw(_FLAG),
    }


def _other(draw: st.DrawFn, common: dict[str, Any]) -> InputEvent:
    return draw(
        st.sampled_from(
            [
                Observation(**common, subject="weather"),
                Action(**common, capability="search"),
                Relationship(**common, other_agent_id="u", source_event_type="chat", quality_signal="positive"),
                Reflection(**common, insight="it helps", level=2, source_memory_ids=["e1"]),
            ]
        )
    )


@st.composite
def erasures(draw: st.DrawFn, tenant: str, agent: str) -> InputEvent:
    """Any erasure or expiry of one agent."""
    name, ms = draw(st.integers(0, 8).map(lambda n: f"x{n}")), draw(_TIMES)
    kind = draw(
        st.sampled_from(["agent", "domain", "domain", "memory", "memory", "other", "other", "expire", "expire"])
    )
    domain = draw(st.sampled_from(["experience", "relationship", "reflection", "engagement", "mood"]))
    if kind == "domain":
        return erase(tenant, agent, name, ms, domain=domain)
    if kind == "memory":
        return erase(tenant, agent, name, ms, memory_id=draw(st.sampled_from(["", "mood:"])) + draw(_IDS))
    if kind == "other":
        return erase(tenant, agent, name, ms, other_agent_id=draw(_OTHER))
    if kind == "expire":
        more: dict[str, Any] = {"domain": draw(st.none() | st.just(domain))}
        if draw(st.booleans()):
            more["markers_before"] = draw(_TIMES)
        return expire(tenant, agent, name, ms, **more)
    return erase(tenant, agent, name, ms)


def with_erasures(tenant: str, agent: str) -> st.SearchStrategy[list[InputEvent]]:
    """Logs of one agent in which something is erased now and then."""
    some = [events(tenant, agent)] * 5 + [erasures(tenant, agent)]
    return st.lists(st.one_of(*some), min_size=1, max_size=40)
