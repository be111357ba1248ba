"""Dead letters: what could not be accepted, raw, with the reason and the place that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from moodstream.agents.decode import Refused
from moodstream.streams import dead_letters as names
from moodstream.streams.dead_letters import Headers
from moodstream.streams.sending import Message

MAX_VALUE_BYTES: Final = 700_000
"""Longer values are cut: what is left must fit, with all else, into the megabyte that a broker takes."""
MAX_KEY_BYTES: Final = 100_000
MAX_HEADER_BYTES: Final = 100_000

_FIELDS: Final = {"field": names.FIELD, "rule": names.RULE}


def dead_letter(refused: Refused, topic: str, partition: int) -> Message:
    """Make the record for the topic of dead letters.

    The `__streams.errors.*` headers have the names that Kafka Streams uses; `x-moodstream-*` are our own. What is too
    long is cut, and a header says how long it was.
    """
    record, reason = refused.record, refused.reason
    key, key_marks = _fitting(record.key, MAX_KEY_BYTES, names.KEY_LENGTH, names.KEY_SHA256)
    value, value_marks = _fitting(record.value, MAX_VALUE_BYTES, names.LENGTH, names.SHA256)
    kept = _first_headers(record.headers)
    headers = [
        *kept,
        (names.EXCEPTION, type(reason).__name__.encode()),  # first: whoever reads a letter finds the others behind it
        (names.MESSAGE, _text(reason.detail)),
        (names.TOPIC, topic.encode()),
        (names.PARTITION, b"%d" % partition),
        (names.OFFSET, b"%d" % record.offset),
        (names.CODE, reason.code.encode()),
        (names.TIMESTAMP, b"%d" % record.timestamp),
        *((_FIELDS[name], _text(str(text))) for name, text in reason.fields.items() if name in _FIELDS),
        *key_marks,
        *value_marks,
    ]
    if len(kept) < len(record.headers):
        headers.append((names.HEADERS, b"%d" % len(record.headers)))
    return Message(key, value, headers)


def _text(text: str) -> bytes:
    return text.encode(errors="replace")[:1_000]


def _fitting(data: bytes | None, most: int, length: str, digest: str) -> tuple[bytes | None, Headers]:
    """Cut what is too long; the marks tell the whole length and its SHA-256."""
    if data is None or len(data) <= most:
        return data, []
    marks = [(length, b"%d" % len(data)), (digest, sha256(data).hexdigest().encode())]
    return data[:most], marks


def _first_headers(headers: Sequence[tuple[str, bytes | None]]) -> Headers:
    """The first headers, as many as fit."""
    kept: Headers = []
    left = MAX_HEADER_BYTES
    for name, value in headers:
        left -= len(name.encode()) + len(value or b"") + 10  # their lengths as varints
        if left < 0:
            break
        kept.append((name, value))  # type: ignore[arg-type]  # null values are passed on
    return kept
