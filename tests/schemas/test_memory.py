"""Memory records: the attributes of each domain, and events that come back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.schemas import AgentProfile, InvalidEvent, MoodState, Pad, from_memory, make, to_memory
from moodstream.schemas.attributes import array, boolean, number, numbers, text_of
from moodstream.schemas.events import Action, Engagement, MoodSignal, Observation, Outcome, Reflection, Relationship
from moodstream.schemas.memory import UNCAUSED
from moodstream.schemas.wire_names import DOMAIN_ATTRIBUTES

AT = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)
WHO = {"tenant_id": "acme", "agent_id": "bot", "event_id": "e1", "occurred_at": AT}
MORE = {
    "turn_id": "t1",
    "case_id": "c1",
    "importance": 0.25,
    "metadata": {"k": "v"},
    "embedding": {"model": "m", "values": [0.1, 2.0]},
}
FULL = {"description": "d", "pad": {"pleasure": 0.0, "dominance": -1.0}, **MORE}

CASES = {
    "observation": (
        make(Observation, **WHO, **FULL, subject="s", target_agent="x", source_channel="c"),
        "experience",
        {"event-type": "observation", "turn-id": "t1", "subject": "s", "target-agent": "x", "source-channel": "c"},
    ),
    "action": (
        make(Action, **WHO, **FULL, capability="chat"),
        "experience",
        {"event-type": "action", "turn-id": "t1", "capability": "chat"},
    ),
    "outcome": (
        make(Outcome, **WHO, **FULL, result="ok", capability="chat"),
        "experience",
        {"event-type": "outcome", "turn-id": "t1", "result": "ok", "capability": "chat"},
    ),
    "relationship": (
        make(Relationship, **WHO, **FULL, other_agent_id="o", source_event_type="thanks", quality_signal="positive"),
        "relationship",
        {"other-agent": "o", "source-event-type": "thanks", "quality-signal": "positive", "turn-id": "t1"},
    ),
    "reflection": (
        make(Reflection, **WHO, **FULL, insight="i", level=2, source_memory_ids=["a", 'ü"']),
        "reflection",
        {"reflection-level": "2", "source-memory-ids": '["a","ü\\""]', "ms-insight": "i"},
    ),
    "engagement": (
        make(
            Engagement,
            **WHO,
            **FULL,
            other_agent_id="o",
            responded=False,
            response_time_ms=0,
            response_length=120,
            sentiment_shift=-0.5,
            reaction_count=3,
            continued=True,
        ),
        "engagement",
        {
            "other-agent": "o",
            "turn-id": "t1",
            "responded": "false",
            "response-time-ms": "0",
            "response-length": "120",
            "sentiment-shift": "-0.5",
            "reaction-count": "3",
            "continued": "true",
        },
    ),
    "silent engagement": (
        make(Engagement, **WHO, **FULL, other_agent_id="o"),
        "engagement",
        {"other-agent": "o", "turn-id": "t1"},
    ),
    "direct shift": (
        make(MoodSignal, **WHO, **MORE, kind="direct_shift", pleasure=2, cause="c"),
        "mood",
        {
            "turn-id": "t1",
            "cause-event": "e1",
            "ms-kind": "direct_shift",
            "ms-pleasure": "2",
            "ms-arousal": "0",
            "ms-dominance": "0",
        },
    ),
    "appraisal without a cause": (
        make(MoodSignal, **WHO, kind="interaction_appraisal", arousal=-0.1),
        "mood",
        {
            "cause-event": "e1",
            "ms-kind": "interaction_appraisal",
            "ms-pleasure": "0",
            "ms-arousal": "-0.1",
            "ms-dominance": "0",
            "ms-uncaused": "true",
        },
    ),
    "mood state": (
        make(
            MoodState,
            **{**WHO, "event_id": "mood:e1"},
            **MORE,
            pleasure=0.1,
            arousal=-1,
            dominance=0,
            cause="c",
            baseline=[0, 0.5, -0.25],
            tau_hours=4,
            max_displacement=[1, 2, 0.5],
        ),
        "mood",
        {
            "pleasure": "0.1",
            "arousal": "-1",
            "dominance": "0",
            "turn-id": "t1",
            "baseline": "[0,0.5,-0.25]",
            "tau": "[4,4,4]",
            "max-displacement": "[1,2,0.5]",
            "cause-event": "e1",
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_attributes_are_those_of_the_domain_and_absent_when_unknown(name):
    event, domain, attributes = CASES[name]
    record = to_memory(event)
    assert record.domain == domain
    assert record.attributes == attributes
    assert {key for key in attributes if not key.startswith("ms-")} <= DOMAIN_ATTRIBUTES[domain]


@pytest.mark.parametrize("name", CASES)
def test_the_event_comes_back(name):
    event = CASES[name][0]
    assert from_memory(to_memory(event)) == event


@pytest.mark.parametrize("name", CASES)
def test_shared_fields_are_kept(name):
    event = CASES[name][0]
    record = to_memory(event)
    for field in ("tenant_id", "agent_id", "occurred_at", "importance", "metadata", "case_id", "turn_id", "embedding"):
        assert getattr(record, field) == getattr(event, field)
    assert record.type_name == event.type_name


def test_id_text_and_pad_of_an_event_of_its_own():
    record = to_memory(CASES["outcome"][0])
    assert (record.memory_id, record.text, record.pad) == ("e1", "d", Pad(pleasure=0.0, dominance=-1.0))


def test_id_text_and_pad_in_the_domain_mood():
    signal = to_memory(CASES["direct shift"][0])
    assert (signal.memory_id, signal.text, signal.pad) == ("mood:e1", "c", None)
    assert to_memory(CASES["appraisal without a cause"][0]).text == UNCAUSED == "interaction appraisal"
    state = to_memory(CASES["mood state"][0])
    assert (state.memory_id, state.text, state.pad) == ("mood:e1", "c", Pad(pleasure=0.1, arousal=-1.0, dominance=0.0))


def test_a_cause_that_reads_like_none_is_still_a_cause():
    event = make(MoodSignal, **WHO, kind="interaction_appraisal", cause=UNCAUSED)
    assert from_memory(to_memory(event)).cause == UNCAUSED


def test_what_an_event_does_to_the_mood_is_not_part_of_its_memory():
    event = make(Outcome, **WHO, **FULL, result="ok", appraisal={"pleasure": 1}, appraise=False)
    back = from_memory(to_memory(event))
    assert (back.appraisal, back.appraise) == (None, True)
    assert back.model_copy(update={"appraisal": event.appraisal, "appraise": False}) == event


def test_the_longest_event_id_still_makes_a_mood_memory():
    event = make(MoodSignal, **{**WHO, "event_id": "ü" * 128}, kind="interaction_appraisal")
    assert to_memory(event).memory_id == "mood:" + "ü" * 128
    assert from_memory(to_memory(event)) == event


def test_a_profile_is_no_memory():
    with pytest.raises(TypeError, match="AgentProfile"):
        to_memory(make(AgentProfile, **WHO))


@pytest.mark.parametrize(
    ("name", "key", "text", "field"),
    [
        ("engagement", "responded", "yes", "attributes.responded"),
        ("engagement", "response-time-ms", "soon", "attributes.response-time-ms"),
        ("engagement", "sentiment-shift", "nan", "sentiment_shift"),
        ("engagement", "sentiment-shift", "", "attributes.sentiment-shift"),
        ("reflection", "source-memory-ids", "{}", "attributes.source-memory-ids"),
        ("reflection", "source-memory-ids", "[", "attributes.source-memory-ids"),
        ("mood state", "tau", "[1,null,1]", "attributes.tau"),
        ("relationship", "quality-signal", "good", "quality_signal"),
    ],
)
def test_a_broken_attribute_is_named(name, key, text, field):
    record = to_memory(CASES[name][0])
    broken = record.model_copy(update={"attributes": {**record.attributes, key: text}})
    with pytest.raises(InvalidEvent) as caught:
        from_memory(broken)
    assert caught.value.field == field


def test_a_record_of_no_known_kind_is_refused():
    record = to_memory(CASES["outcome"][0])
    with pytest.raises(InvalidEvent) as caught:
        from_memory(record.model_copy(update={"type_name": "agent.profile"}))
    assert caught.value.field == "type_name"


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53))
def test_numbers_read_back_equal_and_no_shorter_repr_is_left(value):
    assert float(number(value)) == value
    assert not number(value).endswith(".0")


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.1, "0.1"), (-0.25, "-0.25"), (1e16, "1e+16"), (7, "7"), (True, "true")]
)
def test_texts_of_values(value, text):
    assert text_of(value) == text


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_lists_of_numbers_read_back(values):
    assert numbers(text_of(values)) == values


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)))))
def test_lists_of_texts_read_back(values):
    assert array(text_of(values)) == values


def test_booleans_read_back():
    assert [boolean(text_of(value)) for value in (True, False)] == [True, False]
