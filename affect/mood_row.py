"""The mood row in memory, and its bytes (docs/rows.md, `mood` and `shift`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import NamedTuple

from moodstream.affect.dynamics import Dynamics, Triple

_BASE = Struct(">3dq12s")
_LATE = Struct(">Iqq")
_NEWEST = Struct(">q12sB")
_SIGNAL = Struct(">I12s3f")
_SHIFT = Struct(">3dqB")

_HAS_BASE, _HAS_LATE, _APPROXIMATE = 1, 2, 1
_CAUSE_BYTES = 512
NO_ID = bytes(12)
"""Where no signal is meant."""

Kept = tuple[int, bytes, float, float, float]
"""A signal that is kept: time in ms, H(event id), and the three deltas. Sorts by (time, id)."""


class Base(NamedTuple):
    """A displacement `x` at time `t` (ms) that stands for all signals up to (t, id)."""

    x: Triple
    t: int
    id: bytes


@dataclass(frozen=True, slots=True)
class Late:
    """How many signals came after the base had passed them, and the span of time (ms) in which they matter."""

    count: int
    since: int
    until: int


class Shift(NamedTuple):
    """What one signal did: the displacement `x` just after it, at time `t` in ms. `id` is H(event id)."""

    t: int
    id: bytes
    x: Triple
    approximate: bool

    def pack(self) -> bytes:
        """Return the body of the shift's row; the id is part of its key, not of its body."""
        return _SHIFT.pack(*self.x, self.t, _APPROXIMATE if self.approximate else 0)

    @classmethod
    def unpack(cls, id: bytes, body: bytes) -> Shift:  # noqa: A002 - the word of docs/rows.md
        """Read the body of a shift's row; struct.error if it is not one."""
        p, a, d, t, flags = _SHIFT.unpack(body)
        return cls(t, id, (p, a, d), bool(flags & _APPROXIMATE))


@dataclass(slots=True)
class MoodRow:
    """An agent's mood as stored: a base, the signals after it in order of (time, id), and the newest cause.

    `path` is not stored: the displacement just after each kept signal, with the dynamics that they were computed for.
    """

    base: Base | None = None
    late: Late | None = None
    cause: str = ""
    newest_t: int = 0
    newest_id: bytes = NO_ID
    kept: list[Kept] = field(default_factory=list)
    path: tuple[Dynamics, list[Triple]] | None = field(default=None, repr=False, compare=False)

    @property
    def empty(self) -> bool:
        """True when no signal was ever seen: such a row is not written."""
        return self.base is None and not self.kept

    @classmethod
    def unpack(cls, body: bytes | None) -> MoodRow:
        """Read a row's body; a row that is not there (None) is an empty one. struct.error or IndexError if broken."""
        if body is None:
            return cls()
        flags, at = body[0], 1
        base = late = None
        if flags & _HAS_BASE:
            p, a, d, t, base_id = _BASE.unpack_from(body, at)
            base, at = Base((p, a, d), t, base_id), at + _BASE.size
        if flags & _HAS_LATE:
            late, at = Late(*_LATE.unpack_from(body, at)), at + _LATE.size
        end = at + 2 + int.from_bytes(body[at : at + 2], "big")
        cause = body[at + 2 : end].decode()
        newest_t, newest_id, _ = _NEWEST.unpack_from(body, end)
        packed = _SIGNAL.iter_unpack(body[end + _NEWEST.size :])
        kept = [(newest_t - age, sid, p, a, d) for age, sid, p, a, d in packed]
        return cls(base, late, cause, newest_t, newest_id, kept)

    def pack(self) -> bytes:
        """Return the row's body. The same signals give the same bytes, whatever way they came."""
        base, late, newest = self.base, self.late, self.newest_t
        cause = self.cause.encode()
        pack = _SIGNAL.pack
        parts = [
            bytes((_HAS_BASE * (base is not None) | _HAS_LATE * (late is not None),)),
            b"" if base is None else _BASE.pack(*base.x, base.t, base.id),
            b"" if late is None else _LATE.pack(late.count, late.since, late.until),
            len(cause).to_bytes(2, "big"),
            cause,
            _NEWEST.pack(newest, self.newest_id, len(self.kept)),
            *[pack(newest - t, sid, p, a, d) for t, sid, p, a, d in self.kept],
        ]
        return b"".join(parts)


def cut_cause(text: str) -> str:
    """Cut a cause to 512 bytes of UTF-8, never inside a character."""
    if len(text) <= _CAUSE_BYTES // 4:  # no character has more than four bytes
        return text
    return text.encode()[:_CAUSE_BYTES].decode(errors="ignore")
