"""What a Redis must be like before a worker writes to it, and what it says of whose it is."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from moodstream.schemas.errors import InvalidSettings
from moodstream.state import workers
from moodstream.state.connection import call, connect
from moodstream.state.deployment import Home, check_deployment, check_policy
from moodstream.state.layout import FORMAT, format_key
from moodstream.state.neighbours import refuse_neighbours
from moodstream.state.settings import StateSettings
from moodstream.state.workers import read_reports, report
from support.waiting import eventually

HERE = Home("cluster-a", "app-state-changelog")


@pytest.fixture
def settings(redis_url: str) -> StateSettings:
    """A deployment of this test alone."""
    return StateSettings(url=redis_url, prefix=f"t{uuid.uuid4().hex[:8]}.")


@pytest.fixture
async def redis(settings: StateSettings) -> AsyncIterator[Redis]:
    """A client, and nothing left behind."""
    client = connect(settings)
    yield client
    await call(client, "DEL", format_key(settings.prefix), workers.workers_key(settings.prefix))
    await client.aclose()


async def test_the_first_worker_writes_down_what_the_others_must_match(redis: Redis, settings: StateSettings) -> None:
    await check_deployment(redis, settings, 4, HERE)
    await check_deployment(redis, settings, 4, HERE)
    assert await call(redis, "HGETALL", format_key(settings.prefix)) == {
        b"format": b"%d" % FORMAT,
        b"partitions": b"4",
        b"cluster": b"cluster-a",
        b"log": b"app-state-changelog",
    }


@pytest.mark.parametrize(
    ("partitions", "home", "says", "cure"),
    [
        (5, HERE, "holds 4 partitions .* settings say 5", "never changes"),
        (4, HERE._replace(cluster="b"), "Kafka cluster cluster-a; .* b$", "STATE__PREFIX.*HDEL .*cluster$"),
        (4, HERE._replace(log="other"), "changelog app-state-changelog; .* other", "STATE__PREFIX.*HDEL .*log$"),
    ],
)
async def test_another_deployment_is_refused(
    redis: Redis, settings: StateSettings, partitions: int, home: Home, says: str, cure: str
) -> None:
    await check_deployment(redis, settings, 4, HERE)
    for _ in range(2):  # also when it tries again
        with pytest.raises(InvalidSettings, match=says) as raised:
            await check_deployment(redis, settings, partitions, home)
    assert raised.match(settings.prefix)
    assert re.search(cure, raised.value.hint)


async def test_a_format_of_another_version_is_refused(redis: Redis, settings: StateSettings) -> None:
    await call(redis, "HSET", format_key(settings.prefix), "format", FORMAT + 1)
    with pytest.raises(InvalidSettings, match=f"holds format {FORMAT + 1} .* this is {FORMAT}"):
        await check_deployment(redis, settings, 4, HERE)


async def test_a_broker_that_does_not_name_its_cluster_is_not_refused(redis: Redis, settings: StateSettings) -> None:
    await check_deployment(redis, settings, 4, Home("", HERE.log))
    await check_deployment(redis, settings, 4, HERE)
    await check_deployment(redis, settings, 4, Home("", HERE.log))


async def test_the_cure_that_is_named_cures(redis: Redis, settings: StateSettings) -> None:
    await check_deployment(redis, settings, 4, HERE)
    moved = HERE._replace(cluster="cluster-b")
    with pytest.raises(InvalidSettings) as raised:
        await check_deployment(redis, settings, 4, moved)
    command = raised.value.hint.partition("redis-cli ")[2].split()
    await call(redis, *command)
    await check_deployment(redis, settings, 4, moved)


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
async def test_a_redis_that_evicts_is_refused(redis: Redis, settings: StateSettings, policy: str) -> None:
    await redis.config_set("maxmemory-policy", policy)
    try:
        for check in (check_policy(redis, settings), check_deployment(redis, settings, 4, HERE)):
            with pytest.raises(InvalidSettings, match=f"maxmemory-policy {policy}") as raised:
                await check
            assert "noeviction" in raised.value.hint
    finally:
        await redis.config_set("maxmemory-policy", "noeviction")
    assert not await call(redis, "EXISTS", format_key(settings.prefix)), "nothing is written to a Redis that evicts"


# -- neighbours


async def _say(redis: Redis, settings: StateSettings, name: str, broker: str) -> None:
    await report(redis, settings, name, None, {0: "ready"}, broker=broker)


async def test_a_worker_on_another_broker_that_lives_is_a_neighbour(redis: Redis, settings: StateSettings) -> None:
    await _say(redis, settings, "other", "there:1")
    asked = asyncio.create_task(refuse_neighbours(redis, settings, "here:1"))

    async def refused() -> bool:
        await _say(redis, settings, "other", "there:1")
        return asked.done()

    await eventually(refused, what="the refusal")
    with pytest.raises(InvalidSettings, match="the worker other on the broker there:1") as raised:
        await asked
    assert "STATE__PREFIX" in raised.value.hint


async def test_a_report_that_is_not_renewed_is_waited_out(
    redis: Redis, settings: StateSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "STALE_SECONDS", 0.5)
    await _say(redis, settings, "other", "there:1")
    assert [one.fresh for one in await read_reports(redis, settings)] == [True]
    await refuse_neighbours(redis, settings, "here:1")
    assert [one.fresh for one in await read_reports(redis, settings)] == [False]


async def test_workers_of_the_same_broker_are_no_neighbours(redis: Redis, settings: StateSettings) -> None:
    """Nor are those of a version that did not say where it lives."""
    await _say(redis, settings, "one", "here:1")
    await _say(redis, settings, "old", "")
    await refuse_neighbours(redis, settings, "here:1")
