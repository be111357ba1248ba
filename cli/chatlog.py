"""Reads a chat log: JSON lines, plain or gzip, one message each; says line and reason where it is none."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from moodstream.cli.lines import numbered_lines
from moodstream.schemas.errors import BadFile
from moodstream.schemas.fields import Id, Instant


class Message(BaseModel):
    """One message: who wrote what when, and the ids of the messages that it answers."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)

    id: Id
    sent_at: Instant
    author: Id
    text: str
    reply_to: list[str]


def read_messages(path: Path, limit: int | None = None) -> list[tuple[int, Message]]:
    """Read the first `limit` messages (or all) with their line numbers, in the order of the file.

    Raises `BadFile` naming the first bad line and the reason.
    """
    found: list[tuple[int, Message]] = []
    lines: dict[str, int] = {}
    for number, line in numbered_lines(path):
        if len(found) == limit:
            break
        if not line.strip():
            continue
        message = _message(number, line)
        earlier = lines.setdefault(message.id, number)
        if earlier != number:
            raise BadFile(number, f"the message id is that of line {earlier}")
        found.append((number, message))
    if not found:
        raise BadFile(1, "the file has no messages")
    return found


def _message(number: int, line: bytes) -> Message:
    try:
        return Message.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        bad = BadFile(number, f"not a chat message: {field + ': ' if field else ''}{first['msg']}")
        bad.hint = "A line has id, sent_at, author, text and reply_to (docs/replay.md)."
        raise bad from error
