"""From the words of the command line to a selection of letters."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Final

from moodstream.schemas.errors import InvalidEvent, InvalidUsage
from moodstream.schemas.instants import parse_instant, to_ms
from moodstream.streams.dead_box import Selection
from moodstream.streams.dead_letters import LetterName

_AGO: Final = re.compile(r"(\d{1,9})([smhd])")
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def selection(
    letters: Sequence[str] | None = None,
    *,
    topic: str | None,
    code: str | None,
    since: str | None,
    until: str | None,
    partition: int | None,
) -> Selection:
    """Make the selection. Raises `InvalidUsage`."""
    names = frozenset(map(LetterName.parse, letters)) if letters else None
    if names and (topic, code, since, until, partition) != (None,) * 5:
        raise InvalidUsage("letters are named and filtered", hint="Name letters, or filter them: not both.")
    return Selection(
        names=names,
        topic=topic,
        code=code,
        since_ms=moment(since, "--since"),
        until_ms=moment(until, "--until"),
        partition=partition,
    )


def moment(text: str | None, flag: str) -> int | None:
    """Read a time, or how long ago (`90s`, `15m`, `2h`, `7d`), in ms since 1970. Raises `InvalidUsage`."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    if ago:
        return time.time_ns() // 1_000_000 - int(ago[1]) * _UNIT_MS[ago[2]]
    try:
        return to_ms(parse_instant(text, flag))
    except InvalidEvent as error:
        raise InvalidUsage(
            error.detail, hint='Give a time such as 2026-01-31T12:00:00Z, or "2h" for so long ago.'
        ) from error
