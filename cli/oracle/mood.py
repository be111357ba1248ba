"""The mood fold, rule by rule as docs/rows.md numbers them."""

from __future__ import annotations

import struct
from copy import copy
from typing import NamedTuple

from moodstream.cli.oracle.dynamics import AXES, Dynamics, Triple

MOST_KEPT = 64
KEPT_MS = 3_600_000
CAUSE_BYTES = 512
FORGOTTEN = 17
"""Time constants after which a late signal can no longer be seen in an f32."""


class Signal(NamedTuple):
    """A shift of the mood: time in ms, H(event_id), delta in f32 values."""

    t: int
    id: bytes
    delta: Triple


class Base(NamedTuple):
    """Displacement with every signal that has left the kept ones, at its reference time."""

    t: int
    id: bytes
    x: Triple


class ShiftRow(NamedTuple):
    """A shift row to be written."""

    t: int
    id: bytes
    body: bytes


class OracleMood:
    """One agent's mood row."""

    def __init__(self) -> None:
        self.base: Base | None = None
        self.late: tuple[int, int, int] | None = None
        self.newest: tuple[int, bytes] = (0, bytes(12))
        self.cause = b""
        self.kept: list[Signal] = []

    def signal(self, signal: Signal, cause: str, dynamics: Dynamics) -> list[ShiftRow]:
        """Rules 1 to 3: fold one signal, return the shift rows that it makes final."""
        if self.base is not None and (signal.t, signal.id) < (self.base.t, self.base.id):
            written = [self._add_late(self.base, signal, dynamics)]
        else:
            self.kept = sorted([*self.kept, signal])
            written = self._leave(dynamics)
        if (signal.t, signal.id) > self.newest:
            self.newest = (signal.t, signal.id)
            self.cause = cut(cause)
        return written

    def rebase(self, t: int, old: Dynamics, new: Dynamics) -> tuple[int, Triple, list[ShiftRow]]:
        """Rule 4, a profile change at t: the time T', the displacement then, and the shift rows that it makes final."""
        then = max(t, self.newest[0], self.base.t if self.base else 0)
        written = []
        while self.kept:
            written.append(self._oldest_leaves(old))
        if self.base is None:
            return t, (0.0, 0.0, 0.0), written
        x = new.limit(list(old.decay(self.base.x, then - self.base.t)))
        self.base = Base(then, self.base.id, x)
        return then, x, written

    def begin_anew(self, t: int) -> None:
        """The mood was erased at t: at rest there, and nothing known of before."""
        self.__init__()  # type: ignore[misc]
        self.base = Base(t, bytes(12), (0.0, 0.0, 0.0))
        self.newest = (t, bytes(12))

    def _add_late(self, base: Base, signal: Signal, dynamics: Dynamics) -> ShiftRow:
        """Rule 1."""
        rest = [signal.delta[axis] * dynamics.fading(axis, base.t - signal.t) for axis in AXES]
        self.base = base._replace(x=dynamics.limit([base.x[axis] + rest[axis] for axis in AXES]))
        count, since, until = self.late or (0, signal.t, base.t)
        self.late = (count + 1, min(since, signal.t), max(until, base.t))
        return shift_row(signal, dynamics.limit(list(signal.delta)), approximate=True)

    def _leave(self, dynamics: Dynamics) -> list[ShiftRow]:
        """Rule 2, second half."""
        written = []
        while len(self.kept) > MOST_KEPT or self.kept[-1].t - self.kept[0].t > KEPT_MS:
            written.append(self._oldest_leaves(dynamics))
        return written

    def _oldest_leaves(self, dynamics: Dynamics) -> ShiftRow:
        oldest = self.kept.pop(0)
        before: Triple | None = None
        if self.base is not None:
            before = dynamics.decay(self.base.x, oldest.t - self.base.t)
        x = dynamics.limit([(before[axis] + oldest.delta[axis]) if before else oldest.delta[axis] for axis in AXES])
        self.base = Base(oldest.t, oldest.id, x)
        return shift_row(oldest, x, approximate=self._near_late(oldest.t, dynamics))

    def _near_late(self, t: int, dynamics: Dynamics) -> bool:
        if self.late is None:
            return False
        _, since, until = self.late
        return since <= t <= until + FORGOTTEN * max(dynamics.tau_ms(axis) for axis in AXES)

    def displacement_at(self, t: int, dynamics: Dynamics) -> Triple:
        """The displacement at a time that lies before no signal: what a reader is to be told. Changes nothing."""
        last = copy(self)
        last.kept = list(self.kept)
        while last.kept:
            last._oldest_leaves(dynamics)
        return (0.0, 0.0, 0.0) if last.base is None else dynamics.decay(last.base.x, t - last.base.t)

    def pack(self) -> bytes:
        """The body of the mood row."""
        out = bytes([(1 if self.base else 0) | (2 if self.late else 0)])
        if self.base:
            out += struct.pack(">3dq12s", *self.base.x, self.base.t, self.base.id)
        if self.late:
            out += struct.pack(">Iqq", *self.late)
        out += struct.pack(">H", len(self.cause)) + self.cause + struct.pack(">q12s", *self.newest)
        out += bytes([len(self.kept)])
        for kept in self.kept:
            out += struct.pack(">I12s3f", self.newest[0] - kept.t, kept.id, *kept.delta)
        return out


def cut(cause: str) -> bytes:
    """UTF-8 of the cause, at most 512 bytes, cut at a character."""
    return cause.encode("utf-8")[:CAUSE_BYTES].decode("utf-8", errors="ignore").encode("utf-8")


def shift_row(signal: Signal, x: Triple, *, approximate: bool) -> ShiftRow:
    """The shift row of a signal with the displacement just after it."""
    body = struct.pack(">3dqB", *x, signal.t, 1 if approximate else 0)
    return ShiftRow(signal.t, signal.id, body)
