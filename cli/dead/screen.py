"""How dead letters are shown: in lines for people, in objects for machines."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moodstream.schemas.instants import from_ms, iso
from moodstream.streams.dead_box import Survey
from moodstream.streams.dead_letters import DeadLetter, LetterName
from moodstream.streams.dead_purge import Purge
from moodstream.streams.dead_replay import Replayed

_SHOWN_BYTES: Final = 4_096
"""Bytes of a value that a dump shows."""
_SHOWN_NAMES: Final = 20
_LAST_MS: Final = 253_402_300_799_999

# -- one line a letter


def show_list(console: Console, survey: Survey) -> None:
    """Write a table of the newest letters, and how many there are for which reason."""
    if survey.newest:
        table = Table("letter", "refused", "reason", "from", "key", "bytes", "replays", "why", box=None)
        for letter in survey.newest:
            table.add_row(*map(Text, _line(letter, replayed=letter.name in survey.replayed)))
        console.print(table)
    console.print(f"{counted(survey)}.", soft_wrap=True)
    if survey.newest and survey.selected > len(survey.newest):
        console.print(f"The newest {len(survey.newest):,} are shown (--limit).")


def counted(survey: Survey) -> str:
    """How many letters, by reason, in words."""
    reasons = ", ".join(f"{count:,} {safe(code) or 'unknown'}" for code, count in survey.codes.most_common())
    return f"{survey.selected:,} dead letters" + (f": {reasons}" if reasons else "")


def _line(letter: DeadLetter, *, replayed: bool) -> Iterator[str]:
    yield str(letter.name)
    yield when(letter.refused_ms)
    yield safe(letter.code) or "unknown"
    yield f"{letter.partition}:{letter.offset}"
    yield "-" if letter.key is None else safe(letter.key.decode(errors="replace"))[:60]
    yield f"{len(letter.value or b''):,}"
    yield _replays(letter, replayed=replayed)
    yield safe(letter.message)[:80]


def _replays(letter: DeadLetter, *, replayed: bool) -> str:
    """Whether it was replayed, and, of a letter that failed again, how often before."""
    before = f"{letter.replays} before" if letter.replays else ""
    return ", ".join(filter(None, (before, "replayed" if replayed else ""))) or "-"


def as_object(letter: DeadLetter, *, replayed: bool) -> dict[str, object]:
    """A letter without its headers and its value."""
    return {
        "letter": str(letter.name),
        "refused_at": when(letter.refused_ms),
        "reason": letter.code,
        "message": letter.message,
        "field": letter.field,
        "rule": letter.rule,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "written_at": when(letter.timestamp_ms),
        "key": None if letter.key is None else letter.key.decode(errors="backslashreplace"),
        "bytes": None if letter.value is None else len(letter.value),
        "replays": letter.replays,
        "replay_of": None if letter.replay_of is None else str(letter.replay_of),
        "replayed": replayed,
        "obstacle": letter.obstacle,
    }


# -- all of one letter


def whole_object(letter: DeadLetter, *, replayed: bool) -> dict[str, object]:
    """A letter with everything: bytes that are not UTF-8 come as base64."""
    return {
        **as_object(letter, replayed=replayed),
        "headers": [{"name": name, **_bytes(value)} for name, value in letter.headers],
        **_bytes(letter.value),
    }


def _bytes(value: bytes | None) -> dict[str, object]:
    if value is None:
        return {"value": None}
    try:
        return {"value": value.decode()}
    except UnicodeDecodeError:
        return {"value_base64": base64.b64encode(value).decode()}


def show_letter(console: Console, letter: DeadLetter, *, replayed: bool) -> None:
    """Write everything that there is to know of a letter."""
    table = Table(show_header=False, box=None)
    for name, text in _facts(letter, replayed=replayed):
        table.add_row(name, Text(safe(text)))
    console.print(table)
    for name, value in letter.headers:
        console.print(Text(safe(f"header {name}: {'null' if value is None else value.decode(errors='replace')}")))
    console.print()
    for line in value_lines(letter.value):
        console.print(Text(line), soft_wrap=True)


def _facts(letter: DeadLetter, *, replayed: bool) -> Iterator[tuple[str, str]]:
    yield "letter", str(letter.name)
    yield "refused", when(letter.refused_ms)
    yield "reason", f"{letter.code or 'unknown'} ({letter.exception})"
    yield "why", letter.message
    if letter.field is not None:
        yield "field", f"{letter.field}, rule {letter.rule}"
    yield "from", f"{letter.topic} {letter.partition}:{letter.offset}"
    yield "written", when(letter.timestamp_ms)
    yield "key", "none" if letter.key is None else letter.key.decode(errors="replace")
    yield "replays", _replays(letter, replayed=replayed)
    if letter.replay_of is not None:
        yield "was letter", str(letter.replay_of)
    if letter.obstacle is not None:
        yield "cannot be replayed", letter.obstacle


def value_lines(value: bytes | None) -> Iterator[str]:
    """A value for people: indented where it is JSON, else a dump of its bytes."""
    if value is None:
        yield "no value"
        return
    try:
        text = json.dumps(json.loads(value), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        yield from _dump(value)
    else:
        yield from map(safe, text.splitlines())


def _dump(value: bytes) -> Iterator[str]:
    for start in range(0, min(len(value), _SHOWN_BYTES), 16):
        part = value[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f"{start:08x}  {part.hex(' '):<47}  {shown}"
    if len(value) > _SHOWN_BYTES:
        yield f"… and {len(value) - _SHOWN_BYTES:,} more bytes (--raw writes all)"


# -- what was done


def show_replay(console: Console, found: Replayed, missing: Sequence[LetterName], *, dry_run: bool) -> None:
    """Write the counts, and why letters were left out."""
    reasons = [f"{name}: {why}" for name, why in found.impossible] + [
        f"{name}: there is no such letter" for name in missing
    ]
    for line in reasons[:_SHOWN_NAMES]:
        console.print(Text(safe(line)), soft_wrap=True)
    if len(reasons) > _SHOWN_NAMES:
        console.print(f"… and {len(reasons) - _SHOWN_NAMES:,} more that cannot be replayed")
    parts = [f"{found.sent:,} letters {'would be replayed' if dry_run else 'replayed'}"]
    if found.already:
        parts.append(f"{found.already:,} left out as they were replayed before (--again)")
    if reasons:
        parts.append(f"{len(reasons):,} cannot be")
    console.print(", ".join(parts))


def replay_object(found: Replayed, missing: Sequence[LetterName], *, dry_run: bool) -> dict[str, object]:
    """The counts, and why letters were left out."""
    return {
        "replayed": found.sent,
        "already": found.already,
        "impossible": [{"letter": str(name), "why": why} for name, why in found.impossible],
        "missing": [str(name) for name in missing],
        "dry_run": dry_run,
    }


def show_purge(console: Console, planned: Purge) -> None:
    """Write what would be deleted."""
    table = Table("partition", "letters", "up to", box=None)
    for partition, end in planned.ends.items():
        table.add_row(str(partition), f"{planned.letters[partition]:,}", str(LetterName(partition, end - 1)))
    console.print(table)


def when(ms: int) -> str:
    """A time as text; "unknown" for what is none."""
    return iso(from_ms(ms)) if 0 <= ms <= _LAST_MS else "unknown"


def safe(text: str) -> str:
    """Text without what a terminal would obey: a letter holds whatever somebody sent."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "replace").decode() for char in text)
