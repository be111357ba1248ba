"""SIGTERM ends a worker, and a rebalance ends, in bounded time whatever is gone; nothing is skipped by it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from redis.exceptions import RedisError

from moodstream.schemas.errors import BrokerUnavailable, TopicMissing
from moodstream.schemas.events import InputEvent
from moodstream.state.workers import read_reports
from moodstream.streams.bus import Bus
from support.events import lives
from support.platforms import Platform
from support.running import Running, WorkerProcess, wait_for_line
from support.servers import Server
from support.waiting import eventually

SECONDS = 15
"""How long a worker may take to end, as it is promised."""
REBALANCE_SECONDS = 40


@contextlib.contextmanager
def frozen(server: Server) -> Iterator[None]:
    """It keeps its connections and says nothing."""
    server.pause()
    try:
        yield
    finally:
        server.resume()


@contextlib.contextmanager
def killed(server: Server) -> Iterator[None]:
    """It is gone, and comes back with what it had on its disk."""
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextlib.contextmanager
def both_frozen(platform: Platform) -> Iterator[None]:
    with frozen(_own(platform.redis)), frozen(_own(platform.broker)):
        yield


@contextlib.contextmanager
def full(platform: Platform) -> Iterator[None]:
    """Redis has no memory left."""
    from redis import Redis

    with Redis.from_url(platform.redis_url) as client:
        client.config_set("maxmemory", "1")
        try:
            yield
        finally:
            client.config_set("maxmemory", "0")


Hurt = Callable[[Platform], AbstractContextManager[None]]

HURTS: dict[str, Hurt] = {
    "redis frozen": lambda platform: frozen(_own(platform.redis)),
    "redis killed": lambda platform: killed(_own(platform.redis)),
    "redis full": full,
    "broker frozen": lambda platform: frozen(_own(platform.broker)),
    "broker killed": lambda platform: killed(_own(platform.broker)),
    "both frozen": both_frozen,
}
FROZEN = ("redis frozen", "broker frozen")


def _own(server: Server | None) -> Server:
    if server is None:
        pytest.skip("this server is not ours to hurt")
    return server


@pytest.fixture(autouse=True)
def short_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that could not say goodbye is missed soon."""
    monkeypatch.setitem(os.environ, "MOODSTREAM_STREAMS__SESSION_SECONDS", "6")


@pytest.mark.parametrize("what", HURTS)
async def test_sigterm_ends_a_worker_whatever_is_gone(run: Running, what: str) -> None:
    platform, events = run.deployment.platform, lives(3)
    if not platform.is_real and what not in FROZEN:
        pytest.skip("the same as on real Kafka and Redis")
    hurt = HURTS[what](platform)
    worker = run.worker()
    await run.fire(events[:100])
    await run.read(100)
    await run.fire(events[100:150])
    with hurt:
        if platform.broker is None or not what.startswith(("broker", "both")):
            await run.fire(events[150:200])
            wait_for_line(worker, '"waits"')
        elif what.startswith("broker"):
            await _waits(run)
        end(worker)
    await run.redis.connection_pool.disconnect()  # a killed one has closed them
    await all_right(run, events, 200 if what.startswith("redis") else 150)


@pytest.mark.parametrize("what", FROZEN)
async def test_sigterm_ends_a_worker_that_restores(run: Running, what: str) -> None:
    platform, events = run.deployment.platform, lives(3)
    if not platform.is_real:
        pytest.skip("the same as on real Kafka and Redis")
    first = run.worker()
    await run.fire(events[:100])
    await run.read(100)
    first.kill()
    await run.redis.flushall()
    worker = run.worker()
    wait_for_line(worker, '"claiming"')
    with HURTS[what](platform):
        end(worker)
    await all_right(run, events, 100)


def end(worker: WorkerProcess) -> None:
    """Ask a worker to end, which it does in time and for good."""
    worker.signal(signal.SIGTERM)
    assert worker.wait(SECONDS) == 0
    assert not worker.said('"starts again"')


async def _waits(run: Running) -> None:
    """Wait until the worker says that it waits for the broker."""

    async def said() -> bool:
        reports = await read_reports(run.redis, run.deployment.state)
        return any(one.waiting and "broker" in one.waiting for one in reports)

    await eventually(said, what="a worker that waits for the broker")


async def all_right(run: Running, events: Sequence[InputEvent], published: int) -> None:
    """The next worker goes on with all that was published and the rest: every event counts once."""
    await eventually(lambda: _answers(run), seconds=60, what="a broker and a Redis that have come to themselves")
    run.worker()
    async with Bus(run.deployment.streams) as bus:  # the other one may have lost its broker
        await bus.fire_all(events[published:])
    assert await run.read(len(events)) == {"accepted": len(events), "duplicate": 0, "erased": 0, "dead": 0}
    code, found = await run.audit()
    assert (code, found["differences"]) == (0, 0)


async def _answers(run: Running) -> bool:
    """Whether both can be used: a Kafka that was frozen signs up with itself again, a Redis reads its file first."""
    with contextlib.suppress(BrokerUnavailable, TopicMissing, RedisError):
        await run.redis.ping()
        async with Bus(run.deployment.streams):
            return True
    return False


async def test_a_rebalance_ends_while_redis_is_frozen_and_nobody_leaves(run: Running) -> None:
    redis, events = _own(run.deployment.platform.redis), lives(12)  # some in each partition
    workers = [run.worker(), run.worker()]
    await run.fire(events[:150])
    await run.read(150)
    await _stable(run, 2)
    with frozen(redis):
        await run.fire(events[150:250])
        for worker in workers:
            wait_for_line(worker, '"waits"')
        end(workers[1])  # its partitions go to the other one
        await _stable(run, 1)
    await run.fire(events[250:])
    assert await run.read(len(events)) == {"accepted": len(events), "duplicate": 0, "erased": 0, "dead": 0}
    assert not workers[0].said('"starts again"')
    code, found = await run.audit()
    assert (code, found["differences"]) == (0, 0)


async def _stable(run: Running, members: int) -> None:
    """Wait until the group has so many members and no rebalance under way."""
    async with _admin(run) as admin:

        async def stable() -> bool:
            (answer,) = await admin.describe_consumer_groups([run.deployment.label])
            ((_, _, state, _, _, found, *_),) = answer.groups
            return state == "Stable" and len(found) == members

        await eventually(stable, seconds=REBALANCE_SECONDS, what=f"a stable group of {members}")


@contextlib.asynccontextmanager
async def _admin(run: Running) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=run.deployment.platform.bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()
