"""Erasure and expiry through their commands: what goes, what stays, and what does not come back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from moodstream.schemas.errors import NotFound
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.state.layout import Layout
from moodstream.state.reader import StateReader
from support.events import T0_MS, engagement, life, outcome, profile
from support.running import Running

T = "t"


async def started(run: Running, *lives: Sequence[InputEvent]) -> int:
    """Fold these events; gives how many records there are."""
    events = [event for life in lives for event in life]
    await run.fire(events)
    run.worker()
    await run.read(len(events))
    return len(events)


async def erased(run: Running, agent: str, *flags: str, code: int = 0) -> dict[str, Any]:
    found, lines = await run.command("erase", agent, "--tenant", T, "--yes", *flags)
    assert found == code, lines
    return lines[-1]


async def keys_of(run: Running, agent: str) -> list[bytes]:
    """All keys in Redis that name an agent of the tenant."""
    match = b"{%sstate:*}:*:%s*" % (run.deployment.prefix.encode(), agent_key(T, agent))
    return [key async for key in run.redis.scan_iter(match=match, count=10_000)]


async def every_row(run: Running, agent: str | None = None) -> dict[bytes, bytes]:
    """All rows in Redis, or those of one agent; no notices."""
    rows: dict[bytes, bytes] = {}
    reader = StateReader(run.deployment.state)
    try:
        for number in range(run.deployment.streams.partitions):
            rows |= await reader.markers(number) if agent is None else {}
            async for found in reader.scan_partition(number):
                if agent is None or found.key == agent_key(T, agent):
                    rows |= {key: row for key, row in found.rows.items() if not key.endswith(b"notice")}
    finally:
        await reader.close()
    return rows


async def is_equal(run: Running) -> None:
    code, (report,) = await run.command("audit")
    assert (code, report["differences"]) == (0, 0), report


async def test_an_agent_goes_and_does_not_come_back(run: Running) -> None:
    count = await started(run, life("a", 8), life("neighbour", 8))
    key = agent_key(T, "a")
    layout = Layout(run.deployment.prefix, partition_of(key, run.deployment.streams.partitions))
    before = await every_row(run, "neighbour")
    result = await erased(run, "a")
    assert result["applied"]
    assert result["removed"]["memories"] == 16
    assert result["removed"]["rows"] == 5 - 1  # no trend was ever announced
    assert await keys_of(run, "a") == []
    assert await run.redis.zscore(layout.agents(b"t"), b"a") is None
    assert await run.redis.hlen(layout.erased) == 1  # type: ignore[misc]
    await run.fire([*life("a", 8), outcome(T, "a", "late", T0_MS)])
    counts = await run.read(count + 1 + 17)
    assert counts["erased"] == 18
    assert await keys_of(run, "a") == []
    assert await every_row(run, "neighbour") == before
    await is_equal(run)


async def test_a_new_life_begins_after_an_erasure(run: Running) -> None:
    count = await started(run, life("a", 3))
    await erased(run, "a")
    now = int(datetime.now(UTC).timestamp() * 1000) + 2_000
    await run.fire([outcome(T, "a", "o0", now)])
    await run.read(count + 2)
    reader = StateReader(run.deployment.state)
    try:
        view = await reader.agent(T, "a")
        assert (view.facts.accepted, await reader.tenants()) == (1, [T])
    finally:
        await reader.close()
    await is_equal(run)


async def test_parts_of_an_agent_go(run: Running) -> None:
    count = await started(run, life("a", 8))
    memory = await erased(run, "a", "--memory", "mood:o1")
    assert memory["removed"] == {"memories": 1, "shifts": 0, "pairs": 0, "rows": 0}
    other = await erased(run, "a", "--other", "u1")
    assert other["removed"] == {"memories": 4, "shifts": 0, "pairs": 1, "rows": 0}
    domain = await erased(run, "a", "--domain", "experience")
    assert domain["removed"]["memories"] == 7
    await erased(run, "a", "--memory", "never seen")
    await run.fire(life("a", 8))
    counts = await run.read(count + 4 + 17)
    assert (counts["duplicate"], counts["erased"]) == (1 + 4, 8 + 4)
    await is_equal(run)


async def test_everywhere_means_all_tenants(run: Running) -> None:
    lives = [life("a", 2), life("a", 2, tenant="second")]
    named = [engagement("third", "b", "e", T0_MS, other="a", responded=True), outcome("third", "c", "o", T0_MS)]
    await started(run, *lives, named)
    code, (looked,) = await run.command("erase", "a", "--everywhere", "--dry-run")
    assert (code, looked["published"]) == (0, False)
    expected = [("second", "a", "agent"), ("t", "a", "agent"), ("third", "b", "other_agent")]
    assert sorted((one["tenant_id"], one["agent_id"], one["scope"]) for one in looked["targets"]) == expected
    code, (done,) = await run.command("erase", "a", "--everywhere", "--yes")
    assert (code, done["applied"], done["removed"]["pairs"]) == (0, True, 5)
    assert await keys_of(run, "a") == []
    await is_equal(run)


async def test_what_is_old_expires(run: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    now = int(datetime.now(UTC).timestamp() * 1000)
    hour = int(timedelta(hours=1).total_seconds() * 1000)
    recent = [outcome(T, "a", f"new{i}", now - i * hour) for i in range(3)]
    count = await started(run, life("a", 5), [profile(T, "young", "p", now), outcome(T, "young", "o", now)], recent)
    monkeypatch.setenv("MOODSTREAM_SWEEP__KEEP_DAYS", "2")
    code, (swept,) = await run.command("sweep", "--once")
    assert (code, swept) == (0, {"agents": 2, "expiries": 1, "published": True})
    await run.read(count + 1)
    reader = StateReader(run.deployment.state)
    try:
        view = await reader.agent(T, "a", buckets=True)
        left = [row.content.event_id async for bucket in reader.memories(view) for row in bucket.memories]
    finally:
        await reader.close()
    assert sorted(left) == ["new0", "new1", "new2"]
    _, (again,) = await run.command("sweep", "--once")
    assert again["expiries"] == 0
    await run.fire(life("a", 5))
    counts = await run.read(count + 1 + 11)
    assert (counts["erased"], counts["duplicate"]) == (10, 1)  # the profile is known
    await is_equal(run)


async def test_what_was_erased_does_not_come_back_from_the_changelog(run: Running) -> None:
    count = await started(run, life("a", 5), life("b", 5))
    await erased(run, "a")
    await erased(run, "b", "--domain", "mood")
    before = await every_row(run)
    run.workers[0].kill()
    async for key in run.redis.scan_iter(match=b"{%sstate:*" % run.deployment.prefix.encode(), count=10_000):
        await run.redis.unlink(key)
    run.worker()
    await run.read(count + 2)
    assert await every_row(run) == before
    await is_equal(run)


async def test_an_unknown_agent_is_erased_before_it_comes(run: Running) -> None:
    count = await started(run, life("b", 1))
    result = await erased(run, "nobody")
    assert (result["targets"][0]["known"], result["applied"]) == (False, True)
    await run.fire([outcome(T, "nobody", "o", T0_MS)])
    counts = await run.read(count + 2)
    assert counts["erased"] == 1
    reader = StateReader(run.deployment.state)
    try:
        await reader.agent(T, "nobody")
    except NotFound:
        return
    finally:
        await reader.close()
    raise AssertionError("it must not be there")


async def test_nobody_erases_by_mistake(run: Running) -> None:
    await started(run, life("a", 1))
    code, (problem,) = await run.command("erase", "a", "--tenant", T)
    assert (code, problem["code"]) == (2, "invalid_usage")  # nobody can be asked with --json
    for flags in (["--everywhere"], ["--domain", "mood", "--memory", "m"]):
        code, (problem,) = await run.command("erase", "a", "--tenant", T, "--yes", *flags)
        assert (code, problem["code"]) == (2, "invalid_usage")
    code, (problem,) = await run.command("erase", "a")
    assert (code, problem["code"]) == (2, "invalid_usage")
