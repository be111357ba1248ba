"""Times: exact, in UTC, and the same whichever way they come in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.instants import EPOCH, LAST, check_instant, from_ms, from_us, iso, parse_instant, to_ms, to_us

instants = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), timezones=st.just(UTC))
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(instants)
def test_microseconds_are_exact(instant):
    assert from_us(to_us(instant)) == instant
    assert (
        to_us(instant)
        == (instant - EPOCH).days * 86_400_000_000
        + (instant - EPOCH).seconds * 1_000_000
        + (instant - EPOCH).microseconds
    )


@given(instants)
def test_milliseconds_are_rounded_down(instant):
    assert timedelta(0) <= instant - from_ms(to_ms(instant)) < timedelta(milliseconds=1)


def test_milliseconds_before_1970_are_rounded_down_too():
    assert to_ms(EPOCH - timedelta(microseconds=1)) == -1


@given(instants, offsets)
def test_text_reads_back(instant, offset):
    if not EPOCH + timedelta(days=1) < instant < LAST - timedelta(days=1):
        instant = EPOCH + timedelta(days=1)
    assert iso(instant).endswith("Z")
    assert parse_instant(iso(instant), "t") == instant
    assert parse_instant(instant.astimezone(offset).isoformat(), "t") == instant
    assert parse_instant(instant.astimezone(offset).isoformat(), "t").tzinfo is UTC


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00Z"),
        (datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC), "2026-01-31T12:00:00.000005Z"),
        (datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))), "2026-01-31T10:00:00Z"),
    ],
)
def test_text_has_microseconds_only_where_there_are_any(instant, text):
    assert iso(instant) == text


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-31T12:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31 12:00:00z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00:00.1Z", datetime(2026, 1, 31, 12, 0, 0, 100_000, tzinfo=UTC)),
        ("2026-01-31T12:00:00.123456789Z", datetime(2026, 1, 31, 12, 0, 0, 123_456, tzinfo=UTC)),
        ("2026-01-31T12:00:00-05:30", datetime(2026, 1, 31, 17, 30, tzinfo=UTC)),
        ("1970-01-01T00:00:00Z", EPOCH),
        ("9999-12-31T23:59:59.999999Z", LAST),
    ],
)
def test_forms_that_are_read(text, instant):
    assert parse_instant(text, "t") == instant


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("2026-01-31T12:00:00", "timezone"),
        ("2026-01-31", "instant"),
        ("1769860800", "instant"),
        ("1769860800.5", "instant"),
        ("", "instant"),
        ("now", "instant"),
        ("2026-13-31T12:00:00Z", "instant"),
        ("2026-02-30T12:00:00Z", "instant"),
        ("2026-01-31T24:00:00Z", "instant"),
        ("2026-01-31T12:00:00+30:00", "instant"),
        ("\u0662\u0660\u0662\u0666-01-31T12:00:00Z", "instant"),
        ("2026-01-31T12:00:00Z" + " " * 60, "instant"),
        ("1969-12-31T23:59:59Z", "range"),
        ("1970-01-01T00:00:00+00:01", "range"),
        ("9999-12-31T23:59:59-00:01", "range"),
    ],
)
def test_forms_that_are_refused(text, rule):
    with pytest.raises(InvalidEvent) as caught:
        parse_instant(text, "t")
    assert (caught.value.field, caught.value.rule) == ("t", rule)


@pytest.mark.parametrize(
    ("instant", "rule"),
    [
        (datetime(2026, 1, 31), "timezone"),
        (datetime(1969, 12, 31, tzinfo=UTC), "range"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), "range"),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14))), "range"),
    ],
)
def test_datetimes_that_are_refused(instant, rule):
    with pytest.raises(InvalidEvent) as caught:
        check_instant(instant, "t")
    assert caught.value.rule == rule
