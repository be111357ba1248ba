"""The publisher of one agent: each method makes its event, and bad values name field and rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from moodstream.schemas.codec import decode
from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.events import INPUT_TYPES, Deltas, InputEvent, Pad
from moodstream.streams.bus import Bus
from moodstream.streams.testing import MemorySender

AT = datetime(2026, 1, 1, tzinfo=UTC)

CALLS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "experience.observation": ("observation", {"subject": "the queue"}, {"description": "the queue"}),
    "experience.action": ("action", {"description": "answers", "capability": "triage"}, {"capability": "triage"}),
    "experience.outcome": ("outcome", {"result": "success"}, {"result": "success", "description": "outcome: success"}),
    "relationship": (
        "relationship",
        {"other_agent_id": "b", "quality_signal": "positive", "source_event_type": "talk"},
        {"quality_signal": "positive", "description": "positive talk with b"},
    ),
    "reflection": (
        "reflection",
        {"insight": "be kind", "source_memory_ids": ["m1"]},
        {"insight": "be kind", "description": "be kind", "level": 1, "importance": 0.5},
    ),
    "engagement": (
        "engagement",
        {"other_agent_id": "b", "turn_id": "t1", "responded": False},
        {"responded": False, "response_time_ms": None, "description": "engagement of b with t1"},
    ),
    "mood.signal": ("signal", {"pleasure": 0.5, "cause": "praise"}, {"kind": "direct_shift", "pleasure": 0.5}),
    "erase": ("erase", {"domain": "mood"}, {"scope": "domain", "domain": "mood", "memory_id": None}),
    "expire": ("expire", {"before": AT, "domain": "mood"}, {"before": AT, "domain": "mood", "markers_before": None}),
    "agent.profile": ("profile", {"tau_hours": 2.0}, {"tau_hours": (2.0, 2.0, 2.0)}),
}


async def emitted(method: str, **given: Any) -> InputEvent:
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        await getattr(bus.agent("acme", "a"), method)(**given)
    (record,) = sender.records
    return decode(record.key, record.value).event


BY_COMMAND = {"rebuild"}
"""What operators send, by a command."""


def test_every_kind_of_event_has_a_method() -> None:
    assert set(CALLS) == set(INPUT_TYPES) - BY_COMMAND


@pytest.mark.parametrize("type_name", CALLS)
async def test_a_method_makes_its_event(type_name: str) -> None:
    method, given, expected = CALLS[type_name]
    event = await emitted(method, **given, event_id="e1", occurred_at=AT)
    assert event.type_name == type_name
    assert (event.tenant_id, event.agent_id, event.event_id, event.occurred_at) == ("acme", "a", "e1", AT)
    assert {name: getattr(event, name) for name in expected} == expected


async def test_time_and_id_are_filled_in() -> None:
    before = datetime.now(UTC)
    first, second = await emitted("action", description="x"), await emitted("action", description="x")
    assert before <= first.occurred_at <= second.occurred_at <= datetime.now(UTC) + timedelta(seconds=1)
    assert first.event_id != second.event_id


async def test_common_fields_reach_the_event() -> None:
    given = {"case_id": "c", "turn_id": "t", "importance": 0.5, "metadata": {"k": "v"}, "appraisal": Deltas(pleasure=1)}
    event = await emitted("outcome", result="ok", **given)
    assert {name: getattr(event, name) for name in given} == given


async def test_a_signal_without_cause_is_an_appraisal() -> None:
    assert (await emitted("signal", arousal=0.1)).kind == "interaction_appraisal"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("method", "given", "field", "rule"),
    [
        ("outcome", {"result": " "}, "result", "not_blank"),
        ("outcome", {"result": "ok", "description": ""}, "description", "not_blank"),
        ("engagement", {"other_agent_id": "a", "turn_id": "t"}, "other_agent_id", "differs"),
        ("engagement", {"other_agent_id": "b", "turn_id": "t", "reaction_count": -1}, "reaction_count", "range"),
        ("signal", {"pleasure": float("nan")}, "pleasure", "finite"),
        ("action", {"description": "x", "occurred_at": datetime(2026, 1, 1)}, "occurred_at", "timezone"),
        ("action", {"description": "x", "surprise": 1}, "surprise", "unknown_field"),
    ],
)
async def test_a_bad_value_names_field_and_rule(method: str, given: dict[str, Any], field: str, rule: str) -> None:
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        with pytest.raises(InvalidEvent) as raised:
            await getattr(bus.agent("acme", "a"), method)(**given)
    assert (raised.value.field, raised.value.rule) == (field, rule)
    assert sender.records == []


async def test_texts_of_the_caller_are_annotated_and_made_up_ones_are_not() -> None:
    seen: list[str] = []

    def annotate(text: str) -> Pad:
        seen.append(text)
        return Pad(pleasure=0.5)

    sender = MemorySender()
    agent = Bus(sender=sender, annotate=annotate).agent("t", "a")
    for method, given, _ in CALLS.values():
        await getattr(agent, method)(**given, occurred_at=AT)
    assert seen == ["the queue", "answers", "be kind"]
    for method in ("outcome", "relationship", "engagement"):
        given = next(given for name, given, _ in CALLS.values() if name == method)
        await getattr(agent, method)(**given, description=method, occurred_at=AT)
    assert seen[3:] == ["outcome", "relationship", "engagement"]
    pads = [getattr(decode(one.key, one.value).event, "pad", None) for one in sender.records]
    assert pads.count(Pad(pleasure=0.5)) == 6


@pytest.mark.parametrize(
    ("given", "scope"),
    [({}, "agent"), ({"memory_id": "mood:e1"}, "memory"), ({"other_agent_id": "b"}, "other_agent")],
)
async def test_an_erasure_has_the_scope_of_what_it_names(given: dict[str, str], scope: str) -> None:
    event = await emitted("erase", **given)
    assert event.scope == scope  # type: ignore[union-attr]


async def test_an_erasure_names_one_thing() -> None:
    with pytest.raises(InvalidEvent, match="is not used by scope"):
        await emitted("erase", domain="mood", memory_id="e1")
