"""CloudEvents 1.0 in both Kafka modes, with the CloudEvents SDK as a second opinion."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest
from cloudevents.core.bindings.kafka import (
    KafkaMessage,
    from_binary_event,
    from_structured_event,
    to_binary_event,
    to_structured_event,
)
from cloudevents.core.v1.event import CloudEvent

from moodstream.schemas import (
    INPUT_TYPES,
    InvalidEvent,
    MalformedRecord,
    MoodstreamError,
    UnknownType,
    decode,
    encode,
    make,
)
from moodstream.schemas.events import Outcome
from moodstream.schemas.wire_names import ce_type

KEY = b"acme/bot"
AT = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
WHO = {"tenant_id": "acme", "agent_id": "bot"}
DATA = {**WHO, "description": "d", "result": "ok"}
TYPE = "moodstream.experience.outcome.v1"
EXPECTED = make(Outcome, **DATA, event_id="e1", occurred_at=AT)
ATTRIBUTES = {"id": "e1", "source": "/shop", "type": TYPE, "specversion": "1.0", "time": "2026-01-31T12:00:00.250Z"}
STRUCTURED = ("content-type", b"application/cloudevents+json")


def binary(data=None, content_type=b"application/json", **changes):
    attributes = {**ATTRIBUTES, **changes}
    headers = [(f"ce_{name}", value.encode()) for name, value in attributes.items() if value is not None]
    if content_type is not None:
        headers.append(("content-type", content_type))
    return KEY, json.dumps(DATA if data is None else data).encode(), headers


def structured(data=DATA, headers=(), **changes):
    envelope = {**ATTRIBUTES, "data": data, **changes}
    envelope = {name: value for name, value in envelope.items() if value is not None}
    return KEY, json.dumps(envelope).encode(), [STRUCTURED, *headers]


def refusal(record):
    with pytest.raises(InvalidEvent) as caught:
        decode(*record)
    return caught.value.field, caught.value.rule


@pytest.mark.parametrize("record", [binary, structured])
def test_id_time_and_type_come_from_the_envelope(record):
    assert decode(*record()) == (EXPECTED, 0)


@pytest.mark.parametrize("record", [binary, structured])
def test_data_may_say_the_same_again(record):
    same = {**DATA, "type": "experience.outcome", "event_id": "e1", "occurred_at": "2026-01-31T13:00:00.25+01:00"}
    assert decode(*record(same)) == (EXPECTED, 0)


@pytest.mark.parametrize("record", [binary, structured])
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"event_id": "e2"}, "event_id"),
        ({"occurred_at": "2026-01-31T12:00:00.250001Z"}, "occurred_at"),
        ({"type": "experience.action"}, "type"),
        ({"type": None}, "type"),
    ],
)
def test_data_must_not_disagree_with_the_envelope(record, more, field):
    assert refusal(record({**DATA, **more})) == (field, "mismatch")


@pytest.mark.parametrize("record", [binary, structured])
def test_null_in_data_is_not_filled(record):
    assert refusal(record({**DATA, "event_id": None})) == ("event_id", "type")


@pytest.mark.parametrize("record", [binary, structured])
def test_the_time_of_the_envelope_is_optional_but_that_of_the_event_is_not(record):
    assert decode(*record({**DATA, "occurred_at": "2026-01-31T12:00:00.25Z"}, time=None)) == (EXPECTED, 0)
    assert refusal(record(time=None)) == ("occurred_at", "missing")


@pytest.mark.parametrize("record", [binary, structured])
@pytest.mark.parametrize("name", ["id", "source", "type", "specversion"])
def test_required_attributes(record, name):
    assert refusal(record(**{name: None})) == (f"ce_{name}", "missing")
    assert refusal(record(**{name: ""})) == (f"ce_{name}", "not_blank")


@pytest.mark.parametrize("record", [binary, structured])
def test_other_versions_are_refused(record):
    assert refusal(record(specversion="0.3")) == ("ce_specversion", "choice")


@pytest.mark.parametrize("record", [binary, structured])
@pytest.mark.parametrize(
    "name",
    ["experience.outcome", "moodstream.experience.outcome.v2", "com.example.thing", "moodstream.mood.changed.v1"],
)
def test_types_that_are_not_known(record, name):
    with pytest.raises(UnknownType):
        decode(*record(type=name))


@pytest.mark.parametrize("record", [binary, structured])
def test_attributes_keep_the_rules_of_the_fields_that_they_fill(record):
    assert refusal(record(id="mood:1")) == ("event_id", "reserved_prefix")
    assert refusal(record(id="a\n")) == ("event_id", "control_character")
    assert refusal(record(time="2026-01-31T12:00:00")) == ("occurred_at", "timezone")
    own = {**DATA, "occurred_at": "2026-01-31T12:00:00.25Z"}
    assert refusal(record(own, time="yesterday")) == ("ce_time", "instant")


@pytest.mark.parametrize("record", [binary, structured])
def test_unknown_fields_are_counted_and_extensions_are_not(record):
    decoded = decode(*record({**DATA, "new": 1, "pad": {"new": 2}}, traceparent="00-1", partitionkey="x"))
    assert decoded.ignored == 2


def test_the_content_type_decides_against_headers():
    """The trap in which some SDKs fall: a structured event that carries ce_ headers too, of another event."""
    others = [
        ("ce_specversion", b"1.0"),
        ("ce_id", b"e9"),
        ("ce_type", b"moodstream.engagement.v1"),
        ("ce_source", b"/x"),
    ]
    assert decode(*structured(headers=others)) == (EXPECTED, 0)
    key, value, headers = structured(headers=others)
    assert decode(key, value, list(reversed(headers))) == (EXPECTED, 0)


@pytest.mark.parametrize(
    "content_type", [b"application/cloudevents+json; charset=utf-8", b"Application/CloudEvents+JSON"]
)
def test_content_types_of_structured_events(content_type):
    key, value, _ = structured()
    assert decode(key, value, [("Content-Type", content_type)]) == (EXPECTED, 0)


@pytest.mark.parametrize(
    "content_type", [None, b"", b"application/json;charset=UTF-8", b"text/json", b"application/vnd.shop+json"]
)
def test_content_types_of_binary_events(content_type):
    assert decode(*binary(content_type=content_type)) == (EXPECTED, 0)


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/cloudevents+avro",
        b"application/cloudevents",
        b"application/cloudevents-batch+json",
        b"text/plain",
        b"application/avro",
        b"\xff",
    ],
)
def test_content_types_that_cannot_be_read(content_type):
    with pytest.raises(MalformedRecord):
        decode(*binary(content_type=content_type))
    with pytest.raises(MalformedRecord):
        decode(KEY, structured()[1], [("content-type", content_type)])


def test_data_may_be_base64():
    packed = base64.b64encode(json.dumps(DATA).encode()).decode()
    assert decode(*structured(None, data_base64=packed)) == (EXPECTED, 0)


@pytest.mark.parametrize(
    "record",
    [
        structured(None),
        structured("text"),
        structured([DATA]),
        structured(json.dumps(DATA)),
        structured(None, data_base64="!"),
        structured(None, data_base64=5),
        structured(None, data_base64=base64.b64encode(b"\xff").decode()),
        structured(DATA, data_base64="e30="),
        (KEY, b"[]", [STRUCTURED]),
        (KEY, b"{", [STRUCTURED]),
        (KEY, b"", [STRUCTURED]),
        (KEY, None, [STRUCTURED]),
        (KEY, b'{"a":"\xff"}', [STRUCTURED]),
        (KEY, b"[" * 5000, [STRUCTURED]),
        (KEY, b"", binary()[2]),
        (KEY, b"[]", binary()[2]),
        (KEY, b"null", binary()[2]),
        (KEY, json.dumps(DATA).encode(), [*binary()[2], ("ce_x", b"\xff")]),
    ],
)
def test_records_that_cannot_be_read(record):
    with pytest.raises(MalformedRecord):
        decode(*record)


@pytest.mark.parametrize("name", ["id", "source", "type", "specversion", "time"])
def test_attributes_of_a_structured_event_are_texts(name):
    assert refusal(structured(**{name: 5})) == (f"ce_{name}", "type")


def test_a_header_without_a_value_is_empty():
    key, value, headers = binary()
    assert refusal((key, value, [*headers, ("ce_id", None)])) == ("ce_id", "not_blank")


def test_what_we_write_the_sdk_reads():
    event = make(Outcome, **{**DATA, "agent_id": "bötchen 7"}, event_id="ü/1", occurred_at=AT)
    wire = encode(event, "binary")
    seen = from_binary_event(KafkaMessage(dict(wire.headers), wire.key, wire.value))
    assert (seen.get_id(), seen.get_type(), seen.get_time()) == ("ü/1", TYPE, AT)
    assert seen.get_source() == "/tenants/acme/agents/b%C3%B6tchen%207"
    assert seen.get_extension("partitionkey").encode() == wire.key
    assert seen.get_datacontenttype() == "application/json"
    assert make(Outcome, **seen.get_data()) == event


SDK_ATTRIBUTES = {"id": "e1", "source": "/shop", "type": TYPE, "time": AT, "partitionkey": "acme/bot"}


@pytest.mark.parametrize("write", [to_binary_event, to_structured_event])
def test_what_the_sdk_writes_we_read(write):
    for content_type in ("application/json", None):
        more = {"datacontenttype": content_type} if content_type else {}
        message = write(CloudEvent({**SDK_ATTRIBUTES, **more}, DATA))
        assert decode(KEY, message.value, list(message.headers.items())) == (EXPECTED, 0)


def test_the_sdk_reads_a_structured_event_as_we_do():
    key, value, headers = structured()
    seen = from_structured_event(KafkaMessage(dict(headers), key, value))
    event = decode(key, value, headers).event
    assert (seen.get_id(), seen.get_time(), seen.get_type()) == (
        event.event_id,
        event.occurred_at,
        ce_type(event.type_name),
    )
    assert seen.get_data() == DATA


@pytest.mark.parametrize("changes", [{"source": None}, {"type": None}, {"id": ""}, {"source": ""}])
def test_what_the_sdk_refuses_we_refuse(changes):
    key, value, headers = binary(**changes)
    with pytest.raises(Exception, match=r".+"):
        from_binary_event(KafkaMessage(dict(headers), key, value))
    with pytest.raises(MoodstreamError):
        decode(key, value, headers)


def test_cloudevents_types_follow_the_type_names():
    assert [ce_type(name) for name in INPUT_TYPES][2] == TYPE
    assert ce_type("mood.changed") == "moodstream.mood.changed.v1"
