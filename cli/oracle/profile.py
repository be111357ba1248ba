"""The profile in force and the row that holds it."""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import NamedTuple

from moodstream.cli.oracle.dynamics import Dynamics, Triple
from moodstream.schemas.profile import DEFAULT_PROFILE, ProfileValues

MOST_REVISIONS = 16

DEFAULTS = {
    "baseline": [0.0, 0.0, 0.0],
    "tau_hours": [4.0, 4.0, 4.0],
    "max_displacement": [1.0, 1.0, 1.0],
    "gains": [1.0, 1.0, 1.0],
    "influence": 0.3,
    "domain_weights": {},
    "trend_signs": {},
    "rules": {
        "version": 1,
        "success": ["success", "succeeded", "ok", "done", "completed", "passed", "resolved"],
        "failure": ["failure", "failed", "error", "timeout", "rejected", "aborted"],
        "on_success": [0.25, 0.1, 0.2],
        "on_failure": [-0.25, 0.15, -0.2],
        "responded_yes": [0.05, 0.02, 0.02],
        "responded_no": [-0.05, -0.03, -0.03],
        "continued_yes": [0.06, 0.02, 0.03],
        "continued_no": [-0.03, -0.02, -0.02],
        "sentiment": [0.2, 0.05, 0.05],
        "fast_ms": 30_000,
        "slow_ms": 3_600_000,
        "fast": [0.02, 0.02, 0.0],
        "slow": [-0.02, -0.01, 0.0],
    },
}
"""The profile of an agent that never set one, written down once more: a default that drifts must not go unseen."""


def dynamics_of(values: ProfileValues) -> Dynamics:
    """The part of a profile that the mood needs."""
    return Dynamics(values.baseline, values.tau_hours, values.max_displacement)


def compact(values: object) -> str:
    """JSON with sorted keys and without spaces."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(values: ProfileValues) -> str:
    """All fields of a profile as JSON."""
    return compact(values.model_dump(mode="json"))


class OracleFold(NamedTuple):
    """What an operator may have changed: by which rules an agent's log is folded."""

    stamp: bytes
    """What rows carry, 8 bytes."""
    default: ProfileValues
    """The profile of an agent that never set one."""

    @classmethod
    def of(cls, revision: int, default: ProfileValues) -> OracleFold:
        """The rules of a deployment with this revision and this default profile."""
        return cls(stamp_of(revision, canonical(default)), default)


def stamp_of(revision: int, default: str) -> bytes:
    """u16 revision, then 6 bytes of hash of the fold parameters, from the defaults written down here."""
    params = {
        "signals_kept": 64,
        "kept_window_ms": 3_600_000,
        "observations_kept": 64,
        "bucket_seconds": 604_800,
        "fold_version": 1,
        "default_profile": default,
        "revision": revision,
    }
    return struct.pack(">H", revision) + blake2b(compact(params).encode(), digest_size=6).digest()


STANDARD = OracleFold.of(0, DEFAULT_PROFILE)
"""The rules where no operator has changed anything."""


class OracleProfile:
    """The profile row of one agent."""

    def __init__(self, default: ProfileValues) -> None:
        self.values = default
        self.dynamics = dynamics_of(default)
        self.revisions: list[tuple[bytes, bytes]] = []
        """H(event_id) and the packed revision, oldest first."""

    def knows(self, ident: bytes) -> bool:
        """Whether one of the last revisions has this id."""
        return any(known == ident for known, _ in self.revisions)

    def change(self, ident: bytes, values: ProfileValues, t: int, x: Triple) -> None:
        """Let new values hold from t on, where the displacement is x."""
        self.values = values
        self.dynamics = dynamics_of(values)
        numbers = (*x, *self.dynamics.baseline, *self.dynamics.tau_hours, *self.dynamics.largest)
        revision = struct.pack(">12sq12d", ident, t, *numbers)
        self.revisions = [*self.revisions, (ident, revision)][-MOST_REVISIONS:]

    def forget_moods(self) -> bool:
        """The mood was erased: the revisions say that it was at rest. Whether that changes anything."""
        before = self.revisions
        self.revisions = [(ident, packed[:20] + bytes(24) + packed[44:]) for ident, packed in before]
        return any(struct.unpack(">3d", packed[20:44]) != (0.0, 0.0, 0.0) for _, packed in before)

    def pack(self) -> bytes:
        """The body of the profile row."""
        text = canonical(self.values).encode()
        out = struct.pack(">I", len(text)) + text + bytes([len(self.revisions)])
        return out + b"".join(revision for _, revision in self.revisions)
