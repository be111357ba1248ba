"""Properties over all kinds of events: what is valid survives every way through, what is not gets a typed error."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.schemas import (
    INPUT_TYPES,
    OCC_EMOTIONS,
    InvalidEvent,
    MoodState,
    MoodstreamError,
    decode,
    encode,
    from_memory,
    make,
    parse,
    to_memory,
)
from moodstream.schemas.identity import check_id
from moodstream.schemas.wire_names import DOMAINS, TREND_SIGNALS, is_reserved

letters = st.characters(exclude_categories=("Cc", "Cs"))
any_letters = st.characters(exclude_categories=("Cs",))
ids = st.text(letters, min_size=1, max_size=40)
event_ids = ids.filter(lambda text: not text.startswith("mood:"))
texts = st.text(any_letters, min_size=1, max_size=60).filter(lambda text: bool(text.strip()))
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30), timezones=offsets)
counts = st.integers(0, 2**53 - 1)


def number(low, high):
    return st.floats(low, high) | st.integers(low, high)


def maybe(strategy):
    return st.none() | strategy


axis, delta, unit = number(-1, 1), number(-2, 2), number(0, 1)
pads = st.fixed_dictionaries({}, optional={name: maybe(axis) for name in ("pleasure", "arousal", "dominance")})
deltas = st.fixed_dictionaries({}, optional=dict.fromkeys(("pleasure", "arousal", "dominance"), delta))
emotions = st.fixed_dictionaries({"emotion": st.sampled_from(OCC_EMOTIONS), "intensity": unit})
embeddings = st.fixed_dictionaries(
    {
        "model": ids,
        "values": st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    }
)
metadata = st.dictionaries(
    st.text(any_letters, max_size=10).filter(lambda key: not is_reserved(key)),
    st.text(any_letters, max_size=20),
    max_size=4,
)

IDENTITY = {"tenant_id": ids, "agent_id": ids, "event_id": event_ids, "occurred_at": times}
COMMON = {
    "case_id": maybe(ids),
    "turn_id": maybe(ids),
    "importance": maybe(unit),
    "metadata": metadata,
    "embedding": maybe(embeddings),
}
DOMAIN = {**COMMON, "pad": maybe(pads)}
JUDGED = {"appraisal": maybe(deltas | emotions), "appraise": st.booleans()}
EXPERIENCE = {"target_agent": maybe(ids), "source_channel": maybe(texts)}
SIGNALS = {
    "responded": maybe(st.booleans()),
    "response_time_ms": maybe(counts),
    "response_length": maybe(counts),
    "sentiment_shift": maybe(axis),
    "reaction_count": maybe(counts),
    "continued": maybe(st.booleans()),
}
triple = st.tuples(axis, axis, axis).map(list)
hours = st.floats(1e-6, 87_600)
REQUIRED = {
    "experience.observation": {"description": texts, "subject": texts},
    "experience.action": {"description": texts},
    "experience.outcome": {"description": texts, "result": texts},
    "relationship": {
        "description": texts,
        "other_agent_id": ids,
        "source_event_type": texts,
        "quality_signal": st.sampled_from(["positive", "negative", "neutral"]),
    },
    "reflection": {
        "description": texts,
        "insight": texts,
        "level": st.integers(1, 2**53 - 1),
        "source_memory_ids": st.lists(ids, min_size=1, max_size=4),
    },
    "engagement": {"description": texts, "other_agent_id": ids, "turn_id": ids},
    "mood.signal": {"kind": st.sampled_from(["interaction_appraisal", "direct_shift"]), "cause": texts},
    "agent.profile": {},
    "erase": {"scope": st.just("agent")},
    "expire": {"before": st.just(datetime(1970, 1, 1, tzinfo=UTC))},
    "rebuild": {},
}
OPTIONAL = {
    "experience.observation": {**DOMAIN, **JUDGED, **EXPERIENCE},
    "experience.action": {**DOMAIN, **JUDGED, **EXPERIENCE, "capability": maybe(texts)},
    "experience.outcome": {**DOMAIN, **JUDGED, **EXPERIENCE, "capability": maybe(texts)},
    "relationship": {**DOMAIN, **JUDGED},
    "reflection": {**DOMAIN, **JUDGED},
    "engagement": {**{name: each for name, each in DOMAIN.items() if name != "turn_id"}, **JUDGED, **SIGNALS},
    "mood.signal": {**COMMON, "pleasure": delta, "arousal": delta, "dominance": delta},
    "agent.profile": {
        "baseline": triple,
        "tau_hours": hours | st.tuples(hours, hours, hours).map(list),
        "max_displacement": st.floats(1e-6, 2),
        "gains": st.floats(0, 5) | st.tuples(*[st.floats(0, 5)] * 3).map(list),
        "influence": unit,
        "domain_weights": st.dictionaries(st.sampled_from(DOMAINS), st.floats(1e-6, 1e6)),
        "trend_signs": st.dictionaries(st.sampled_from(TREND_SIGNALS), st.sampled_from([-1, 0, 1])),
        "rules": st.fixed_dictionaries(
            {}, optional={"success": st.lists(texts, max_size=3), "fast_ms": counts, "slow": triple | emotions}
        ),
    },
    "erase": {},  # what goes with a scope is in TARGETS
    "expire": {
        "domain": maybe(st.sampled_from(DOMAINS)),
        "markers_before": maybe(st.just(datetime(1970, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))))),
    },
    "rebuild": {"partial": st.booleans(), "from_offset": maybe(st.integers(0, 2**62))},
}
UNREMEMBERED = {"agent.profile", "erase", "expire", "rebuild"}


TARGETS = {
    "domain": ("domain", st.sampled_from(DOMAINS)),
    "memory": ("memory_id", event_ids | event_ids.map("mood:{}".format)),
    "other_agent": ("other_agent_id", ids),
}


def aimed(fields):
    """An erasure of the agent, made one of another scope."""
    scope = st.sampled_from(list(TARGETS)).flatmap(lambda scope: st.tuples(st.just(scope), TARGETS[scope][1]))
    return st.just(fields) | scope.map(lambda to: {**fields, "scope": to[0], TARGETS[to[0]][0]: to[1]})


def fields_of(name):
    made = st.fixed_dictionaries({**IDENTITY, **REQUIRED[name]}, optional=OPTIONAL[name])
    if name == "erase":
        made = made.flatmap(aimed)
    return made.filter(lambda fields: fields.get("other_agent_id") != fields["agent_id"])


any_fields = st.sampled_from(list(INPUT_TYPES)).flatmap(lambda name: st.tuples(st.just(name), fields_of(name)))
any_event = any_fields.map(lambda drawn: make(INPUT_TYPES[drawn[0]], **drawn[1]))
memorable = any_event.filter(lambda event: event.type_name not in UNREMEMBERED)


def as_json(name, fields):
    return json.dumps({"type": name, **fields}, default=datetime.isoformat).encode()


@given(any_event, st.sampled_from(["json", "binary"]))
def test_encoding_and_decoding_give_the_event_back(event, mode):
    assert decode(*encode(event, mode)) == (event, 0)


@given(any_event)
def test_a_structured_event_says_the_same(event):
    wire = encode(event, "binary")
    envelope = {name[3:]: text.decode() for name, text in wire.headers if name.startswith("ce_")}
    envelope["data"] = json.loads(wire.value)
    headers = [("content-type", b"application/cloudevents+json")]
    assert decode(wire.key, json.dumps(envelope).encode(), headers) == (event, 0)


@given(any_fields)
def test_json_and_python_are_judged_alike(drawn):
    name, fields = drawn
    event = make(INPUT_TYPES[name], **fields)
    assert parse(as_json(name, fields)) == event
    assert parse(as_json(name, fields)).occurred_at.tzinfo is UTC
    assert parse(fields, name) == event
    assert event.occurred_at == fields["occurred_at"]
    assert event.occurred_at.tzinfo is UTC


@given(memorable)
def test_memory_records_give_the_event_back(event):
    back = from_memory(to_memory(event))
    if event.type_name == "mood.signal":
        assert back == event
    else:
        lost = {"appraisal": event.appraisal, "appraise": event.appraise}
        assert back.model_copy(update=lost) == event
        assert (back.appraisal, back.appraise) == (None, True)


@given(
    st.fixed_dictionaries(
        {
            **IDENTITY,
            "event_id": ids.map("mood:{}".format),
            "pleasure": axis,
            "arousal": axis,
            "dominance": axis,
            "cause": texts,
        },
        optional={**COMMON, "baseline": maybe(triple), "tau_hours": hours, "max_displacement": st.floats(1e-6, 2)},
    )
)
def test_memory_records_give_mood_states_back(fields):
    state = make(MoodState, **fields)
    assert from_memory(to_memory(state)) == state


def test_the_strategies_cover_every_field():
    for name, kind in INPUT_TYPES.items():
        aims = {target for target, _ in TARGETS.values()} if name == "erase" else set()
        assert {*IDENTITY, *REQUIRED[name], *OPTIONAL[name], *aims, "type"} == set(kind.model_fields)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(st.characters(), max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(any_fields, st.data())
def test_a_broken_field_is_accepted_by_both_or_named_by_both(drawn, data):
    name, fields = drawn
    field = data.draw(st.sampled_from(sorted({*INPUT_TYPES[name].model_fields, "unheard_of"})))
    fields = {**fields, field: data.draw(JUNK)}
    raw = as_json(name, fields)
    if field == "type":
        raw = as_json(fields["type"], {key: each for key, each in fields.items() if key != "type"})
    outcomes = []
    for read in (lambda: parse(raw), lambda: parse({"type": name, **fields})):
        try:
            event = read()
        except InvalidEvent as error:
            outcomes.append((error.field.partition(".")[0], error.rule))
        except MoodstreamError as error:
            outcomes.append(("whole", error.code))
        else:
            outcomes.append(("accepted", encode(event).value))
    if outcomes[0] == ("whole", "malformed_record"):  # a lone surrogate cannot be written in JSON text at all
        assert outcomes[1][1] in ("unicode", "unknown_field", "unknown_type", "choice", "control_character")
    else:
        assert outcomes[0][0] == outcomes[1][0]


@given(any_event, st.data())
def test_a_damaged_record_gets_a_typed_error(event, data):
    wire = encode(event, data.draw(st.sampled_from(["json", "binary"])))
    at = data.draw(st.integers(0, len(wire.value)))
    damaged = (
        wire.value[:at] + data.draw(st.binary(max_size=4)) + wire.value[data.draw(st.integers(at, len(wire.value))) :]
    )
    try:
        decoded = decode(wire.key, damaged, wire.headers, timestamp_ms=data.draw(st.integers(-1, 2**50)))
    except MoodstreamError:
        return  # any other exception fails the test
    assert decode(*encode(decoded.event)).event == decoded.event


@given(
    st.binary(max_size=40),
    st.binary(max_size=200) | st.none(),
    st.lists(
        st.tuples(
            st.sampled_from(["ce_id", "ce_type", "ce_time", "ce_specversion", "ce_source", "content-type", "x"]),
            st.none()
            | st.binary(max_size=30)
            | st.sampled_from([b"1.0", b"application/cloudevents+json", b"moodstream.engagement.v1"]),
        ),
        max_size=7,
    ),
)
def test_noise_gets_a_typed_error(key, value, headers):
    with pytest.raises(MoodstreamError):
        decode(key, value, headers)


@given(
    st.recursive(
        JUNK, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    )
)
@settings(max_examples=50)
def test_any_json_gets_a_typed_error(value):
    with pytest.raises(MoodstreamError):
        decode(b"a/b", json.dumps(value).encode())


@given(st.text(st.characters(), max_size=300))
def test_ids_are_judged_alike_in_events_and_alone(text):
    def rule(read):
        try:
            read()
        except InvalidEvent as error:
            return error.rule
        return None

    fields = {"description": "d", "result": "ok", "tenant_id": "t", "occurred_at": "2026-01-31T12:00:00Z"}
    inside = rule(lambda: make(INPUT_TYPES["experience.outcome"], **fields, agent_id=text))
    alone = rule(lambda: check_id(text, "agent_id"))
    assert (inside is None) is (alone is None)
