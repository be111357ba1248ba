"""What is read from the topic of dead letters is what was written there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.agents.dead import MAX_KEY_BYTES, MAX_VALUE_BYTES, dead_letter
from moodstream.agents.decode import Refused
from moodstream.schemas.errors import InvalidEvent, InvalidUsage, MalformedRecord, MoodstreamError
from moodstream.streams.dead_letters import (
    REPLAY_OF,
    REPLAYS,
    DeadLetter,
    LetterName,
    Receipt,
    parse,
    receipt_message,
)
from moodstream.streams.sending import Message
from support.chunks import Record


@dataclass(frozen=True)
class Stored:
    """A record of the topic as the client gives it."""

    partition: int
    offset: int
    key: Any
    value: Any
    headers: Any
    timestamp: int = 1_800_000_000_000


def stored(message: Message, partition: int = 3, offset: int = 17) -> Stored:
    return Stored(partition, offset, message.key, message.value, tuple(message.headers))


def letter_of(record: Record, reason: MoodstreamError | None = None) -> DeadLetter:
    found = parse(stored(dead_letter(Refused(record, reason or MalformedRecord("broken")), "m.events.v1", 2)))
    assert isinstance(found, DeadLetter)
    return found


def replayed(letter: DeadLetter) -> Record:
    """The record that a replay of a letter makes."""
    return Record(900, letter.key, letter.value, tuple(letter.marked()), letter.timestamp_ms)


HEADERS = st.lists(
    st.tuples(st.sampled_from(["trace", "__streams.errors.offset", "x-moodstream-code", "ü"]), st.none() | st.binary())
)


@given(st.none() | st.binary(), st.none() | st.binary(), HEADERS)
def test_a_letter_gives_the_record_back(key: bytes | None, value: bytes | None, headers: Any) -> None:
    record = Record(41, key, value, tuple(headers), timestamp=123)
    letter = letter_of(record, InvalidEvent("pad.pleasure", "range", "3 is over 1"))
    assert (letter.key, letter.value, tuple(letter.headers)) == (key, value, tuple(headers))
    assert (letter.topic, letter.partition, letter.offset, letter.timestamp_ms) == ("m.events.v1", 2, 41, 123)
    assert (letter.code, letter.exception, letter.message) == (
        "invalid_event",
        "InvalidEvent",
        "pad.pleasure: 3 is over 1",
    )
    assert (letter.field, letter.rule, letter.cuts) == ("pad.pleasure", "range", ())
    assert (letter.obstacle is None) == (key is not None or value is not None)


def test_a_letter_of_a_letter_is_read_by_what_was_added_last() -> None:
    """Somebody has copied a letter into the log: what it said before is the record's own."""
    first = dead_letter(Refused(Record(1, b"k", b"v"), MalformedRecord("first")), "other", 0)
    letter = letter_of(Record(2, b"k", b"v", tuple(first.headers)), InvalidEvent("f", "range"))
    assert (letter.code, letter.topic, letter.offset) == ("invalid_event", "m.events.v1", 2)
    assert list(letter.headers) == list(first.headers)


def test_a_letter_that_fails_again_says_how_often_and_which_it_was() -> None:
    first = letter_of(Record(1, b"k", b"v", (("trace", b"1"),), timestamp=5))
    assert (first.replays, first.replay_of) == (0, None)
    again = letter_of(replayed(first))
    assert (again.replays, again.replay_of) == (1, first.name)
    third = letter_of(replayed(again))
    assert (third.replays, third.replay_of) == (2, again.name)
    assert list(third.headers) == [("trace", b"1")]
    assert [name for name, _ in third.marked()].count(REPLAYS) == 1
    assert third.timestamp_ms == 5


@pytest.mark.parametrize("marks", [{REPLAYS: b"many"}, {REPLAY_OF: b"0"}, {REPLAYS: b"-1", REPLAY_OF: b"x:y"}])
def test_marks_that_make_no_sense_count_for_nothing(marks: dict[str, bytes]) -> None:
    letter = letter_of(Record(1, b"k", b"v", tuple(marks.items())))
    assert (letter.replays, letter.replay_of) == (0, None)


def test_what_was_cut_cannot_be_replayed() -> None:
    letter = letter_of(Record(1, b"k" * (MAX_KEY_BYTES + 1), b"v" * (MAX_VALUE_BYTES + 1), (("h", b"h" * 200_000),)))
    assert [(cut.part, cut.size) for cut in letter.cuts] == [
        ("key", MAX_KEY_BYTES + 1),
        ("value", MAX_VALUE_BYTES + 1),
        ("headers", 1),
    ]
    assert letter.cuts[1].sha256 is not None
    assert letter.cuts[1].sha256 in str(letter.obstacle)


def test_a_receipt_names_its_letters() -> None:
    message = receipt_message([LetterName(3, 9), LetterName(3, 4)])
    assert parse(stored(message, offset=20)) == Receipt(frozenset({LetterName(3, 4), LetterName(3, 9)}))


def test_a_record_that_pretends_to_be_a_receipt_becomes_a_letter() -> None:
    fake = receipt_message([LetterName(3, 1)])
    letter = letter_of(Record(1, fake.key, fake.value, tuple(fake.headers)))
    assert letter.value == fake.value


@pytest.mark.parametrize("value", [None, b"{", b"[]", b'{"replayed": 3}', b'{"replayed": ["x"]}'])
def test_a_broken_receipt_names_nothing(value: bytes | None) -> None:
    message = receipt_message([])
    assert parse(stored(Message(None, value, message.headers))) == Receipt(frozenset())


def test_what_moodstream_did_not_write_is_shown_but_not_replayed() -> None:
    letter = parse(Stored(0, 1, b"k", b"v", (("trace", b"1"),)))
    assert isinstance(letter, DeadLetter)
    assert (letter.code, letter.partition, letter.headers) == ("", -1, [("trace", b"1")])
    assert letter.obstacle == "it was not written by moodstream"


@pytest.mark.parametrize("text", ["", "3", "3:", ":3", "a:1", "1:-1", "1:2:3", "\u0661:2", "1:" + "9" * 30])
def test_a_name_that_is_none(text: str) -> None:
    with pytest.raises(InvalidUsage):
        LetterName.parse(text)


def test_a_name_reads_back() -> None:
    name = LetterName(3, 170)
    assert LetterName.parse(str(name)) == name
