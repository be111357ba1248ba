"""Validation of events from bytes and dicts, with pydantic's errors turned into ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from moodstream.schemas.base import Identified
from moodstream.schemas.cloudevents import Envelope, Headers, open_envelope
from moodstream.schemas.errors import InvalidEvent, MalformedRecord, MoodstreamError, UnknownType
from moodstream.schemas.faults import invalid_event
from moodstream.schemas.instants import parse_instant
from moodstream.schemas.limits import Limits
from moodstream.schemas.wire_names import ce_type

E = TypeVar("E", bound=Identified)
Validate = Callable[..., Any]


class Kinds(Generic[E]):
    """A set of event types that can be read from the wire."""

    def __init__(self, types: Mapping[str, type[E]]) -> None:
        self._types = types
        self._by_ce_type = {ce_type(name): kind for name, kind in types.items()}
        union: Any = reduce(or_, types.values())
        self._union = TypeAdapter[E](Annotated[union, Field(discriminator="type")]).validator

    def read(self, value: bytes, headers: Headers | None, limits: Limits) -> tuple[E, int]:
        """Read a record leniently; returns the event and the number of fields that were ignored."""
        envelope = open_envelope(value, headers) if headers else None
        if envelope is not None:
            return self._read_cloudevent(envelope, limits)
        event, ignored = _lenient(self._union.validate_json, value, limits, tagged=True)
        if "event_id" not in event.model_fields_set:  # one made here would differ at each reading
            raise InvalidEvent("event_id", "missing", "is required on a topic")
        return event, ignored

    def _read_cloudevent(self, envelope: Envelope, limits: Limits) -> tuple[E, int]:
        kind = self._by_ce_type.get(envelope.type)
        if kind is None:
            raise _unknown(envelope.type)
        event, ignored = _lenient(kind.__pydantic_validator__.validate_python, _filled(envelope, kind), limits)
        if event.event_id != envelope.id:
            raise InvalidEvent("event_id", "mismatch", "differs from the id of the CloudEvent")
        if envelope.time is not None and event.occurred_at != parse_instant(envelope.time, "ce_time"):
            raise InvalidEvent("occurred_at", "mismatch", "differs from the time of the CloudEvent")
        return event, ignored

    def parse_json(self, raw: bytes, type_name: str | None, limits: Limits) -> E:
        """Read JSON strictly, of the given type or of the one that its member `type` names."""
        validator = self._union if type_name is None else self._kind(type_name).__pydantic_validator__
        event: E = _strict(validator.validate_json, raw, limits, tagged=type_name is None)
        return event

    def parse_dict(self, fields: dict[str, Any], type_name: str | None, limits: Limits) -> E:
        """Read fields strictly, as `parse_json` does."""
        validator = self._union if type_name is None else self._kind(type_name).__pydantic_validator__
        event: E = _strict(validator.validate_python, fields, limits, tagged=type_name is None)
        return event

    def _kind(self, type_name: str) -> type[E]:
        kind = self._types.get(type_name)
        if kind is None:
            raise _unknown(type_name)
        return kind


def _filled(envelope: Envelope, kind: type[Identified]) -> dict[str, Any]:
    """Return the data with id and time of the envelope where it has none of its own."""
    data = envelope.data
    if data.setdefault("type", kind.type_name) != kind.type_name:
        raise InvalidEvent("type", "mismatch", "differs from the type of the CloudEvent")
    data.setdefault("event_id", envelope.id)
    if envelope.time is not None:
        data.setdefault("occurred_at", envelope.time)
    return data


def _lenient(validate: Validate, data: object, limits: Limits, *, tagged: bool = False) -> tuple[Any, int]:
    try:
        return validate(data, context=limits), 0
    except ValidationError as failure:
        unknown = _count_unknown(failure)
        if not unknown:
            raise _translated(failure, tagged) from None
    try:
        return validate(data, context=limits, extra="ignore"), unknown
    except ValidationError as failure:
        raise _translated(failure, tagged) from None


def _strict(validate: Validate, data: object, limits: Limits, *, tagged: bool) -> Any:  # noqa: ANN401
    try:
        return validate(data, context=limits)
    except ValidationError as failure:
        raise _translated(failure, tagged) from None


def _count_unknown(failure: ValidationError) -> int:
    errors = failure.errors(include_url=False, include_input=False, include_context=False)
    return sum(error["type"] == "extra_forbidden" for error in errors)


def _translated(failure: ValidationError, tagged: bool) -> MoodstreamError:
    """Return the typed error for a failed validation of a whole event."""
    first = failure.errors(include_url=False, include_input=False)[0]
    kind = first["type"]
    if kind == "json_invalid":
        return MalformedRecord(f"the value is not JSON in UTF-8: {first['ctx']['error']}")
    if not first["loc"] and kind in ("dict_type", "model_type", "model_attributes_type"):
        return MalformedRecord("the value is not a JSON object")
    if tagged and kind == "union_tag_not_found":
        return UnknownType("the event has no member `type`")
    if tagged and kind == "union_tag_invalid" and not first["loc"]:
        return _unknown(first["ctx"]["tag"])
    return invalid_event(failure, tagged=tagged)


def _unknown(name: str) -> UnknownType:
    shown = name if len(name) <= 100 else name[:100] + "..."
    return UnknownType(f"{shown!r} is not the type of an event")
