"""What a sweep plans: who has something older than it is kept, and nothing for the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from moodstream.cli.keeping import SweepSettings
from moodstream.cli.sweep.plan import Planner
from moodstream.schemas.instants import to_ms
from moodstream.state.reader import StateReader
from support.lives import Life
from support.stored import Stored, reader, stored

__all__ = ["reader", "stored"]
NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def ago(days: float) -> int:
    return to_ms(NOW - days * DAY)


@pytest.fixture
async def known(stored: Stored, reader: StateReader) -> StateReader:
    """A reader of one agent with memories of 100, 20 and 1 days, one of engagement and one that moved the mood."""
    life = Life(stored, "t", "a")
    life.event("old", ago(100), (0.1, 0.0, 0.0), type="experience.outcome")
    life.event("mid", ago(20), type="engagement")
    life.event("new", ago(1), (0.1, 0.0, 0.0), type="experience.outcome")
    life.write()
    return reader


async def planned(reader: StateReader, settings: SweepSettings, **more: int) -> list[tuple[str | None, float]]:
    """Domain and age in days of what is to expire."""
    events = await Planner(reader, settings, NOW, more.get("retention")).plan("t", "a")
    assert {(one.tenant_id, one.agent_id, one.occurred_at) for one in events} <= {("t", "a", NOW)}
    return [(one.domain, (NOW - one.before) / DAY) for one in events]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"keep_days": 101}, []),
        ({"keep_days": 99}, [(None, 99)]),
        ({"domain_days": {"engagement": 30}}, []),
        ({"domain_days": {"engagement": 10, "reflection": 1}}, [("engagement", 10)]),
        ({"domain_days": {"mood": 50}}, [("mood", 50)]),
        ({"keep_days": 99, "domain_days": {"engagement": 10, "experience": 200}}, [(None, 99), ("engagement", 10)]),
        ({"keep_days": 99, "tenants": {"t": {}}}, []),
        ({"tenants": {"t": {"keep_days": 5}, "s": {"keep_days": 1}}}, [(None, 5)]),
    ],
)
async def test_who_has_something_older(
    known: StateReader, settings: dict[str, object], expected: list[tuple[str | None, float]]
) -> None:
    assert await planned(known, SweepSettings.model_validate(settings)) == expected


async def test_the_oldest_go_where_there_are_too_many(known: StateReader) -> None:
    assert await planned(known, SweepSettings(memories_per_agent=3)) == []
    ((domain, days),) = await planned(known, SweepSettings(memories_per_agent=2))
    assert domain is None
    assert 20 < days < 100
    ((_, days),) = await planned(known, SweepSettings(memories_per_agent=1, keep_days=99))
    assert 1 < days <= 20


async def test_markers_may_go_where_no_input_is_so_old(known: StateReader) -> None:
    for retention, expected in ((None, None), (3_600_000, NOW - timedelta(hours=1))):
        (event,) = await Planner(known, SweepSettings(keep_days=99), NOW, retention).plan("t", "a")
        assert event.markers_before == expected


@pytest.mark.parametrize("bad", [{"keep_days": 0}, {"domain_days": {"dreams": 1}}, {"memories_per_agent": 0}])
def test_rules_that_mean_nothing_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SweepSettings.model_validate(bad)
