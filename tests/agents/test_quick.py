"""The quick reader against the models: what it takes is what they take, and what it leaves is theirs to judge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.agents.quick import read_quickly
from moodstream.schemas.codec import decode, encode
from moodstream.schemas.errors import MoodstreamError
from moodstream.schemas.events import (
    Action,
    InputEvent,
    MoodSignal,
    Observation,
    Pad,
    Reflection,
    Relationship,
)
from moodstream.schemas.identity import agent_key
from moodstream.schemas.limits import Limits
from moodstream.schemas.memory import to_memory
from support.events import T0_MS, engagement, events, outcome, profile, signal

LIMITS = Limits()
COMMON = {"tenant_id": "t", "agent_id": "a", "event_id": "e", "occurred_at": "2026-01-31T12:00:00Z"}
REPORT = {**COMMON, "type": "engagement", "description": "said", "other_agent_id": "b", "turn_id": "m"}


def quickly(fields: dict[str, Any] | bytes) -> InputEvent | None:
    return read_quickly(fields if isinstance(fields, bytes) else json.dumps(fields).encode(), LIMITS)


def slowly(value: bytes, tenant: str = "t", agent: str = "a") -> InputEvent | None:
    """What the models make of it; None for an error or an unknown field."""
    try:
        event, ignored = decode(agent_key(tenant, agent), value, (), limits=LIMITS, timestamp_ms=None)
    except MoodstreamError:
        return None
    return None if ignored else event


def agree(value: bytes) -> InputEvent | None:
    quick = read_quickly(value, LIMITS)
    if quick is not None:
        slow = slowly(value, quick.tenant_id, quick.agent_id)
        assert quick == slow
        assert json.loads(encode(quick).value) == json.loads(encode(slow).value)
        assert quick.occurred_at.tzinfo is slow.occurred_at.tzinfo
        assert {name: type(x) for name, x in quick.__dict__.items()} == {n: type(x) for n, x in slow.__dict__.items()}
    return quick


USUAL = [
    outcome("t", "a", "e", T0_MS, importance=0.5, capability="search", pad=Pad(pleasure=0.5)),
    engagement("t", "a", "e", T0_MS, responded=True, response_time_ms=2, metadata={"k": "v"}),
    signal("t", "a", "e", T0_MS, 0.5),
    MoodSignal(**COMMON, kind="interaction_appraisal"),
    Observation(**COMMON, description="Überall Regen", subject="weather"),
    Action(**COMMON, description="looked", capability="search", appraise=False),
    Relationship(**COMMON, description="a", other_agent_id="u", source_event_type="chat", quality_signal="positive"),
]


@pytest.mark.parametrize("event", USUAL, ids=lambda event: event.type_name)
def test_the_usual_is_read_quickly(event: InputEvent) -> None:
    found = agree(encode(event).value)
    assert found == event
    assert to_memory(found) == to_memory(event)
    with pytest.raises(Exception, match="frozen"):
        found.agent_id = "b"


@pytest.mark.parametrize(
    "event",
    [
        profile("t", "a", "e", T0_MS),
        Reflection(**COMMON, description="d", insight="i", level=1, source_memory_ids=["x"]),
        outcome("t", "a", "e", T0_MS, appraisal={"emotion": "joy", "intensity": 0.5}),
    ],
    ids=lambda event: event.type_name,
)
def test_the_rare_is_left_to_the_models(event: InputEvent) -> None:
    value = encode(event).value
    assert read_quickly(value, LIMITS) is None
    assert slowly(value) == event


ODD = st.sampled_from(
    [
        *(
            "",
            " ",
            "\t",
            "\x1c",
            "\xa0",
            "x",
            "ü",
            "\x7f",
            "mood:x",
            "a",
            "\U0001f600 ",
            "x" * 257,
            "ü" * 200,
            "x" * 9_000,
        ),
        *(None, True, False, [], {}, [1.0], {"pleasure": 1}, {"pleasure": 2}, {"k": "v"}, {"turn-id": "v"}, {"k": 1}),
        *(0, 1, -1, 0.0, -0.0, 0.5, 1.0, 2.0, 2.5, 1e308, 5e-324, 2**53 - 1, 2**53, 10**30, 9_007_199_254_740_991.5),
        *("joy", "success", "positive", "interaction_appraisal", "direct_shift", "engagement", "experience.outcome"),
    ]
)
TIMES = st.sampled_from(
    [
        *(
            "2026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.1Z",
            "2026-01-31T12:00:00.123456+00:00",
            "2026-01-31T12:00:00-00:00",
        ),
        *(
            "2026-01-31T24:00:00Z",
            "2026-01-31T23:59:60Z",
            "2026-02-30T12:00:00Z",
            "2026-01-31T12:00:00,5Z",
            "2026-01-31",
        ),
        *("2026-01-31T12:00:00.1234567Z", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31t12:00:00z", "1"),
        *("2026-01-31T12:00:00+23:59", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+0100", "2026-01-31T12:00Z"),
        *("1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:30:00+01:00", "9999-12-31T23:59:59.999999Z"),
        *(
            "9999-12-31T23:59:59-01:00",
            "0001-01-01T00:00:00+01:00",
            "2026-01-31T12:00:00+05:30:15",
            "\uff12026-01-31T12:00:00Z",
        ),
    ]
)


@given(st.data())
@settings(max_examples=600)
def test_whatever_is_wrong_is_never_taken(data: st.DataObject) -> None:
    event = data.draw(st.one_of(events("t", "a"), st.sampled_from(USUAL)))
    fields = json.loads(encode(event).value)
    for name in data.draw(st.lists(st.sampled_from([*fields, "pad", "importance", "unknown"]), max_size=3)):
        fields[name] = data.draw(ODD)
    if data.draw(st.booleans()):
        fields["occurred_at"] = data.draw(TIMES)
    fields.pop(data.draw(st.sampled_from([*fields, "nothing"])), None)
    agree(json.dumps(fields, ensure_ascii=data.draw(st.booleans())).encode())


@given(st.sampled_from([*REPORT, "importance", "sentiment_shift", "reaction_count", "responded"]), ODD | TIMES)
@settings(max_examples=600)
def test_one_odd_field_is_judged_as_the_models_do(name: str, value: object) -> None:
    agree(json.dumps({**REPORT, name: value}).encode())


RAW = [
    b'{"type":"engagement"',
    b"",
    b"[]",
    b"null",
    b"\xef\xbb\xbf" + json.dumps(REPORT).encode(),
    json.dumps(REPORT).encode() + b" ",
    json.dumps(REPORT).encode() + b"x",
    json.dumps(REPORT).encode().replace(b'"said"', rb'"\ud800"'),
    json.dumps(REPORT).encode().replace(b'"said"', rb'"a\ud800b"'),
    json.dumps(REPORT).encode().replace(b'"said"', b'"\xff"'),
    json.dumps(REPORT).encode().replace(b'"said"', rb'"\u0000x"'),
    json.dumps(REPORT).encode()[:-1] + b',"importance":NaN}',
    json.dumps(REPORT).encode()[:-1] + b',"importance":1e-400}',
    json.dumps(REPORT).encode()[:-1] + b',"response_time_ms":1e400}',
    json.dumps(REPORT).encode()[:-1] + b',"reaction_count":1.0}',
    json.dumps(REPORT).encode()[:-1] + b',"reaction_count":-0}',
    json.dumps(REPORT).encode()[:-1] + b',"response_time_ms":007}',
    json.dumps(REPORT).encode()[:-1] + b',"event_id":"second"}',
    json.dumps(REPORT).encode()[:-1] + b',"type":"experience.outcome"}',
    json.dumps(REPORT).encode()[:-1] + b',"sentiment_shift":0.1000000000000000055511151231257827}',
]


@pytest.mark.parametrize("value", RAW)
def test_odd_json_is_judged_as_the_models_do(value: bytes) -> None:
    agree(value)


def test_limits_are_those_of_the_settings() -> None:
    value = json.dumps({**REPORT, "description": "x" * 300, "metadata": {"k": "v" * 50}}).encode()
    assert read_quickly(value, LIMITS) is not None
    assert read_quickly(value, Limits(description_bytes=299)) is None
    assert read_quickly(value, Limits(metadata_bytes=50)) is None
