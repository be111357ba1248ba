"""The story of the demo: complete, valid, and one in which moods and trends move."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from moodstream.affect.signals import sign_of
from moodstream.affect.statistics import summary
from moodstream.affect.trends import TrendRow, observe, turn_key, values_of
from moodstream.cli.demo import sparkline
from moodstream.cli.story import BUILD, MINUTES, SUPPORT, TENANT, story
from moodstream.schemas.codec import decode
from moodstream.schemas.events import Engagement, Outcome
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_ms
from moodstream.schemas.profile import DEFAULT_PROFILE
from moodstream.streams.bus import Bus
from moodstream.streams.testing import MemorySender

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def events() -> list[Any]:
    """Every event of the story, through the publisher: so all of them are valid."""
    sender = MemorySender()
    async with Bus(sender=sender) as bus:
        for number, beat in enumerate(story()):
            fire = getattr(bus.agent(TENANT, beat.agent), beat.method)
            await fire(**beat.given, event_id=f"e{number}", occurred_at=BEGIN + timedelta(minutes=beat.minute))
    return [decode(record.key, record.value).event for record in sender.records]


def test_it_is_small_and_in_order() -> None:
    beats = story()
    assert 40 <= len(beats) <= 60
    assert [beat.minute for beat in beats] == sorted(beat.minute for beat in beats)
    assert beats[-1].minute <= MINUTES
    assert {beat.agent for beat in beats} == {SUPPORT, BUILD}


def test_ids_made_of_minutes_are_unique_and_sources_exist() -> None:
    keys = [(beat.agent, str(beat.minute)) for beat in story()]
    assert len(set(keys)) == len(keys)
    for beat in story():
        for minute in beat.given.get("source_memory_ids", ()):
            assert (beat.agent, minute) in keys


def test_every_beat_says_what_happens() -> None:
    assert all(re.search(r"\w", beat.text) for beat in story())


@pytest.mark.parametrize(
    ("agent", "signal", "direction"),
    [
        (SUPPORT, "sentiment_shift", "improving"),
        (SUPPORT, "response_time_ms", "improving"),
        (BUILD, "outcome_success", "improving"),
        (BUILD, "reaction_count", "declining"),
    ],
)
async def test_trends_move(events: list[Any], agent: str, signal: str, direction: str) -> None:
    row = TrendRow.unpack(None)
    for event in events:
        if event.agent_id == agent and isinstance(event, Engagement | Outcome):
            values = values_of(event, DEFAULT_PROFILE.rules)
            key = (
                turn_key(event.other_agent_id, event.turn_id)
                if isinstance(event, Engagement)
                else turn_key("", event.event_id)
            )
            observe(row, key, hash_id(event.event_id), to_ms(event.occurred_at), values)
    end = to_ms(BEGIN + timedelta(minutes=MINUTES))
    assert summary(row, signal, end, sign_of(signal, {})).direction == direction


def test_a_sparkline_shows_low_and_high() -> None:
    assert sparkline([-1, 0, 1, 5]) == "▁▅██"
    assert sparkline([1.0] * 9, width=4) == "████"
