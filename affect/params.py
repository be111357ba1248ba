"""The parameters of the folds, and their hash: a row carries it, so no worker folds onto a row of other rules."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b

from moodstream.schemas.profile import DEFAULT_PROFILE


@dataclass(frozen=True, slots=True)
class FoldParams:
    """Everything that decides what the folds make of a log, apart from the log itself (docs/rows.md).

    `default_profile` is the canonical JSON of the profile of an agent that never set one.
    """

    signals_kept: int = 64
    kept_window_ms: int = 3_600_000
    observations_kept: int = 64
    bucket_seconds: int = 604_800
    fold_version: int = 1
    default_profile: str = DEFAULT_PROFILE.canonical().decode()


def params_hash(params: FoldParams) -> bytes:
    """Return 8 bytes of BLAKE2b over the JSON of the parameters (keys sorted, no spaces)."""
    text = json.dumps(asdict(params), sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=8).digest()


PARAMS = FoldParams()
PARAMS_HASH = params_hash(PARAMS)
