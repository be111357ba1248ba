"""CloudEvents 1.0 in the Kafka binding: which mode a record is in, and what its envelope says.

The content type alone decides between the structured mode and the others, as the binding demands; `ce_` headers make
the binary mode; a record with neither is plain JSON.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic_core import from_json

from moodstream.schemas.errors import InvalidEvent, MalformedRecord

Headers = Iterable[tuple[str, bytes | None]]

STRUCTURED = "application/cloudevents+json"
JSON = "application/json"
REQUIRED = ("specversion", "id", "source", "type")


class Envelope(NamedTuple):
    """What the attributes of a CloudEvent say, and the data they come with (parsed JSON)."""

    type: str
    id: str
    time: str | None
    data: dict[str, Any]


def open_envelope(value: bytes, headers: Headers) -> Envelope | None:
    """Return the envelope of a record in binary or structured mode, None for plain JSON.

    MalformedRecord when content type, JSON or data cannot be read, InvalidEvent for a bad attribute.
    """
    attributes, media = _read_headers(headers)
    if media.startswith("application/cloudevents"):
        if media != STRUCTURED:
            raise MalformedRecord("of the structured formats only application/cloudevents+json is read")
        return _structured(value)
    if media and media != "text/json" and not (media.startswith("application/") and media.endswith(("/json", "+json"))):
        raise MalformedRecord("the content type is not JSON")
    if not attributes:
        return None
    return _envelope(attributes, load_object(value, "the value"))


def _read_headers(headers: Headers) -> tuple[dict[str, Any], str]:
    attributes: dict[str, Any] = {}
    media = ""
    for given, raw in headers:
        name = given.lower()
        if name.startswith("ce_"):
            attributes[name[3:]] = _text(raw, name)
        elif name == "content-type":
            media = _text(raw, name).partition(";")[0].strip().lower()
    return attributes, media


def _text(raw: bytes | None, name: str) -> str:
    try:
        return (raw or b"").decode()
    except UnicodeDecodeError:
        raise MalformedRecord(f"the header {name[:64]} is not UTF-8") from None


def load_object(raw: bytes | str, what: str) -> dict[str, Any]:
    """Parse a JSON object; MalformedRecord for anything else."""
    try:
        value = from_json(raw)
    except ValueError as error:
        raise MalformedRecord(f"{what} is not JSON in UTF-8: {error}") from None
    if not isinstance(value, dict):
        raise MalformedRecord(f"{what} is not a JSON object")
    return value


def _structured(value: bytes) -> Envelope:
    attributes = load_object(value, "the value")
    data = attributes.pop("data", None)
    packed = attributes.pop("data_base64", None)
    if packed is not None:
        data = _unpack(data, packed)
    if not isinstance(data, dict):
        raise MalformedRecord("the data of the CloudEvent is not a JSON object")
    return _envelope(attributes, data)


def _unpack(data: object, packed: object) -> dict[str, Any]:
    if data is not None:
        raise MalformedRecord("the CloudEvent has both data and data_base64")
    try:
        raw = base64.b64decode(str(packed), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedRecord("data_base64 is not base64") from None
    return load_object(raw, "data_base64")


def _envelope(attributes: dict[str, Any], data: dict[str, Any]) -> Envelope:
    for name in REQUIRED:
        value = attributes.get(name)
        if value is None:
            raise InvalidEvent(f"ce_{name}", "missing", "is required in a CloudEvent")
        if not isinstance(value, str):
            raise InvalidEvent(f"ce_{name}", "type", "must be text")
        if not value:
            raise InvalidEvent(f"ce_{name}", "not_blank", "must not be empty")
    if attributes["specversion"] != "1.0":
        raise InvalidEvent("ce_specversion", "choice", "must be 1.0")
    time = attributes.get("time")
    if time is not None and not isinstance(time, str):
        raise InvalidEvent("ce_time", "type", "must be text")
    return Envelope(attributes["type"], attributes["id"], time, data)
