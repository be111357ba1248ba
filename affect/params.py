"""The parameters of the folds, and their stamp: a row carries it, so no worker folds onto a row of other rules."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from struct import Struct

from moodstream.schemas.profile import DEFAULT_PROFILE, ProfileValues

_REVISION = Struct(">H")
_DIGEST_BYTES = 6
_MAKER = Struct(">H8s")
_ORDER = Struct(">HH")


@dataclass(frozen=True, slots=True)
class FoldParams:
    """Everything that decides what the folds make of a log, apart from the log itself (docs/rows.md).

    `default_profile` is the canonical JSON of the profile of an agent that never set one. `revision` is raised by the
    operator with each change of a parameter: it tells which of two rows is the newer one, [0, 65535].
    """

    signals_kept: int = 64
    kept_window_ms: int = 3_600_000
    observations_kept: int = 64
    bucket_seconds: int = 604_800
    fold_version: int = 1
    default_profile: str = DEFAULT_PROFILE.canonical().decode()
    revision: int = 0


def stamp_of(params: FoldParams) -> bytes:
    """Give what rows carry: u16 revision, 6 bytes of BLAKE2b over the JSON of the parameters (sorted, no spaces)."""
    text = json.dumps(asdict(params), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return _REVISION.pack(params.revision) + blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()


def revision_of(stamp: bytes) -> int:
    """The revision in a stamp."""
    revision: int = _REVISION.unpack_from(stamp)[0]
    return revision


@dataclass(frozen=True, slots=True)
class Fold:
    """By which rules a worker folds: handed to whoever reads or writes rows."""

    params: FoldParams
    stamp: bytes
    """What its rows carry, 8 bytes."""
    default_profile: ProfileValues
    """Holds for an agent that never set one."""

    @classmethod
    def of(cls, revision: int = 0, default_profile: ProfileValues = DEFAULT_PROFILE) -> Fold:
        """The fold of this program with what an operator may change."""
        params = FoldParams(revision=revision, default_profile=default_profile.canonical().decode())
        return cls(params, stamp_of(params), default_profile)

    @property
    def maker(self) -> bytes:
        """Fold version and stamp, as they stand in the headers of its rows (10 bytes)."""
        return _MAKER.pack(self.params.fold_version, self.stamp)

    @property
    def order(self) -> tuple[int, int]:
        """Fold version and revision: the greater of two is the newer fold."""
        return self.params.fold_version, self.params.revision


def order_of(maker: bytes) -> tuple[int, int]:
    """Fold version and revision of a row's maker (10 bytes of its header)."""
    version, revision = _ORDER.unpack_from(maker)
    return version, revision


PARAMS = FoldParams()
STANDARD = Fold.of()
"""The fold of a deployment whose operator has changed nothing."""
