"""Limits have ceilings, and batches are measured."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from moodstream.schemas import BatchTooLarge, EventTooLarge, Limits
from moodstream.schemas.limits import check_batch, check_event_bytes

DEFAULTS = {
    "description_bytes": 8192,
    "metadata_entries": 32,
    "metadata_bytes": 4096,
    "source_memory_ids": 64,
    "event_bytes": 65536,
    "batch_events": 500,
    "batch_bytes": 1048576,
    "embedding_numbers": 4096,
    "future_seconds": 300,
}


def test_the_defaults_are_those_of_the_contract():
    assert Limits().model_dump() == DEFAULTS


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_limit_has_a_ceiling_and_is_not_negative(name):
    for value in (10**9, -1):
        with pytest.raises(ValidationError):
            Limits(**{name: value})


def test_an_event_is_measured_in_bytes():
    check_event_bytes(65536)
    check_event_bytes(65537, Limits(event_bytes=65537))
    with pytest.raises(EventTooLarge, match="event_bytes") as caught:
        check_event_bytes(65537)
    assert caught.value.fields == {"limit": "event_bytes", "allowed": 65536, "found": 65537}


@pytest.mark.parametrize(("events", "size", "limit"), [(501, 1, "batch_events"), (1, 1048577, "batch_bytes")])
def test_a_batch_over_a_limit_names_it(events, size, limit):
    check_batch(500, 1048576)
    with pytest.raises(BatchTooLarge, match=limit) as caught:
        check_batch(events, size)
    assert caught.value.fields["limit"] == limit
