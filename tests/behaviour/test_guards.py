"""Where a worker must not work: on the keys of somebody else, or on a Redis that may forget."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from moodstream.state.workers import read_reports
from moodstream.streams import topics
from support import commands
from support.events import life
from support.platforms import Platform
from support.running import Running, WorkerProcess, wait_for_line
from support.servers import Server
from support.waiting import eventually


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Server]:
    """A second broker: an embedded one."""
    server = commands.tansu(tmp_path)
    server.start()
    yield server
    server.stop()


async def test_a_worker_of_another_broker_is_refused_while_the_first_one_lives(
    run: Running, elsewhere: Server, tmp_path: Path
) -> None:
    """Real Kafka is told by the id of its cluster, embedded brokers by the life of the other worker."""
    run.worker()
    events = life("agent-0", 20)[:20]
    await run.fire(events[:10])
    await run.read(10)
    before = await run.meta(0)
    there = Platform("elsewhere", f"127.0.0.1:{elsewhere.port}", run.deployment.platform.redis_url)
    other = dataclasses.replace(run.deployment, platform=there)
    await topics.create(other.streams)
    second = WorkerProcess(other, tmp_path / "second.log")
    second.start()
    try:
        assert second.wait(60) == 2
    finally:
        second.end()
    assert second.said("MOODSTREAM_STATE__PREFIX")
    after = await run.meta(0)
    assert (after["epoch"], after["incarnation"]) == (before["epoch"], before["incarnation"])
    await run.fire(events[10:])
    assert (await run.read(20))["accepted"] == 20
    assert (await run.audit())[0] == 0


async def test_a_redis_that_may_evict_holds_the_worker_until_it_may_not(run: Running) -> None:
    if run.deployment.platform.redis is None:
        pytest.skip("this Redis is not ours to change")
    worker = run.worker()
    events = life("agent-0", 20)[:20]
    await run.fire(events[:10])
    await run.read(10)
    await run.redis.config_set("maxmemory-policy", "allkeys-lru")
    try:
        await eventually(lambda: _waits(run), what="the report of the policy")
        wait_for_line(worker, "maxmemory-policy allkeys-lru")
        await run.fire(events[10:])
        wait_for_line(worker, "Redis: Redis at")
        assert sum((await run.counts()).values()) == 10
    finally:
        await run.redis.config_set("maxmemory-policy", "noeviction")
    assert (await run.read(20))["accepted"] == 20
    await eventually(lambda: _goes_on(run), what="a report without a wait")


async def _waits(run: Running) -> bool:
    reports = await read_reports(run.redis, run.deployment.state)
    return any("noeviction" in (one.waiting or "") for one in reports)


async def _goes_on(run: Running) -> bool:
    return not any(one.waiting for one in await read_reports(run.redis, run.deployment.state))
