"""Dead letters: raw, with the reason and the place, and never too long to be sent."""

from __future__ import annotations

from hashlib import sha256

import pytest

from moodstream.agents.dead import MAX_HEADER_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, dead_letter
from moodstream.agents.decode import Refused
from moodstream.schemas.errors import InvalidEvent, MalformedRecord, MoodstreamError
from moodstream.streams.sending import Message
from support.chunks import Record

BROKER_BYTES = 1 << 20
"""What a broker takes by default."""


def letter(record: Record, reason: MoodstreamError | None = None) -> tuple[Message, dict[str, bytes]]:
    """The letter and its headers by name."""
    message = dead_letter(Refused(record, reason or MalformedRecord("broken")), "m.events.v1", 3)
    return message, dict(message.headers)


def test_key_value_and_headers_are_kept_and_the_place_is_named() -> None:
    record = Record(17, b"t/a", b"{", (("trace", b"1"), ("null", None)), timestamp=123)
    message, headers = letter(record)
    assert (message.key, message.value) == (b"t/a", b"{")
    assert list(message.headers[:2]) == [("trace", b"1"), ("null", None)]
    assert headers["__streams.errors.exception"] == b"MalformedRecord"
    assert headers["__streams.errors.message"] == b"broken"
    assert headers["__streams.errors.topic"] == b"m.events.v1"
    assert headers["__streams.errors.partition"] == b"3"
    assert headers["__streams.errors.offset"] == b"17"
    assert headers["x-moodstream-code"] == b"malformed_record"
    assert headers["x-moodstream-timestamp"] == b"123"
    assert not {name for name in headers if "sha256" in name or "length" in name}


def test_field_and_rule_are_named() -> None:
    _, headers = letter(Record(1, b"k", b"v"), InvalidEvent("pad.pleasure", "range", "3 is over 1"))
    assert (headers["x-moodstream-field"], headers["x-moodstream-rule"]) == (b"pad.pleasure", b"range")
    assert headers["__streams.errors.message"] == b"pad.pleasure: 3 is over 1"


@pytest.mark.parametrize(("key", "value"), [(None, None), (None, b"v"), (b"k", None), (b"", b"")])
def test_what_is_not_there_stays_so(key: bytes | None, value: bytes | None) -> None:
    message, _ = letter(Record(1, key, value))
    assert (message.key, message.value) == (key, value)


def test_a_long_value_is_cut_and_says_how_long_it_was() -> None:
    value = b"x" * MAX_VALUE_BYTES
    whole, headers = letter(Record(1, b"k", value))
    assert (whole.value, "x-moodstream-length" in headers) == (value, False)
    longer = value + b"y"
    message, headers = letter(Record(1, b"k", longer))
    assert message.value == value
    assert headers["x-moodstream-length"] == b"%d" % len(longer)
    assert headers["x-moodstream-sha256"] == sha256(longer).hexdigest().encode()


def test_whatever_a_record_holds_its_letter_can_be_sent() -> None:
    key, value = b"k" * 500_000, b"v" * 800_000
    record = Record(1, key, value, tuple((f"h{i}", b"h" * 50_000) for i in range(10)))
    message, headers = letter(record, InvalidEvent("f" * 5_000, "range", "ü" * 5_000))
    assert message.key == key[:MAX_KEY_BYTES]
    assert headers["x-moodstream-key-length"] == b"500000"
    assert headers["x-moodstream-key-sha256"] == sha256(key).hexdigest().encode()
    assert headers["x-moodstream-headers"] == b"10"
    original = [name for name, _ in message.headers if name.startswith("h")]
    assert original == ["h0"]
    sizes = [len(message.key or b""), len(message.value or b"")]
    sizes += [len(name) + len(text or b"") + 10 for name, text in message.headers]
    assert sum(sizes) < BROKER_BYTES - 100_000


def test_headers_just_within_the_limit_are_all_kept() -> None:
    size = MAX_HEADER_BYTES // 2 - 12
    record = Record(1, b"k", b"v", (("h1", b"x" * size), ("h2", b"x" * size)))
    _, headers = letter(record)
    assert {"h1", "h2"} < headers.keys()
    assert "x-moodstream-headers" not in headers


def test_a_reason_with_lone_surrogates_can_be_written() -> None:
    _, headers = letter(Record(1, b"k", b"v"), MalformedRecord("odd \ud800"))
    assert headers["__streams.errors.message"] == b"odd ?"
