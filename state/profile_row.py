"""The profile row: the values in force and the newest revisions (docs/rows.md, `profile`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

import msgspec

from moodstream.affect.dynamics import AT_REST
from moodstream.affect.mood import Dynamics, Revision
from moodstream.schemas.profile import ProfileValues
from moodstream.state.rows import pack_in_force

REVISIONS_KEPT: Final = 16

_COUNT = Struct(">I")
_REVISION = Struct(">12sq12d")
_X_AT = 20
"""Where a packed revision holds the displacement: after id and time."""
_AT_REST = bytes(24)
_HOUR_MS = 3_600_000.0


@dataclass(slots=True)
class Profile:
    """The profile in force and its newest revisions in log order, each with H(event_id) of its event."""

    values: ProfileValues
    revisions: list[tuple[bytes, Revision]] = field(default_factory=list)
    packed: list[bytes] = field(default_factory=list)
    """The revisions as stored: hours need not survive the way to milliseconds and back to the bit."""
    dynamics: Dynamics = field(init=False)
    in_force: bytes = field(init=False)
    """What memory rows keep of the values in force (`rows.pack_in_force`)."""

    def __post_init__(self) -> None:
        self.dynamics, self.in_force = Dynamics.of(self.values), _in_force(self.values)

    def change(self, ident: bytes, values: ProfileValues, revision: Revision) -> None:
        """Put new values in force."""
        self.values, self.dynamics, self.in_force = values, revision.dynamics, _in_force(values)
        self.revisions = [*self.revisions, (ident, revision)][-REVISIONS_KEPT:]
        numbers = (*revision.x, *values.baseline, *values.tau_hours, *values.max_displacement)
        self.packed = [*self.packed, _REVISION.pack(ident, revision.t, *numbers)][-REVISIONS_KEPT:]

    def forget_moods(self) -> bool:
        """Forget how the mood was when the profile changed; whether there was anything to forget."""
        moved = any(any(revision.x) for _, revision in self.revisions)
        if moved:
            self.revisions = [(ident, revision._replace(x=AT_REST)) for ident, revision in self.revisions]
            self.packed = [one[:_X_AT] + _AT_REST + one[_X_AT + len(_AT_REST) :] for one in self.packed]
        return moved

    def knows(self, ident: bytes) -> bool:
        """Whether one of the revisions comes from this event."""
        return any(known == ident for known, _ in self.revisions)

    def pack(self) -> bytes:
        """The row's body."""
        text = self.values.canonical()
        return b"".join((_COUNT.pack(len(text)), text, bytes((len(self.packed),)), *self.packed))

    @classmethod
    def unpack(cls, body: bytes | None, default: ProfileValues) -> Profile:
        """Read a row's body; without one the default holds."""
        if body is None:
            return cls(default)
        end = _COUNT.size + _COUNT.unpack_from(body)[0]
        values = ProfileValues.from_canonical(body[_COUNT.size : end])
        packed = [body[at : at + _REVISION.size] for at in range(end + 1, len(body), _REVISION.size)]
        return cls(values, [_revision(_REVISION.unpack(one)) for one in packed], packed)


class _Signs(msgspec.Struct):
    trend_signs: dict[str, int]


_SIGNS = msgspec.json.Decoder(_Signs)


def trend_signs_of(body: bytes) -> Mapping[str, int]:
    """Read the signs of trends alone: a fraction of the cost of a whole profile, where many are read."""
    end = _COUNT.size + _COUNT.unpack_from(body)[0]
    return _SIGNS.decode(body[_COUNT.size : end]).trend_signs


def _in_force(values: ProfileValues) -> bytes:
    return pack_in_force((*values.baseline, *values.tau_hours, *values.max_displacement))


def _revision(numbers: tuple[Any, ...]) -> tuple[bytes, Revision]:
    ident, t, *rest = numbers
    return ident, Revision(t, (rest[0], rest[1], rest[2]), dynamics_of(rest[3:]))


def dynamics_of(numbers: list[float] | tuple[float, ...]) -> Dynamics:
    """Nine numbers as rows keep them: baseline, time constants in hours, largest displacement."""
    b1, b2, b3, t1, t2, t3, m1, m2, m3 = numbers
    return Dynamics((b1, b2, b3), (t1 * _HOUR_MS, t2 * _HOUR_MS, t3 * _HOUR_MS), (m1, m2, m3))
