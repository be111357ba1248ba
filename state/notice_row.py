"""The row `notice`: what was announced last of each trend (docs/rows.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from moodstream.affect.statistics import STABLE


@dataclass(frozen=True, slots=True)
class NoticeState:
    """The last announcement of one signal. Times are in ms; `step` is the last announced step, -1 for none."""

    direction: str = STABLE
    previous: str = STABLE
    since: int = 0
    change: int | None = None
    """The step that this announcement tells of, if it does."""
    step: int = -1
    p: float | None = None
    slope: float | None = None
    observations: int = 0
    offset: int = -1


Notices = dict[str, NoticeState]
"""By signal, in a pair `signal/other agent`."""


def pack_notices(notices: Mapping[str, NoticeState]) -> bytes:
    """The row's body."""
    plain = {name: asdict(state) for name, state in notices.items()}
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def unpack_notices(body: bytes) -> Notices:
    """Read a row's body."""
    return {name: NoticeState(**state) for name, state in json.loads(body).items()}
