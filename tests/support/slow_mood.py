"""Slow, obvious twins of the mood fold: one for sets of signals, one for logs in which some come late."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

HOUR = 3_600_000
AXES = range(3)


class Profile(NamedTuple):
    """The part of a profile that moves moods: baseline, τ in ms, largest displacement, one value per axis."""

    baseline: tuple[float, float, float]
    tau: tuple[float, float, float]
    most: tuple[float, float, float]


class Arrival(NamedTuple):
    """A signal as it comes: time in ms, 12 bytes of id, three deltas, its cause."""

    t: int
    id: bytes
    delta: tuple[float, float, float]
    cause: str = "why"


def single(value: float) -> float:
    """Clamp to [-2, 2], then take the nearest 32-bit float."""
    clamped = max(-2.0, min(2.0, value))
    found: float = struct.unpack("<f", struct.pack("<f", clamped))[0]
    return found


def limit(profile: Profile, axis: int, x: float) -> float:
    """The clamp, as docs/rows.md writes it."""
    b, m = profile.baseline[axis], profile.most[axis]
    return min(max(x, max(-1 - b, -m)), min(1 - b, m))


def after(profile: Profile, signals: list[Arrival]) -> list[float]:
    """The displacement just after the last of some signals, each axis folded by itself from the first one."""
    found = []
    for axis in AXES:
        x = 0.0
        for n, signal in enumerate(signals):
            delta = single(signal.delta[axis])
            if n:
                x = x * math.exp(-(signal.t - signals[n - 1].t) / profile.tau[axis])
                x = limit(profile, axis, x + delta)
            else:
                x = limit(profile, axis, delta)
        found.append(x)
    return found


def mood_at(profile: Profile, signals: list[Arrival], t: int) -> list[float]:
    """The displacement at `t`: sort everything, fold what happened up to then, let it decay."""
    before = sorted(signal for signal in signals if signal.t <= t)
    if not before:
        return [0.0, 0.0, 0.0]
    x = after(profile, before)
    return [x[axis] * math.exp(-(t - before[-1].t) / profile.tau[axis]) for axis in AXES]


def row_of_set(profile: Profile, signals: list[Arrival], most_kept: int = 64) -> bytes:
    """The row of a set of signals of which none was late: sort all, keep the newest, fold the rest."""
    ordered = sorted(signals)
    newest = ordered[-1]
    kept = [signal for signal in ordered if newest.t - signal.t <= HOUR][-most_kept:]
    folded = ordered[: len(ordered) - len(kept)]
    base = (after(profile, folded), folded[-1].t, folded[-1].id) if folded else None
    return layout(base, None, newest, kept)


def layout(
    base: tuple[list[float], int, bytes] | None,
    late: tuple[int, int, int] | None,
    newest: Arrival | None,
    kept: list[Arrival],
) -> bytes:
    """The bytes of a mood row, field by field."""
    out = bytes([(base is not None) + 2 * (late is not None)])
    if base is not None:
        out += b"".join(struct.pack(">d", x) for x in base[0]) + base[1].to_bytes(8, "big") + base[2]
    if late is not None:
        out += late[0].to_bytes(4, "big") + late[1].to_bytes(8, "big") + late[2].to_bytes(8, "big")
    cause = b"" if newest is None else newest.cause.encode()
    while len(cause) > 512:
        cause = cause.decode()[:-1].encode()
    out += len(cause).to_bytes(2, "big") + cause
    out += bytes(20) if newest is None else newest.t.to_bytes(8, "big") + newest.id
    out += bytes([len(kept)])
    for signal in kept:
        assert newest is not None
        out += (newest.t - signal.t).to_bytes(4, "big") + signal.id
        out += b"".join(struct.pack(">f", single(delta)) for delta in signal.delta)
    return out


@dataclass
class SlowMood:
    """The row of a log in which signals come late and profiles change: the rules of docs/rows.md one after another."""

    most_kept: int = 64
    base: tuple[list[float], int, bytes] | None = None
    late: tuple[int, int, int] | None = None
    kept: list[Arrival] = field(default_factory=list)
    newest: Arrival | None = None
    shifts: dict[bytes, bytes] = field(default_factory=dict)

    def signal(self, profile: Profile, signal: Arrival) -> None:
        """Rules 1 to 3."""
        if self.base is not None and (signal.t, signal.id) < self.base[1:]:
            self._late(profile, signal)
        else:
            self.kept = sorted([*self.kept, signal])
            while len(self.kept) > self.most_kept or self.kept[-1].t - self.kept[0].t > HOUR:
                self._leave(profile)
        self.newest = max([signal] if self.newest is None else [signal, self.newest])

    def rebase(self, old: Profile, new: Profile, t: int) -> tuple[int, list[float]]:
        """Rule 4."""
        while self.kept:
            self._leave(old)
        if self.base is None or self.newest is None:
            return t, [0.0, 0.0, 0.0]
        x, then, ident = self.base
        start = max(t, then, self.newest.t)
        x = [limit(new, a, x[a] * math.exp(-(start - then) / old.tau[a])) for a in AXES]
        self.base = x, start, ident
        return start, x

    def pack(self) -> bytes:
        """The row's bytes."""
        return layout(self.base, self.late, self.newest, self.kept)

    def _late(self, profile: Profile, signal: Arrival) -> None:
        assert self.base is not None
        x, then, ident = self.base
        delta = [single(value) for value in signal.delta]
        x = [limit(profile, a, x[a] + delta[a] * math.exp(-(then - signal.t) / profile.tau[a])) for a in AXES]
        self.base = x, then, ident
        count, since, until = self.late or (0, signal.t, then)
        self.late = count + 1, min(since, signal.t), max(until, then)
        self._write(signal, [limit(profile, a, delta[a]) for a in AXES], True)

    def _leave(self, profile: Profile) -> None:
        oldest, *self.kept = self.kept
        delta = [single(value) for value in oldest.delta]
        if self.base is None:
            x = [limit(profile, a, delta[a]) for a in AXES]
        else:
            before, then, _ = self.base
            x = [before[a] * math.exp(-(oldest.t - then) / profile.tau[a]) + delta[a] for a in AXES]
            x = [limit(profile, a, x[a]) for a in AXES]
        self.base = x, oldest.t, oldest.id
        seen = self.late is not None and self.late[1] <= oldest.t <= self.late[2] + 17 * max(profile.tau)
        self._write(oldest, x, seen)

    def _write(self, signal: Arrival, x: list[float], approximate: bool) -> None:
        self.shifts[signal.id] = struct.pack(">ddd", *x) + struct.pack(">qB", signal.t, approximate)
