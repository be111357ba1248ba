"""Points in time: aware datetimes in UTC, and whole micro- or milliseconds since 1970. Exact, no floats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from moodstream.schemas.errors import InvalidEvent

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

INSTANT_PATTERN = r"^\d{4}-\d{2}-\d{2}[Tt ]"
"""How the text of a time begins: keeps out numbers of seconds, which some parsers would take for a time."""

TEXT_SCHEMA = core_schema.chain_schema(
    [
        core_schema.str_schema(strict=True, pattern=INSTANT_PATTERN, max_length=64),
        core_schema.datetime_schema(strict=False, tz_constraint="aware", ge=EPOCH, le=LAST),
    ]
)
"""How the text of a time is read, everywhere alike."""

_TEXT = SchemaValidator(TEXT_SCHEMA)
_DAY_SECONDS, _SECOND_US = 86_400, 1_000_000
_RANGE = ("range", "must lie between the years 1970 and 9999, in UTC")
_RULES = {
    "instant": ("instant", "must be a date and time such as 2026-01-31T12:00:00Z"),
    "timezone_aware": ("timezone", "must have an offset or Z"),
    "greater_than_equal": _RANGE,
    "less_than_equal": _RANGE,
}


def to_us(instant: datetime) -> int:
    """Return whole microseconds since 1970-01-01 UTC; TypeError for a naive time."""
    since = instant - EPOCH  # put together by hand: dividing by a timedelta takes three times as long
    return (since.days * _DAY_SECONDS + since.seconds) * _SECOND_US + since.microseconds


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
    """Read RFC 3339 text with an offset as a time in UTC; InvalidEvent names `field` and the rule.

    Digits after the microseconds are cut.
    """
    try:
        instant: datetime = _TEXT.validate_python(text)
    except ValidationError as failure:
        rule, detail = _RULES.get(failure.errors(include_input=False)[0]["type"], _RULES["instant"])
        raise InvalidEvent(field, rule, detail) from None
    return instant.astimezone(UTC)


def check_instant(instant: datetime, field: str) -> datetime:
    """Return the time in UTC if it is aware and lies in 1970..9999, else raise InvalidEvent."""
    if instant.utcoffset() is None:
        raise InvalidEvent(field, *_RULES["timezone_aware"])
    if not EPOCH <= instant <= LAST:
        raise InvalidEvent(field, *_RULES["less_than_equal"])
    return instant.astimezone(UTC)
