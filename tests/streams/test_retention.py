"""How long copies of what was erased may last in each topic."""

from __future__ import annotations

import pytest

from moodstream.streams import retention
from moodstream.streams.retention import last_copies
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import specs

DAY = 24 * 3_600_000
CHECKS = 15 * 60_000


async def copies(monkeypatch: pytest.MonkeyPatch, **found: dict[str, str]) -> dict[str, int | None]:
    """Bounds by topic (without prefix and version), where the broker says this."""
    settings = StreamSettings()
    named = {f"moodstream.{name}.v1": config for name, config in found.items()}

    async def configurations(asked: StreamSettings) -> dict[str, dict[str, str]]:
        return {spec.name: named.get(spec.name, {}) for spec in specs(asked)}

    monkeypatch.setattr(retention, "configurations", configurations)
    prefix, suffix = "moodstream.", ".v1"
    return {one.topic.removeprefix(prefix).removesuffix(suffix): one.after_ms for one in await last_copies(settings)}


async def test_by_the_settings_where_the_broker_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await copies(monkeypatch)
    changelog = found.pop(next(name for name in found if "changelog" in name))
    assert changelog == 7 * DAY + CHECKS
    assert found == {
        "events": None,
        "mood": 14 * DAY + CHECKS,
        "trends": 14 * DAY + CHECKS,
        "profiles": 7 * DAY + CHECKS,
        "dead": 37 * DAY + CHECKS,
    }


async def test_the_brokers_word_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    hour = 3_600_000
    found = await copies(
        monkeypatch,
        events={"retention.ms": str(30 * DAY), "segment.ms": str(hour)},
        mood={"retention.ms": "-1"},
        profiles={"max.compaction.lag.ms": str(2**63 - 1)},
    )
    assert (found["events"], found["mood"], found["profiles"]) == (30 * DAY + hour + CHECKS, None, None)
