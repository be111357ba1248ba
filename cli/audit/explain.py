"""Take a row apart into named fields, so that a difference can be told in words."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from moodstream.cli.oracle.layout import HEADER, Kind

Fields = dict[str, object]
_AXES = ("pleasure", "arousal", "dominance")
_MEMORY = (
    *("event_id", "type", "occurred_us", "text", "importance", "pad", "attributes", "metadata"),
    *("case_id", "turn_id", "embedding"),
)
_DYNAMICS = ("baseline", "tau_hours", "max_displacement")
_STUB_BYTES = 16
_SHOWN = 60
"""Longest value shown, in characters."""


class _Cursor:
    """Reads a body from front to back."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        """The next values of a struct layout."""
        values = struct.unpack_from(">" + layout, self.body, self.at)
        self.at += struct.calcsize(">" + layout)
        return values

    def one(self, layout: str) -> Any:  # noqa: ANN401 - struct has no types
        """The next single value."""
        return self.take(layout)[0]

    def rest(self) -> bytes:
        """What has not been read."""
        return self.body[self.at :]


def _number(value: float) -> float:
    """A single as short as it can be told from its neighbours."""
    return float(f"{value:.9g}")


def _triple(values: Iterable[float]) -> str:
    return ", ".join(f"{axis} {value!r}" for axis, value in zip(_AXES, values, strict=True))


def _numbered(word: str, number: int, **parts: object) -> Iterator[tuple[str, object]]:
    """The parts of one entry of a list, each as a field."""
    yield from ((f"{word} {number} {name.replace('_', ' ')}", value) for name, value in parts.items())


def _agent(body: _Cursor) -> Iterator[tuple[str, object]]:
    yield from zip(("first_offset", "accepted", "newest"), body.take("qQq"), strict=True)


def _mood(body: _Cursor) -> Iterator[tuple[str, object]]:
    flags = body.one("B")
    yield "flags", flags
    if flags & 1:
        yield "base displacement", _triple(body.take("3d"))
        yield "base time", body.one("q")
        yield "base id", body.one("12s")
    if flags & 2:
        yield from zip(("late count", "late from", "late to"), body.take("Iqq"), strict=True)
    yield "cause", body.one(f"{body.one('H')}s")
    yield "newest time", body.one("q")
    yield "newest id", body.one("12s")
    for number in range(body.one("B")):
        ago, ident, *delta = body.take("I12s3f")
        yield from _numbered("signal", number, before_newest=ago, id=ident, delta=_triple(map(_number, delta)))


def _trends(body: _Cursor) -> Iterator[tuple[str, object]]:
    reports = body.one("H")
    yield "reports", reports
    for number in range(reports):
        time, key, event, mask = body.take("6s12s12sB")
        values = [_number(value) for value in body.take("f" * mask.bit_count())]
        ms = int.from_bytes(time, "big")
        yield from _numbered("report", number, time=ms, key=key, event=event, mask=mask, values=values)


def _memory(body: _Cursor) -> Iterator[tuple[str, object]]:
    content = body.one(f"{body.one('I')}s")
    yield from zip(_MEMORY, msgspec.msgpack.decode(content), strict=True)
    if body.rest():
        yield from ((name, _triple(body.take("3d"))) for name in ("shift", *_DYNAMICS))


def _shift(body: _Cursor) -> Iterator[tuple[str, object]]:
    yield "displacement", _triple(body.take("3d"))
    yield from zip(("time", "flags"), body.take("qB"), strict=True)


def _profile(body: _Cursor) -> Iterator[tuple[str, object]]:
    yield from json.loads(body.one(f"{body.one('I')}s")).items()
    for number in range(body.one("B")):
        ident, then, *values = body.take("12sq12d")
        yield from _numbered("revision", number, id=ident, time=then)
        for place, name in enumerate(("x", *_DYNAMICS)):
            yield f"revision {number} {name}", _triple(values[3 * place : 3 * place + 3])


_SCOPES = {1: "agent", 2: "domain", 3: "memory", 4: "other agent", 5: "expiry"}


def _erased(body: _Cursor) -> Iterator[tuple[str, object]]:
    """A marker row, or what stands for an erased memory."""
    if len(body.body) == _STUB_BYTES:
        yield from zip(("time", "erased at"), body.take("qq"), strict=True)
        return
    for number in range(body.one("H")):
        scope, what, offset, ms = body.take("B12sqq")
        yield from _numbered("erasure", number, of=_SCOPES.get(scope, scope), name=what, offset=offset, time=ms)
    for number in range(body.one("B")):
        yield f"event {number}", body.one("12s")


_READERS: dict[Kind, Callable[[_Cursor], Iterator[tuple[str, object]]]] = {
    Kind.AGENT: _agent,
    Kind.MOOD: _mood,
    Kind.TRENDS: _trends,
    Kind.PAIR: _trends,
    Kind.MEMORY: _memory,
    Kind.SHIFT: _shift,
    Kind.PROFILE: _profile,
    Kind.ERASED: _erased,
}


def fields(row: bytes) -> Fields:
    """Header and body of a row by name, as far as they can be read; then `unreadable` or `left over` says why not."""
    found: Fields = {}
    try:
        found.update(zip(("format", "kind", "fold", "params", "offset"), HEADER.unpack_from(row), strict=True))
        body = _Cursor(row[HEADER.size :])
        for name, value in _READERS[Kind(row[1])](body):
            found[name] = value
        if body.rest():
            found["left over"] = body.rest()
    except (struct.error, ValueError, KeyError, TypeError, msgspec.MsgspecError) as error:
        found["unreadable"] = str(error)
    return found


def explain(expected: bytes | None, found: bytes | None) -> list[tuple[str, str, str]]:
    """What differs between two rows: field, expected, found. One line when a row is missing or should not be there."""
    if expected is None or found is None:
        return [("row", _whole(expected), _whole(found))]
    left, right = fields(expected), fields(found)
    names = [*left, *(name for name in right if name not in left)]
    lines = [
        (name, *_window(_text(left.get(name)), _text(right.get(name))))
        for name in names
        if repr(left.get(name)) != repr(right.get(name))
    ]
    return lines or [_first_byte(expected, found)]


def _whole(row: bytes | None) -> str:
    return "none" if row is None else f"{len(row)} bytes"


def _first_byte(expected: bytes, found: bytes) -> tuple[str, str, str]:
    """Rows whose fields read equal and whose bytes differ, such as two spellings of one map."""
    pairs = enumerate(zip_longest(expected, found))
    at, (left, right) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
    return (f"byte {at}", _text(left), _text(right))


def _text(value: object) -> str:
    """A value as text: ids and other bytes in hexadecimal unless they are text themselves."""
    if isinstance(value, bytes):
        return value.decode("ascii") if value.isascii() and value.decode("ascii").isprintable() else value.hex()
    return "-" if value is None else str(value)


def _window(left: str, right: str) -> tuple[str, str]:
    """Both texts around the place where they part, as long as can be shown."""
    common = next((at for at, pair in enumerate(zip_longest(left, right)) if pair[0] != pair[1]), 0)
    start = 0 if max(len(left), len(right)) <= _SHOWN else max(0, common - _SHOWN // 3)
    return _cut(left, start), _cut(right, start)


def _cut(text: str, start: int) -> str:
    end = start + _SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
