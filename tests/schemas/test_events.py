"""Every rule of the contract on events: each has a broken example, and the error names field and rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import TypeAdapter, ValidationError

from moodstream.schemas import INPUT_TYPES, InputEvent, InvalidEvent, Limits, MoodState, Outcome, make, parse
from moodstream.schemas.events import Deltas, Embedding, Emotion, Engagement, Pad, Reflection
from moodstream.schemas.wire_names import ATTRIBUTE_KEYS, DOMAIN_ATTRIBUTES
from support.refusals import AT, DOMAIN_KINDS, EVENT_KINDS, INF, NAN, OWN, WHO, fields_of, refusal


def test_the_input_types_are_those_of_the_contract():
    assert list(INPUT_TYPES) == list(OWN)
    assert all(kind.type_name == name for name, kind in INPUT_TYPES.items())


@pytest.mark.parametrize("name", OWN)
def test_the_smallest_event_of_each_kind_is_accepted(name):
    event = make(INPUT_TYPES[name], **fields_of(name))
    assert event.type == event.type_name == name
    assert event.occurred_at == AT
    assert event == parse({"type": name, **fields_of(name)}) == parse(fields_of(name), name)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("field", ["tenant_id", "agent_id", "event_id"])
@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("", "not_blank"),
        ("x" * 257, "too_long"),
        ("ü" * 129, "too_long"),
        ("a\nb", "control_character"),
        ("\x85", "control_character"),
        ("\x00", "control_character"),
        ("a\ud800", "unicode"),
        (5, "type"),
        (None, "type"),
        (b"x", "type"),
        (["x"], "type"),
    ],
)
def test_ids_that_are_refused(name, field, value, rule):
    assert refusal(name, **{field: value}) == (field, rule)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *((name, field) for name in EVENT_KINDS for field in ("case_id", "turn_id")),
        ("experience.action", "target_agent"),
        ("relationship", "other_agent_id"),
        ("engagement", "other_agent_id"),
    ],
)
def test_other_ids_keep_the_rules_of_ids(name, field):
    assert refusal(name, **{field: "ü" * 129}) == (field, "too_long")
    assert refusal(name, **{field: "a\x1f"}) == (field, "control_character")
    assert getattr(make(INPUT_TYPES[name], **fields_of(name, **{field: "ü" * 128})), field) == "ü" * 128


@pytest.mark.parametrize("name", OWN)
def test_the_prefix_of_mood_memories_is_reserved(name):
    assert refusal(name, event_id="mood:e1") == ("event_id", "reserved_prefix")
    assert make(INPUT_TYPES[name], **fields_of(name, event_id="moody:e1")).event_id == "moody:e1"


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("2026-01-31T12:00:00", "timezone"),
        (datetime(2026, 1, 31), "timezone"),
        ("1969-12-31T23:59:59Z", "range"),
        (datetime(1969, 12, 31, tzinfo=UTC), "range"),
        ("9999-12-31T23:59:59-01:00", "range"),
        ("1769860800", "instant"),
        ("yesterday", "instant"),
        (1_769_860_800, "type"),
        (1_769_860_800.5, "type"),
        (True, "type"),
        (None, "type"),
        (AT.date(), "type"),
    ],
)
def test_times_that_are_refused(name, value, rule):
    assert refusal(name, occurred_at=value) == ("occurred_at", rule)


def test_a_time_is_kept_in_utc_at_microseconds():
    for given in (
        "2026-01-31T14:00:00.1234567+02:00",
        datetime(2026, 1, 31, 14, 0, 0, 123_456, timezone(timedelta(hours=2))),
    ):
        event = make(Outcome, **fields_of("experience.outcome", occurred_at=given))
        assert event.occurred_at == AT.replace(microsecond=123_456)
        assert event.occurred_at.tzinfo is UTC


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("field", ["tenant_id", "agent_id", "occurred_at"])
def test_fields_without_which_there_is_no_event(name, field):
    fields = fields_of(name)
    del fields[field]
    with pytest.raises(InvalidEvent) as caught:
        make(INPUT_TYPES[name], **fields)
    assert (caught.value.field, caught.value.rule) == (field, "missing")


@pytest.mark.parametrize("name", OWN)
def test_own_fields_that_are_required(name):
    for field in set(OWN[name]) - {"kind"}:
        fields = fields_of(name)
        del fields[field]
        with pytest.raises(InvalidEvent) as caught:
            make(INPUT_TYPES[name], **fields)
        assert (caught.value.field, caught.value.rule) == (field, "missing")


@pytest.mark.parametrize("name", OWN)
def test_an_event_without_an_id_gets_a_fresh_one(name):
    fields = fields_of(name)
    del fields["event_id"]
    assert make(INPUT_TYPES[name], **fields).event_id != make(INPUT_TYPES[name], **fields).event_id


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *((name, "description") for name in DOMAIN_KINDS),
        ("experience.observation", "subject"),
        ("experience.observation", "source_channel"),
        ("experience.action", "capability"),
        ("experience.outcome", "result"),
        ("relationship", "source_event_type"),
        ("reflection", "insight"),
        ("mood.signal", "cause"),
    ],
)
def test_texts_must_not_be_blank(name, field):
    for blank in ("", " ", "\t\r\n", "\u2003\u00a0", "\x1c\x1f\x85"):
        assert refusal(name, **{field: blank}) == (field, "not_blank")
    assert refusal(name, **{field: 5}) == (field, "type")
    assert refusal(name, **{field: "\udfff x"}) == (field, "unicode")
    assert getattr(make(INPUT_TYPES[name], **fields_of(name, **{field: " x\n"})), field) == " x\n"


def test_blank_is_what_strip_leaves_empty():
    adapter = TypeAdapter(Outcome)
    fields = fields_of("experience.outcome")
    for code in (*range(0x3100), 0xFEFF, 0x1F600):
        text = chr(code)
        if 0xD800 <= code < 0xE000:
            continue
        try:
            adapter.validate_python({**fields, "result": text})
            accepted = True
        except ValidationError:
            accepted = False
        assert accepted is bool(text.strip()), hex(code)


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        *((name, "importance", 0, 1) for name in EVENT_KINDS),
        ("engagement", "sentiment_shift", -1, 1),
        *(("mood.signal", axis, -2, 2) for axis in ("pleasure", "arousal", "dominance")),
        ("agent.profile", "influence", 0, 1),
    ],
)
def test_numbers_have_a_range_and_are_finite(name, field, low, high):
    for value in (low, high, (low + high) / 2):
        kept = getattr(make(INPUT_TYPES[name], **fields_of(name, **{field: value})), field)
        assert kept == value
        assert type(kept) is float
    for value in (low - 1e-9, high + 1e-9, 10**400):
        assert refusal(name, **{field: value})[0] == field
    for value in (NAN, INF, -INF):
        assert refusal(name, **{field: value}) == (field, "finite")
    for value in ("0.5", True, [0.5]):
        assert refusal(name, **{field: value}) == (field, "type")


def test_response_times_may_have_fractions_but_are_finite_and_not_negative():
    for value in (0, 1.5, 2**53 - 1):
        event = make(Engagement, **fields_of("engagement", response_time_ms=value))
        assert event.response_time_ms == value
    for value in (-0.1, 2**53, 10**400):
        assert refusal("engagement", response_time_ms=value)[0] == "response_time_ms"
    for value in (NAN, INF):
        assert refusal("engagement", response_time_ms=value) == ("response_time_ms", "finite")
    for value in ("1", True):
        assert refusal("engagement", response_time_ms=value) == ("response_time_ms", "type")


@pytest.mark.parametrize("field", ["response_length", "reaction_count"])
def test_counts_are_whole_and_not_negative(field):
    for value in (0, 1, 2**53 - 1):
        assert getattr(make(Engagement, **fields_of("engagement", **{field: value})), field) == value
    for value in (-1, 2**53, 10**400):
        assert refusal("engagement", **{field: value}) == (field, "range")
    for value in (1.5, 2.0, "1", True):
        assert refusal("engagement", **{field: value}) == (field, "type")
    assert refusal("engagement", **{field: NAN})[0] == field


BOOLEANS = [("engagement", "responded"), ("engagement", "continued"), ("experience.action", "appraise")]


@pytest.mark.parametrize(("name", "field"), BOOLEANS)
def test_booleans_are_nothing_else(name, field):
    for value in (0, 1, "true", "yes", 1.0):
        assert refusal(name, **{field: value}) == (field, "type")


def test_signals_that_are_unknown_stay_unknown():
    event = make(Engagement, **fields_of("engagement", responded=None))
    assert [getattr(event, name) for name in ("responded", "response_time_ms", "reaction_count")] == [None] * 3


@pytest.mark.parametrize("name", ["relationship", "engagement"])
def test_the_other_agent_is_another_one(name):
    assert refusal(name, other_agent_id="bot") == ("other_agent_id", "differs")
    assert make(INPUT_TYPES[name], **fields_of(name, other_agent_id="Bot")).other_agent_id == "Bot"


def test_quality_and_kind_are_words_of_a_list():
    assert refusal("relationship", quality_signal="good") == ("quality_signal", "choice")
    assert refusal("mood.signal", kind="nudge") == ("kind", "choice")


def test_a_direct_shift_names_its_cause_and_an_appraisal_need_not():
    assert refusal("mood.signal", cause=None) == ("cause", "missing")
    assert (
        make(INPUT_TYPES["mood.signal"], **fields_of("mood.signal", kind="interaction_appraisal", cause=None)).cause
        is None
    )


@pytest.mark.parametrize("level", [0, -1])
def test_the_level_of_a_reflection_starts_at_one(level):
    assert refusal("reflection", level=level) == ("level", "range")


def test_a_reflection_names_its_sources():
    assert refusal("reflection", source_memory_ids=[]) == ("source_memory_ids", "too_short")
    assert refusal("reflection", source_memory_ids="m") == ("source_memory_ids", "type")
    assert refusal("reflection", source_memory_ids=["m", "a\n"]) == ("source_memory_ids.1", "control_character")
    assert refusal("reflection", source_memory_ids=["m", "ü" * 131]) == ("source_memory_ids.1", "too_long")
    mood = "mood:" + "x" * 256
    assert make(Reflection, **fields_of("reflection", source_memory_ids=[mood])).source_memory_ids == [mood]


@pytest.mark.parametrize(("level", "importance"), [(1, 0.5), (2, 0.7), (3, 0.9), (4, 1.0), (10**6, 1.0)])
def test_a_reflection_has_an_importance_by_its_level(level, importance):
    assert make(Reflection, **fields_of("reflection", level=level)).importance == pytest.approx(importance, abs=1e-15)
    assert make(Reflection, **fields_of("reflection", level=level, importance=0.0)).importance == 0.0


@pytest.mark.parametrize("axis", ["pleasure", "arousal", "dominance"])
def test_pad_axes_lie_between_minus_one_and_one(axis):
    field = f"pad.{axis}"
    assert refusal("experience.action", pad={axis: 1.01}) == (field, "range")
    assert refusal("experience.action", pad={axis: NAN}) == (field, "finite")
    assert refusal("experience.action", pad={axis: "0"}) == (field, "type")
    event = make(INPUT_TYPES["experience.action"], **fields_of("experience.action", pad={axis: 0}))
    assert event.pad == Pad(**{axis: 0.0})
    assert [getattr(event.pad, name) for name in ("pleasure", "arousal", "dominance")].count(None) == 2


def test_an_appraisal_is_deltas_or_an_emotion():
    def appraisal(value):
        return make(Outcome, **fields_of("experience.outcome", appraisal=value)).appraisal

    assert appraisal({"pleasure": 2}) == Deltas(pleasure=2.0)
    assert appraisal({}) == Deltas()
    assert appraisal({"emotion": "fears_confirmed", "intensity": 1}) == Emotion(
        emotion="fears_confirmed", intensity=1.0
    )
    assert appraisal(Emotion(emotion="joy", intensity=0.5)).emotion == "joy"
    for value, where, rule in (
        ({"pleasure": 2.01}, "appraisal.pleasure", "range"),
        ({"emotion": "glee", "intensity": 0.5}, "appraisal.emotion", "choice"),
        ({"emotion": "joy"}, "appraisal.intensity", "missing"),
        ({"emotion": "joy", "intensity": 1.1}, "appraisal.intensity", "range"),
        ({"emotion": "joy", "intensity": 1.0, "pleasure": 1.0}, "appraisal.pleasure", "unknown_field"),
        ({"joy": 1}, "appraisal.joy", "unknown_field"),
        (5, "appraisal", "type"),
    ):
        assert refusal("experience.outcome", appraisal=value) == (where, rule)


def test_an_embedding_has_a_model_and_numbers_of_32_bits():
    good = {"model": "m", "values": [0.5, -3.4e38, 1]}
    assert make(Outcome, **fields_of("experience.outcome", embedding=good)).embedding == Embedding(**good)
    for value, where, rule in (
        ({"model": "", "values": [1.0]}, "embedding.model", "not_blank"),
        ({"model": "m", "values": []}, "embedding.values", "too_short"),
        ({"model": "m", "values": [1.0, NAN]}, "embedding.values.1", "finite"),
        ({"model": "m", "values": [1.0, 3.5e38]}, "embedding.values.1", "range"),
        ({"model": "m", "values": ["1"]}, "embedding.values.0", "type"),
        ({"values": [1.0]}, "embedding.model", "missing"),
    ):
        assert refusal("experience.outcome", embedding=value) == (where, rule)


def test_the_reserved_keys_are_all_attribute_keys():
    assert frozenset().union(*DOMAIN_ATTRIBUTES.values()) == ATTRIBUTE_KEYS
    assert set(DOMAIN_ATTRIBUTES["engagement"]) == {
        *("other-agent", "turn-id", "responded", "response-time-ms"),
        *("response-length", "sentiment-shift", "reaction-count", "continued"),
    }
    assert len(ATTRIBUTE_KEYS) == 25


@pytest.mark.parametrize("name", EVENT_KINDS)
def test_metadata_uses_no_reserved_key_in_any_domain(name):
    for key in (*ATTRIBUTE_KEYS, "ms-", "ms-anything"):
        assert refusal(name, metadata={"fine": "x", key: "x"}) == (f"metadata.{key}", "reserved_key")
    event = make(INPUT_TYPES[name], **fields_of(name, metadata={"Result": "x", "ms": "", "": "y"}))
    assert event.metadata == {"Result": "x", "ms": "", "": "y"}


@pytest.mark.parametrize("name", EVENT_KINDS)
def test_metadata_is_text_to_text(name):
    for metadata, where, rule in (
        ({"a": 1}, "metadata.a", "type"),
        ({"a": None}, "metadata.a", "type"),
        ({"a": {"b": "c"}}, "metadata.a", "type"),
        ({1: "a"}, "metadata.1", "type"),
        ({"a": "\ud800"}, "metadata.a", "unicode"),
        ([], "metadata", "type"),
        (None, "metadata", "type"),
    ):
        assert refusal(name, metadata=metadata) == (where, rule)
    assert refusal(name, metadata={"\ud800": "a"})[1] == "unicode"


@pytest.mark.parametrize("name", OWN)
def test_a_field_that_is_not_known_is_refused_after_the_others(name):
    assert refusal(name, nonsense=1) == ("nonsense", "unknown_field")
    assert refusal(name, nonsense=1, tenant_id=5) == ("tenant_id", "type")


def test_a_mood_signal_has_no_description_and_a_profile_no_metadata():
    for field in ("description", "pad", "appraisal", "appraise"):
        assert refusal("mood.signal", **{field: None}) == (field, "unknown_field")
    assert refusal("agent.profile", metadata={}) == ("metadata", "unknown_field")


def test_a_type_that_is_not_the_events_own_is_refused():
    with pytest.raises(InvalidEvent) as caught:
        make(Outcome, **fields_of("experience.outcome", type="engagement"))
    assert (caught.value.field, caught.value.rule) == ("type", "choice")


def test_all_broken_rules_are_listed_and_no_value_is_repeated():
    payload = "confidential\n"
    with pytest.raises(InvalidEvent) as caught:
        make(Outcome, **fields_of("experience.outcome", tenant_id=payload, result=" ", importance="confidential"))
    errors = caught.value.fields["errors"]
    assert [(each["field"], each["rule"]) for each in errors] == [
        ("tenant_id", "control_character"),
        ("importance", "type"),
        ("result", "not_blank"),
    ]
    assert "confidential" not in str(caught.value.to_problem())
    with pytest.raises(ValidationError) as raw:
        Outcome(**fields_of("experience.outcome", tenant_id=payload))
    assert "confidential" not in str(raw.value)


def test_events_are_frozen():
    event = make(Outcome, **fields_of("experience.outcome"))
    with pytest.raises(ValidationError):
        event.result = "failed"


LIMIT_CASES = [
    ("description_bytes", "experience.outcome", "description", "x" * 8192, "x" * 8193),
    ("description_bytes", "experience.outcome", "description", "ü" * 4096, "ü" * 4097),
    ("description_bytes", "reflection", "insight", "x" * 8192, "x" * 8193),
    ("description_bytes", "mood.signal", "cause", "ü" * 4096, "ü" * 4096 + "x"),
    ("metadata_entries", "engagement", "metadata", {str(i): "" for i in range(32)}, {str(i): "" for i in range(33)}),
    ("metadata_bytes", "mood.signal", "metadata", {"ü": "x" * 4094}, {"ü": "x" * 4095}),
    ("source_memory_ids", "reflection", "source_memory_ids", ["m"] * 64, ["m"] * 65),
]


@pytest.mark.parametrize(("limit", "name", "field", "fits", "over"), LIMIT_CASES)
def test_an_error_names_the_limit_that_is_exceeded(limit, name, field, fits, over):
    assert getattr(make(INPUT_TYPES[name], **fields_of(name, **{field: fits})), field) == fits
    assert refusal(name, **{field: over}) == (field, "too_long")
    with pytest.raises(InvalidEvent, match=limit):
        make(INPUT_TYPES[name], **fields_of(name, **{field: over}))


def test_the_limit_of_embeddings_names_itself():
    embedding = {"model": "m", "values": [0.0] * 4097}
    assert refusal("experience.outcome", embedding=embedding) == ("embedding.values", "too_long")
    with pytest.raises(InvalidEvent, match="embedding_numbers"):
        make(Outcome, **fields_of("experience.outcome", embedding=embedding))
    embedding["values"].pop()
    assert make(Outcome, **fields_of("experience.outcome", embedding=embedding)).embedding.model == "m"


@pytest.mark.parametrize(("limit", "name", "field", "fits", "over"), LIMIT_CASES)
def test_limits_can_be_given(limit, name, field, fits, over):
    wide = Limits(**{limit: getattr(Limits(), limit) * 2})
    assert getattr(make(INPUT_TYPES[name], wide, **fields_of(name, **{field: over})), field) == over
    assert getattr(parse(fields_of(name, **{field: over}), name, limits=wide), field) == over
    narrow = Limits(**{limit: 1})
    with pytest.raises(InvalidEvent, match=limit):
        make(INPUT_TYPES[name], narrow, **fields_of(name, **{field: fits}))


def test_a_mood_state_is_named_after_its_cause():
    state = make(MoodState, **{**WHO, "event_id": "mood:e1"}, pleasure=0, arousal=0.5, dominance=-1, cause="c")
    assert state.cause_event == "e1"
    for event_id in ("e1", "mood:"):
        with pytest.raises(InvalidEvent) as caught:
            make(MoodState, **{**WHO, "event_id": event_id}, pleasure=0, arousal=0.5, dominance=-1, cause="c")
        assert caught.value.rule == "reserved_prefix"


def test_a_json_schema_can_be_made_of_every_event():
    schema = TypeAdapter(InputEvent).json_schema()
    assert {each["$ref"].rpartition("/")[2] for each in schema["anyOf"]} == {
        kind.__name__ for kind in INPUT_TYPES.values()
    }
    assert schema["$defs"]["Outcome"]["properties"]["occurred_at"]["format"] == "date-time"
    assert schema["$defs"]["Outcome"]["additionalProperties"] is False
