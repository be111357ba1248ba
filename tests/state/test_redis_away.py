"""A Redis that goes away, freezes, is full, read-only or busy: writes wait for it, and happen once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from faust.types import TP
from redis import exceptions as redis_errors
from redis.asyncio import Redis

from moodstream.affect.params import Fold
from moodstream.schemas.errors import Fenced
from moodstream.state.connection import call, connect
from moodstream.state.deployment import Home
from moodstream.state.layout import Layout
from moodstream.state.ownership import Phase
from moodstream.state.partition import RedisPartition
from moodstream.state.settings import StateSettings
from moodstream.state.table import STORE_URL, Lives, RedisTableStore, register
from moodstream.streams.app import create_app, state_table
from moodstream.streams.settings import StreamSettings
from support import commands
from support.fakes import FakeChangelog, Faults, Log
from support.partitions import MOOD, A, meta_of, mood, owned, row_of
from support.servers import Server
from support.waiting import eventually


class Away:
    """A server of one test, a partition in it, and what the partition says while it waits."""

    def __init__(self, server: Server, redis: Redis) -> None:
        self.server = server
        self.redis = redis
        self.said: list[str | None] = []
        self.held: str | None = None
        self.partition = RedisPartition(redis, Layout("away.", 0), self.said.append, lambda: self.held)

    @property
    def waits(self) -> bool:
        return bool(self.said) and self.said[-1] is not None

    def apply(self) -> asyncio.Task[None]:
        """A write that is under way."""
        return asyncio.create_task(self.partition.apply(A, b"10", b"15", {MOOD: mood("2")}, {"source": 2}))

    async def done(self, task: asyncio.Task[None]) -> None:
        """The write has ended, and the partition has said that it goes on."""
        await task
        assert self.said[-1] is None
        assert all(reason is None or reason.startswith("Redis: ") for reason in self.said)
        assert await row_of(self.redis, self.partition) == mood("2")
        assert (await meta_of(self.redis, self.partition))["changelog"] == b"15"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Valkey that keeps each write over a restart."""
    found = commands.valkey(tmp_path)
    found.command = [*found.command, "--appendonly", "yes", "--appendfsync", "always"]
    found.start()
    yield found
    found.stop()


@pytest.fixture
async def away(server: Server) -> AsyncIterator[Away]:
    client = connect(StateSettings(url=f"redis://127.0.0.1:{server.port}/0", answer_seconds=0.2, connect_seconds=0.2))
    found = Away(server, client)
    await owned(found.partition)
    yield found
    await client.aclose()


async def test_it_waits_for_a_server_that_is_gone_and_goes_on(away: Away) -> None:
    away.server.kill()
    task = away.apply()
    await eventually(lambda: away.waits, what="waiting")
    assert not task.done()
    away.server.start()
    await away.done(task)


async def test_it_waits_while_it_is_told_to(away: Away) -> None:
    away.held = "it may evict"
    task = away.apply()
    await eventually(lambda: away.waits, what="waiting")
    assert away.said[-1] == "Redis: it may evict"
    assert await row_of(away.redis, away.partition) == mood("1")
    away.held = None
    await away.done(task)


async def test_a_server_that_comes_back_empty_is_refused(away: Away, tmp_path: Path) -> None:
    away.server.kill()
    task = away.apply()
    await eventually(lambda: away.waits, what="waiting")
    away.server.command = [*away.server.command, "--appendonly", "no"]
    away.server.start()
    with pytest.raises(Fenced):
        await task


async def test_a_frozen_server_takes_a_repeated_write_once(away: Away) -> None:
    """The first call lies in its buffer and is carried out when it thaws, with nobody left to answer to."""
    await away.redis.config_resetstat()
    away.server.pause()
    task = away.apply()
    await eventually(lambda: len(away.said) > 1, what="a second attempt")
    away.server.resume()
    await away.done(task)
    stats = await away.redis.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] >= 2


async def test_it_waits_for_memory_and_writes_nothing_in_part(away: Away) -> None:
    before = await meta_of(away.redis, away.partition)
    await away.redis.config_set("maxmemory", "1")
    task = away.apply()
    await eventually(lambda: away.waits, what="waiting")
    assert await meta_of(away.redis, away.partition) == before
    assert await row_of(away.redis, away.partition) == mood("1")
    await away.redis.config_set("maxmemory", "0")
    await away.done(task)


async def test_it_waits_for_a_replica_to_become_a_master(away: Away) -> None:
    await call(away.redis, "REPLICAOF", "127.0.0.1", "1")
    task = away.apply()
    await eventually(lambda: away.waits, what="waiting")
    await call(away.redis, "CONFIG", "SET", "replica-serve-stale-data", "no")
    said = len(away.said)
    await eventually(lambda: len(away.said) > said, what="waiting for the master")
    await call(away.redis, "REPLICAOF", "NO", "ONE")
    await away.done(task)


async def test_it_does_not_wait_for_a_password(away: Away) -> None:
    await away.redis.config_set("requirepass", "secret")
    wrong = connect(StateSettings(url=f"redis://:wrong@127.0.0.1:{away.server.port}/0"))
    try:
        with pytest.raises(redis_errors.AuthenticationError):
            await RedisPartition(wrong, away.partition.layout).load(A, b"10", [])
    finally:
        await wrong.aclose()


async def test_it_waits_for_a_script_of_somebody_else(away: Away) -> None:
    """BUSY: a script that does not end."""
    await away.redis.config_set("busy-reply-threshold", "1")
    endless = asyncio.create_task(_swallow(away.redis.eval("while true do end", 0)))
    task = away.apply()
    await eventually(lambda: away.waits and "BUSY" in str(away.said[-1]), what="waiting for the script")
    await away.redis.script_kill()
    await away.done(task)
    await endless


# -- the table, which is opened after a rebalance


async def test_opening_waits_for_redis_instead_of_leaving_the_group(server: Server, tmp_path: Path) -> None:
    register()
    app = create_app(StreamSettings(), STORE_URL, str(tmp_path))
    store: RedisTableStore = state_table(app, StreamSettings()).data
    settings = StateSettings(url=f"redis://127.0.0.1:{server.port}/0", answer_seconds=0.2, connect_seconds=0.2)
    said: list[str | None] = []

    async def home() -> Home:
        return Home("cluster", "changelog")

    store.bind(settings, FakeChangelog(Log(), Faults()), "w", Fold.of(), Lives("broker", home), said.append)
    await store.on_rebalance({TP(store.table.changelog_topic_name, 2)}, set(), set())
    server.pause()
    opening = asyncio.create_task(store.open())
    await eventually(lambda: len(said) > 1, what="waiting again")
    assert not opening.done()
    server.resume()
    await opening
    assert (said[-1], store.phases()) == (None, {2: Phase.READY})
    await store.on_stop()


async def _swallow(call: Any) -> None:
    with pytest.raises((redis_errors.ResponseError, redis_errors.TimeoutError)):
        await call
