"""Dead letters: what could not be accepted, raw, with the reason and the place that it came from."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from moodstream.agents.decode import Refused
from moodstream.streams.sending import Message

MAX_VALUE_BYTES: Final = 700_000
"""Longer values are cut: what is left must fit into a record with its headers."""

_ERRORS = "__streams.errors."


def dead_letter(refused: Refused, topic: str, partition: int) -> Message:
    """Make the record for the topic of dead letters.

    The `__streams.errors.*` headers have the names that Kafka Streams uses; `x-moodstream-*` are our own.
    """
    record, reason = refused.record, refused.reason
    value, marks = _fitting(record.value)
    headers = [
        *record.headers,
        (f"{_ERRORS}exception", type(reason).__name__.encode()),
        (f"{_ERRORS}message", _text(reason.detail)),
        (f"{_ERRORS}topic", topic.encode()),
        (f"{_ERRORS}partition", b"%d" % partition),
        (f"{_ERRORS}offset", b"%d" % record.offset),
        ("x-moodstream-code", reason.code.encode()),
        ("x-moodstream-timestamp", b"%d" % record.timestamp),
        *((f"x-moodstream-{name}", _text(str(text))) for name, text in reason.fields.items() if name in _FIELDS),
        *marks,
    ]
    return Message(record.key, value, headers)


_FIELDS = ("field", "rule")


def _text(text: str) -> bytes:
    return text.encode(errors="replace")[:1_000]


def _fitting(value: bytes | None) -> tuple[bytes | None, list[tuple[str, bytes]]]:
    if value is None or len(value) <= MAX_VALUE_BYTES:
        return value, []
    marks = [
        ("x-moodstream-length", b"%d" % len(value)),
        ("x-moodstream-sha256", sha256(value).hexdigest().encode()),
    ]
    return value[:MAX_VALUE_BYTES], marks
