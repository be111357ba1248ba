"""Points in time: aware datetimes in UTC, and whole micro- or milliseconds since 1970. Exact, no floats."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from moodstream.schemas.errors import InvalidEvent

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

INSTANT_PATTERN = r"^\d{4}-\d{2}-\d{2}[Tt ]"
"""How the text of a time begins: keeps out numbers of seconds, which some parsers would take for a time."""

_FRACTION = re.compile(r"(\.\d{6})\d+")
_TICK = timedelta(microseconds=1)


def to_us(instant: datetime) -> int:
    """Return whole microseconds since 1970-01-01 UTC; TypeError for a naive time."""
    return (instant - EPOCH) // _TICK


def to_ms(instant: datetime) -> int:
    """Return milliseconds since 1970-01-01 UTC, rounded down; TypeError for a naive time."""
    return to_us(instant) // 1000


def from_us(us: int) -> datetime:
    """Return the time in UTC at `us` microseconds since 1970; OverflowError outside the years 1..9999."""
    return EPOCH + timedelta(microseconds=us)


def from_ms(ms: int) -> datetime:
    """Return the time in UTC at `ms` milliseconds since 1970; OverflowError outside the years 1..9999."""
    return EPOCH + timedelta(milliseconds=ms)


def iso(instant: datetime) -> str:
    """Return RFC 3339 text in UTC with a Z, with microseconds only where there are any."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_instant(text: str, field: str) -> datetime:
    """Read RFC 3339 text with an offset as a time in UTC; InvalidEvent names `field` and the rule."""
    if not re.match(INSTANT_PATTERN, text):
        raise InvalidEvent(field, "instant", "must be a date and time such as 2026-01-31T12:00:00Z")
    try:
        instant = datetime.fromisoformat(_FRACTION.sub(r"\1", text))  # digits after the microseconds are cut
    except ValueError:
        raise InvalidEvent(field, "instant", "must be a date and time such as 2026-01-31T12:00:00Z") from None
    return check_instant(instant, field)


def check_instant(instant: datetime, field: str) -> datetime:
    """Return the time in UTC if it is aware and lies in 1970..9999, else raise InvalidEvent."""
    if instant.utcoffset() is None:
        raise InvalidEvent(field, "timezone", "must have an offset or Z")
    if not EPOCH <= instant <= LAST:
        raise InvalidEvent(field, "range", "must lie between the years 1970 and 9999, in UTC")
    return instant.astimezone(UTC)
