"""What a record of the topic of dead letters says: a letter, or the receipt of a replay. Names of their headers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from moodstream.schemas.errors import InvalidUsage
from moodstream.streams.sending import Message

ERRORS: Final = "__streams.errors."
"""Begins the names that Kafka Streams uses: exception, message, topic, partition, offset."""
OWN: Final = "x-moodstream-"
"""Begins our own names."""

EXCEPTION: Final = f"{ERRORS}exception"
"""The first header that a letter adds: those before it are the record's own."""
MESSAGE: Final = f"{ERRORS}message"
TOPIC: Final = f"{ERRORS}topic"
PARTITION: Final = f"{ERRORS}partition"
OFFSET: Final = f"{ERRORS}offset"
CODE: Final = f"{OWN}code"
TIMESTAMP: Final = f"{OWN}timestamp"
FIELD: Final = f"{OWN}field"
RULE: Final = f"{OWN}rule"
LENGTH: Final = f"{OWN}length"
SHA256: Final = f"{OWN}sha256"
KEY_LENGTH: Final = f"{OWN}key-length"
KEY_SHA256: Final = f"{OWN}key-sha256"
HEADERS: Final = f"{OWN}headers"
REPLAYS: Final = f"{OWN}replays"
"""Of a replayed record, and so of a letter that failed again: how often it has been replayed."""
REPLAY_OF: Final = f"{OWN}replay-of"
"""Of a replayed record: the letter that it was."""
RECEIPT: Final = f"{OWN}receipt"
"""Marks the receipt of a replay: its value names the letters that were sent, so that they are not sent again."""

Headers = list[tuple[str, bytes]]


class LetterName(NamedTuple):
    """Names a letter by its place in the topic of dead letters."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> LetterName:
        """Read `partition:offset`. Raises `InvalidUsage`."""
        partition, _, offset = text.partition(":")
        if not (_is_count(partition) and _is_count(offset)):
            shown = ascii(text[:40])
            raise InvalidUsage(f"{shown} names no letter", hint="A letter is named partition:offset, such as 0:17.")
        return cls(int(partition), int(offset))


class Cut(NamedTuple):
    """A part of the record that did not fit into its letter: its whole size in bytes (headers: their number)."""

    part: str
    size: int
    sha256: str | None

    def __str__(self) -> str:
        if self.sha256 is None:
            return f"its {self.part} were cut: the record had {self.size}"
        return f"its {self.part} was cut: {self.size} bytes, SHA-256 {self.sha256}"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be accepted: as it was, why, and where it came from. Times are in ms since 1970."""

    name: LetterName
    refused_ms: int
    """When the letter was written."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    """The record's own, without what the letter and earlier replays have added."""
    code: str
    exception: str
    message: str
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    """The record's own Kafka timestamp; negative where it is not known."""
    field: str | None = None
    rule: str | None = None
    cuts: Sequence[Cut] = ()
    replays: int = 0
    """How often it had been replayed before it was refused this time."""
    replay_of: LetterName | None = None
    """The letter that was replayed."""

    @property
    def obstacle(self) -> str | None:
        """Why this letter can never be replayed, None if it can."""
        if not self.topic:
            return "it was not written by moodstream"
        if self.cuts:
            return "; ".join(map(str, self.cuts))
        if self.key is None and self.value is None:
            return "it has neither key nor value"
        return None

    def marked(self) -> Headers:
        """The headers of its replay: how often it has been replayed, which letter it was, and the record's own."""
        marks = [(REPLAYS, b"%d" % (self.replays + 1)), (REPLAY_OF, str(self.name).encode())]
        return [*marks, *self.headers]  # type: ignore[list-item]  # null values are passed on


class Receipt(NamedTuple):
    """Says that letters of its partition were replayed."""

    letters: frozenset[LetterName]


def receipt_message(letters: Iterable[LetterName]) -> Message:
    """Make the receipt of letters of one partition."""
    value = json.dumps({"replayed": sorted(name.offset for name in letters)}).encode()
    return Message(None, value, [(RECEIPT, b"1")])


def parse(record: Any) -> DeadLetter | Receipt:  # noqa: ANN401 - aiokafka has no types
    """Read a record of the topic. Never fails: what is missing or broken is empty, and keeps a letter from replay."""
    headers: Sequence[tuple[str, bytes | None]] = record.headers
    begin = max((i for i, (name, _) in enumerate(headers) if name == EXCEPTION), default=len(headers))
    said = {name: (value or b"").decode(errors="replace") for name, value in headers[begin:]}
    if not said and any(name == RECEIPT for name, _ in headers):
        return Receipt(_replayed(record))
    own = [one for one in headers[:begin] if one[0] not in (REPLAYS, REPLAY_OF)]
    marks = {name: (value or b"").decode(errors="replace") for name, value in headers[:begin]}
    return DeadLetter(
        name=LetterName(record.partition, record.offset),
        refused_ms=record.timestamp,
        key=record.key,
        value=record.value,
        headers=own,
        code=said.get(CODE, ""),
        exception=said.get(EXCEPTION, ""),
        message=said.get(MESSAGE, ""),
        topic=said.get(TOPIC, ""),
        partition=_count(said, PARTITION, -1),
        offset=_count(said, OFFSET, -1),
        timestamp_ms=_count(said, TIMESTAMP, -1),
        field=said.get(FIELD),
        rule=said.get(RULE),
        cuts=tuple(_cuts(said)),
        replays=_count(marks, REPLAYS, 0),
        replay_of=_name(marks.get(REPLAY_OF, "")),
    )


def _cuts(said: Mapping[str, str]) -> Iterable[Cut]:
    for part, size, digest in (("key", KEY_LENGTH, KEY_SHA256), ("value", LENGTH, SHA256)):
        if size in said:
            yield Cut(part, _count(said, size, -1), said.get(digest, ""))
    if HEADERS in said:
        yield Cut("headers", _count(said, HEADERS, -1), None)


def _replayed(record: Any) -> frozenset[LetterName]:  # noqa: ANN401 - aiokafka has no types
    try:
        return frozenset(LetterName(record.partition, int(offset)) for offset in json.loads(record.value)["replayed"])
    except (KeyError, TypeError, ValueError):
        return frozenset()


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _count(said: Mapping[str, str], name: str, default: int) -> int:
    text = said.get(name, "")
    return int(text) if _is_count(text) else default


def _name(text: str) -> LetterName | None:
    try:
        return LetterName.parse(text)
    except InvalidUsage:
        return None
