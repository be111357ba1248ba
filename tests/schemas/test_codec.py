"""Records in and out: strict for publishers, lenient on a topic, and a typed error for everything else."""

from __future__ import annotations

import json

import pytest

from moodstream.schemas import (
    EventTooLarge,
    FutureEvent,
    InvalidEvent,
    KeyMismatch,
    Limits,
    MalformedRecord,
    MoodChanged,
    TrendChanged,
    UnknownType,
    decode,
    decode_output,
    encode,
    make,
    parse,
)
from moodstream.schemas.codec import check_future
from moodstream.schemas.events import Engagement, Outcome
from moodstream.schemas.outputs import output_id

KEY = b"acme/bot"
AT_MS = 1_769_860_800_000
FIELDS = {
    "type": "experience.outcome",
    "tenant_id": "acme",
    "agent_id": "bot",
    "event_id": "e1",
    "occurred_at": "2026-01-31T12:00:00Z",
    "description": "d",
    "result": "ok",
}


def value(**changes):
    return json.dumps({**FIELDS, **changes}).encode()


def without(name):
    return json.dumps({key: each for key, each in FIELDS.items() if key != name}).encode()


def test_plain_json_is_read():
    decoded = decode(KEY, value())
    assert decoded.event == make(Outcome, **FIELDS)
    assert decoded.ignored == 0


def test_plain_json_is_written_with_its_type_and_without_nulls():
    wire = encode(make(Outcome, **FIELDS))
    assert (wire.key, wire.headers) == (KEY, [])
    assert json.loads(wire.value) == {**FIELDS, "appraise": True, "metadata": {}}


def test_the_key_is_encoded():
    wire = encode(make(Outcome, **{**FIELDS, "agent_id": "sales bot/ü"}))
    assert wire.key == b"acme/sales%20bot%2F%C3%BC"
    assert decode(*wire).event.agent_id == "sales bot/ü"


def test_headers_that_are_not_cloudevents_do_not_matter():
    for headers in (
        None,
        [],
        (),
        [("traceparent", b"00-1"), ("content-type", b"application/json; charset=utf-8"), ("x", None)],
    ):
        assert decode(KEY, value(), headers).event.event_id == "e1"


def test_unknown_fields_are_ignored_and_counted_also_nested_ones():
    raw = value(
        new=1,
        newer={"a": 1},
        pad={"pleasure": 0.5, "new": 1},
        appraisal={"emotion": "joy", "intensity": 1, "new": 1},
        embedding={"model": "m", "values": [1], "new": 1},
    )
    decoded = decode(KEY, raw)
    assert decoded.ignored == 5
    same = value(
        pad={"pleasure": 0.5}, appraisal={"emotion": "joy", "intensity": 1}, embedding={"model": "m", "values": [1]}
    )
    assert decoded.event == decode(KEY, same).event


def test_unknown_fields_of_a_profile_are_counted():
    raw = value(type="agent.profile", rules={"new": 1}, influence=0.5)
    decoded = decode(KEY, raw)
    assert decoded.ignored == 3  # description and result are none of a profile's fields
    assert decoded.event.influence == 0.5


def test_an_unknown_field_hides_no_broken_one():
    for raw, field, rule in (
        (value(new=1, result=" "), "result", "not_blank"),
        (value(new=1, metadata={"result": "x"}), "metadata.result", "reserved_key"),
        (value(new=1, event_id="mood:1"), "event_id", "reserved_prefix"),
    ):
        with pytest.raises(InvalidEvent) as caught:
            decode(KEY, raw)
        assert (caught.value.field, caught.value.rule) == (field, rule)
        assert "new" not in str(caught.value.to_problem()["errors"])


def test_parsing_is_strict():
    with pytest.raises(InvalidEvent) as caught:
        parse(value(new=1))
    assert (caught.value.field, caught.value.rule) == ("new", "unknown_field")
    with pytest.raises(InvalidEvent) as caught:
        parse(value(pad={"new": 1}))
    assert (caught.value.field, caught.value.rule) == ("pad.new", "unknown_field")


@pytest.mark.parametrize("source", [value(), value().decode(), FIELDS])
def test_parsing_takes_bytes_text_and_fields(source):
    assert parse(source) == make(Outcome, **FIELDS)
    assert parse(source, "experience.outcome") == make(Outcome, **FIELDS)
    with pytest.raises(InvalidEvent):
        parse(source, "engagement")


def test_an_id_is_made_by_the_sdk_but_never_on_a_topic():
    assert parse(without("event_id")).event_id
    with pytest.raises(InvalidEvent) as caught:
        decode(KEY, without("event_id"))
    assert (caught.value.field, caught.value.rule) == ("event_id", "missing")


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"{",
        b"null",
        b"[]",
        b"5",
        b'"text"',
        b"\xff\xfe",
        b"\xef\xbb\xbf" + value(),
        value().decode().encode("utf-16"),
        value().replace(b'"d"', b'"\xff"'),
        value(new="X").replace(b"X", b"\xc3("),
        value().replace(b'"d"', b'"\\ud800"'),
        value() + b"x",
        b"[" * 5000,
        b'{"a":' * 5000,
        value(importance=1).replace(b"1}", b"1" + b"0" * 5000 + b"}"),
    ],
)
def test_bytes_that_are_no_event(raw):
    with pytest.raises(MalformedRecord):
        decode(KEY, raw)
    if raw is not None:
        with pytest.raises(MalformedRecord):
            parse(raw)


@pytest.mark.parametrize(
    "name", ["experience", "moodstream.engagement.v1", "", "x" * 5000, 5, None, {}, "mood.changed", "mood.state"]
)
def test_types_that_are_not_known(name):
    for read in (lambda raw: decode(KEY, raw), parse):
        with pytest.raises(UnknownType) as caught:
            read(value(type=name))
        assert len(str(caught.value)) < 200
        with pytest.raises(UnknownType):
            read(without("type"))
    with pytest.raises(UnknownType):
        parse(FIELDS, str(name))


@pytest.mark.parametrize(
    "key", [None, b"", b"acme/bot2", b"acme%2Fbot", b"acme", b"ACME/bot", b"acme/bot ", b"bot/acme"]
)
def test_a_key_that_is_not_the_events(key):
    with pytest.raises(KeyMismatch):
        decode(key, value())


@pytest.mark.parametrize("key", [b"acme/b%6Ft", b"%61cme/bot"])
def test_a_key_has_one_spelling(key):
    with pytest.raises(KeyMismatch):
        decode(key, value())


def test_an_event_over_the_limit():
    room = 65536 - len(value(extra=""))
    assert decode(KEY, value(extra="x" * room)).ignored == 1
    for read in (lambda raw: decode(KEY, raw), parse):
        with pytest.raises(EventTooLarge, match="event_bytes"):
            read(value(extra="x" * (room + 1)))
    assert decode(KEY, value(extra="x" * room * 2), limits=Limits(event_bytes=200_000)).ignored == 1
    embedding = {"model": "m", "values": [0.12345678901234567] * 4000}
    with pytest.raises(EventTooLarge):
        encode(make(Outcome, **FIELDS, embedding=embedding))
    assert encode(make(Outcome, **FIELDS, embedding=embedding), limits=Limits(event_bytes=200_000))


def test_limits_hold_on_a_topic():
    with pytest.raises(InvalidEvent, match="metadata_entries"):
        decode(KEY, value(metadata={"a": "", "b": ""}), limits=Limits(metadata_entries=1))
    wide = Limits(description_bytes=9000)
    assert decode(KEY, value(description="x" * 9000), limits=wide).ignored == 0
    assert decode(KEY, value(description="x" * 9000, new=1), limits=wide).ignored == 1
    with pytest.raises(InvalidEvent, match="description_bytes"):
        decode(KEY, value(description="x" * 9001, new=1), limits=wide)


def test_the_future_is_measured_against_the_records_own_timestamp():
    at_limit = AT_MS - 300_000
    assert decode(KEY, value(), timestamp_ms=at_limit).ignored == 0
    assert decode(KEY, value(), timestamp_ms=AT_MS + 10**12).ignored == 0
    for timestamp in (at_limit - 1, 0, -1):
        with pytest.raises(FutureEvent, match="future_seconds"):
            decode(KEY, value(), timestamp_ms=timestamp)
    with pytest.raises(FutureEvent):
        decode(KEY, value(occurred_at="2026-01-31T12:00:00.000001Z"), timestamp_ms=at_limit)
    assert decode(KEY, value(occurred_at="9999-12-31T00:00:00Z")).ignored == 0
    assert decode(KEY, value(), timestamp_ms=AT_MS - 10_000, limits=Limits(future_seconds=10)).ignored == 0
    with pytest.raises(FutureEvent):
        check_future(make(Outcome, **FIELDS), AT_MS - 1, Limits(future_seconds=0))


def test_numbers_that_json_does_not_know_are_refused():
    for text in ("NaN", "Infinity", "-Infinity", "1e999"):
        raw = value(importance=0.5).replace(b"0.5", text.encode())
        with pytest.raises(InvalidEvent) as caught:
            decode(KEY, raw)
        assert (caught.value.field, caught.value.rule) == ("importance", "finite")


def test_a_time_that_is_a_number_is_refused():
    for at in (AT_MS, AT_MS / 1000, str(AT_MS)):
        with pytest.raises(InvalidEvent) as caught:
            decode(KEY, value(occurred_at=at))
        assert caught.value.field == "occurred_at"


def test_engagement_keeps_unknown_apart_from_no_and_zero():
    fields = {
        **FIELDS,
        "type": "engagement",
        "other_agent_id": "o",
        "turn_id": "t",
        "reaction_count": 0,
        "responded": False,
    }
    del fields["result"]
    event = decode(KEY, json.dumps({**fields, "continued": None}).encode()).event
    assert isinstance(event, Engagement)
    assert (event.reaction_count, event.responded, event.continued, event.sentiment_shift) == (0, False, None, None)
    assert decode(*encode(event)).event == event


MOOD = {
    "tenant_id": "acme",
    "agent_id": "bot",
    "event_id": output_id("acme", "bot", "mood", 42),
    "occurred_at": "2026-01-31T12:00:00Z",
    "sequence": 42,
    "mood": [0.1, 0.0, -1.0],
    "baseline": [0.0, 0.0, 0.0],
    "tau_hours": [4.0, 4.0, 4.0],
    "displacement": [0.1, 0.0, -1.5],
    "cause": "c",
    "octant": "bored",
    "octants_passed": ["neutral", "bored"],
}
TREND = {
    "tenant_id": "acme",
    "agent_id": "bot",
    "event_id": output_id("acme", "bot", "trend", 42),
    "occurred_at": "2026-01-31T12:00:00Z",
    "sequence": 42,
    "signal": "responded",
    "other_agent_id": "o",
    "direction": "improving",
    "previous": "stable",
    "p": 0.001,
    "slope_per_hour": 0.25,
    "change_at": "2026-01-30T12:00:00Z",
    "observations": 20,
}


@pytest.mark.parametrize("mode", ["json", "binary"])
@pytest.mark.parametrize(("kind", "fields"), [(MoodChanged, MOOD), (TrendChanged, TREND)])
def test_outputs_round_trip(kind, fields, mode):
    event = make(kind, **fields)
    wire = encode(event, mode)
    assert wire.key == KEY
    assert decode_output(*wire) == (event, 0)
    assert decode_output(wire.key, wire.value[:-1] + b',"new":1}', wire.headers) == (event, 1)
    with pytest.raises(UnknownType):
        decode(*wire)
    with pytest.raises(KeyMismatch):
        decode_output(b"acme/other", wire.value, wire.headers)


def test_an_output_id_names_agent_kind_and_sequence():
    assert output_id("a/c", "b", "mood", 7) == "a%2Fc/b/mood/7"


def test_outputs_of_the_longest_ids_fit():
    ids = {"tenant_id": "ü" * 128, "agent_id": "\u4e00" * 85}
    event = make(MoodChanged, **{**MOOD, **ids, "event_id": output_id(*ids.values(), "mood", 2**53 - 1)})
    assert decode_output(*encode(event, "binary")).event == event


def test_an_input_is_no_output():
    with pytest.raises(UnknownType):
        decode_output(KEY, value())
    with pytest.raises(MalformedRecord):
        decode_output(KEY, None)
