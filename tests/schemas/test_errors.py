"""Every error has a stable code, a next step, and survives pickling; found by introspection, so none is left out."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from moodstream.schemas import errors
from moodstream.schemas.errors import BadFile, InvalidEvent, MoodstreamError

LEAVES = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, MoodstreamError) and kind is not MoodstreamError
]
CODES = [
    "invalid_event",
    "event_too_large",
    "unknown_type",
    "malformed_record",
    "key_mismatch",
    "partition_mismatch",
    "future_event",
    "batch_too_large",
    "internal_error",
    "invalid_settings",
    "invalid_usage",
    "broker_unavailable",
    "store_unavailable",
    "topic_missing",
    "topic_mismatch",
    "unsupported_broker",
    "fenced",
    "state_lost",
    "source_gap",
    "fold_mismatch",
    "not_found",
    "restoring",
    "rewritten",
    "service_unavailable",
    "invalid_query",
    "port_in_use",
    "missing_extra",
    "bad_file",
]


def build(kind: type[MoodstreamError]) -> MoodstreamError:
    if issubclass(kind, InvalidEvent):
        return kind("pad.pleasure", "range", "must be at most 1")
    if issubclass(kind, BadFile):
        return kind(3, "no date")
    return kind("what happened", address="somewhere")


def test_the_codes_are_the_ones_promised():
    assert sorted(kind.code for kind in LEAVES) == sorted(CODES)


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.code)
def test_a_leaf_is_complete(kind):
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    assert kind.title.strip()
    assert kind.hint.strip()
    assert kind.title != MoodstreamError.title
    assert 400 <= kind.status < 600
    assert kind.__doc__


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.code)
def test_an_error_survives_pickling(kind):
    error = build(kind)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(copy) is kind
    assert copy.to_problem() == error.to_problem()
    assert str(copy) == str(error)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("broker_unavailable", 503),
        ("store_unavailable", 503),
        ("not_found", 404),
        ("restoring", 503),
        ("invalid_query", 422),
    ],
)
def test_the_status_of_an_answer(code, status):
    assert {kind.code: kind.status for kind in LEAVES}[code] == status


def test_a_problem_has_the_members_of_rfc_9457_and_ours():
    problem = InvalidEvent("pad.pleasure", "range", "must be at most 1").to_problem()
    assert problem == {
        "type": "urn:moodstream:error:invalid_event",
        "title": "The event breaks a rule",
        "status": 422,
        "detail": "pad.pleasure: must be at most 1",
        "code": "invalid_event",
        "hint": InvalidEvent.hint,
        "field": "pad.pleasure",
        "rule": "range",
    }


def test_extra_members_do_not_replace_the_standard_ones():
    error = MoodstreamError("x", code="mine", other=1)
    assert error.to_problem()["code"] == "error"
    assert error.to_problem()["other"] == 1


def test_a_hint_can_be_more_precise_than_that_of_the_class():
    error = errors.PortInUse("8085", hint="Stop the other one.")
    assert error.to_problem()["hint"] == "Stop the other one."
    assert errors.PortInUse.hint != error.hint


def test_a_bad_file_names_line_and_reason():
    error = BadFile(7, "no date")
    assert str(error) == "line 7: no date"
    assert (error.fields["line"], error.fields["reason"]) == (7, "no date")
