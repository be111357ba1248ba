"""The wire: events to records and back (docs/events.md). Strict for the SDK and HTTP, lenient on a topic.

On a topic fields that are not known are ignored and counted, so that a newer publisher can be read; the fast path is
one pass of pydantic over the bytes, and only a record with such a field is read twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from moodstream.schemas.base import Identified
from moodstream.schemas.cloudevents import JSON, Headers
from moodstream.schemas.errors import FutureEvent, KeyMismatch, MalformedRecord
from moodstream.schemas.events import INPUT_TYPES, InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.schemas.instants import iso, to_us
from moodstream.schemas.limits import DEFAULT_LIMITS, Limits, check_event_bytes
from moodstream.schemas.outputs import OUTPUT_TYPES, OutputEvent
from moodstream.schemas.reading import Kinds
from moodstream.schemas.wire_names import ce_type

Mode = Literal["json", "binary"]
E = TypeVar("E", bound=Identified)

_INPUTS: Kinds[InputEvent] = Kinds(INPUT_TYPES)
_OUTPUTS: Kinds[OutputEvent] = Kinds(OUTPUT_TYPES)


class Wire(NamedTuple):
    """A record as it is sent."""

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class Decoded(NamedTuple, Generic[E]):
    """An event that was read, and how many fields nobody knows it had."""

    event: E
    ignored: int


def encode(event: InputEvent | OutputEvent, mode: Mode = "json", *, limits: Limits = DEFAULT_LIMITS) -> Wire:
    """Return the record of an event: plain JSON with a member `type`, or a CloudEvent in binary mode.

    Fields that are null are left out. EventTooLarge when the value is over the limit.
    """
    exclude = {"type"} if mode == "binary" else None
    value = event.__pydantic_serializer__.to_json(event, exclude_none=True, exclude=exclude)
    check_event_bytes(len(value), limits)
    key = agent_key(event.tenant_id, event.agent_id)
    if mode == "json":
        return Wire(key, value, [])
    return Wire(key, value, headers_of(type(event), key, event.event_id, iso(event.occurred_at)))


def headers_of(kind: type[Identified], key: bytes, event_id: str, time: str) -> list[tuple[str, bytes]]:
    """Return the headers of a CloudEvent in binary mode. `key` is that of its agent, `time` its RFC 3339 text."""
    tenant, _, agent = key.partition(b"/")
    return [
        _SPECVERSION,
        ("ce_id", event_id.encode()),
        ("ce_type", _CE_TYPES[kind]),
        ("ce_source", b"/tenants/%b/agents/%b" % (tenant, agent)),
        ("ce_time", time.encode()),
        ("ce_partitionkey", key),
        _CONTENT_TYPE,
    ]


_SPECVERSION, _CONTENT_TYPE = ("ce_specversion", b"1.0"), ("content-type", JSON.encode())
_CE_TYPES: dict[type[Identified], bytes] = {
    kind: ce_type(kind.type_name).encode() for kind in (*INPUT_TYPES.values(), *OUTPUT_TYPES.values())
}


def decode(
    key: bytes | None,
    value: bytes | None,
    headers: Headers | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    timestamp_ms: int | None = None,
) -> Decoded[InputEvent]:
    """Read a record of the log: plain JSON, or a CloudEvent in binary or structured mode.

    `timestamp_ms` is the record's own Kafka timestamp; without one no event is too far in the future. Raises
    MalformedRecord, EventTooLarge, UnknownType, InvalidEvent, KeyMismatch or FutureEvent. Unknown fields are counted.
    """
    if value is None:
        raise MalformedRecord("the record has no value")
    check_event_bytes(len(value), limits)
    event, ignored = _INPUTS.read(value, headers, limits)
    check_key(key, event)
    if timestamp_ms is not None:
        check_future(event, timestamp_ms, limits)
    return Decoded(event, ignored)


def decode_output(key: bytes | None, value: bytes | None, headers: Headers | None = None) -> Decoded[OutputEvent]:
    """Read a record of an output topic, as a subscriber does; raises as `decode` does."""
    if value is None:
        raise MalformedRecord("the record has no value")
    event, ignored = _OUTPUTS.read(value, headers, DEFAULT_LIMITS)
    check_key(key, event)
    return Decoded(event, ignored)


def parse(
    data: bytes | str | Mapping[str, Any], type_name: str | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> InputEvent:
    """Read an event strictly, for the SDK, HTTP and the command line: an unknown field is an error.

    The type is the member `type` or `type_name`; an event without an id gets one. Raises MalformedRecord,
    EventTooLarge, UnknownType or InvalidEvent.
    """
    if isinstance(data, bytes | str):
        raw = data.encode(errors="surrogatepass") if isinstance(data, str) else data
        check_event_bytes(len(raw), limits)
        return _INPUTS.parse_json(raw, type_name, limits)
    return _INPUTS.parse_dict(dict(data), type_name, limits)


def check_key(key: bytes | None, event: InputEvent | OutputEvent) -> None:
    """Raise KeyMismatch unless `key` is the key of the event's agent."""
    if key != agent_key(event.tenant_id, event.agent_id):
        raise KeyMismatch("the record has no key" if key is None else "the key is not that of the event's agent")


def check_future(event: InputEvent, timestamp_ms: int, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise FutureEvent when an event happened more than `future_seconds` after `timestamp_ms`."""
    ahead_us = to_us(event.occurred_at) - timestamp_ms * 1000
    allowed = limits.future_seconds
    if ahead_us > allowed * 1_000_000:
        seconds = ahead_us / 1e6
        detail = f"occurred_at is {seconds:.3f} s after the record's timestamp, future_seconds is {allowed}"
        raise FutureEvent(detail, limit="future_seconds", allowed=allowed)
