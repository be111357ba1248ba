"""What may happen while a worker brings Redis back from the changelog: the end is always the rows of the log."""

from __future__ import annotations

import json
import signal
from contextlib import suppress
from functools import partial

import pytest

from bench.filling import Filled, fill, fold
from bench.workload import Workload
from moodstream.state.layout import Layout
from moodstream.state.ownership import Ownership
from moodstream.state.partition import RedisPartition
from moodstream.streams.changelog import KafkaChangelog, read_changelog
from moodstream.streams.sending import open_producer
from support.compaction import compacted
from support.events import T0_MS, outcome
from support.running import Running, WorkerProcess
from support.servers import Server
from support.waiting import eventually

MANY = 10_000
"""Agents whose restore takes a second or more."""
EVEN_MORE = 90_000
"""Agents whose restore takes longer than it takes a second worker to join."""
_ATTEMPTS = 8


async def filled(run: Running, agents: int, erased: int = 0) -> Filled:
    """A changelog of so many agents."""
    template = await fold(Workload(300, 60))
    producer = await open_producer(run.deployment.streams)
    try:
        changelog = KafkaChangelog(run.deployment.streams, producer)
        return await fill(changelog, template, agents, run.deployment.streams.partitions, erased=erased)
    finally:
        await producer.stop()


async def ready(run: Running) -> bool:
    """Whether every partition is."""
    metas = [await run.meta(number) for number in range(run.deployment.streams.partitions)]
    return all(meta.get("state") == "ready" for meta in metas)


async def in_the_middle(run: Running) -> bool:
    """Whether some partition has got some rows back, and not all."""
    metas = [await run.meta(number) for number in range(run.deployment.streams.partitions)]
    return any(meta.get("state") == "restoring" and meta.get("changelog", "0") != "0" for meta in metas)


async def all_back(run: Running) -> None:
    """Redis has the rows of the log, nothing else, and the next event is folded."""
    await eventually(lambda: ready(run), seconds=90, what="all partitions restored")
    for number in range(run.deployment.streams.partitions):
        wanted = await read_changelog(run.deployment.streams, number)
        found: dict[bytes, bytes] = {}
        async for rows in RedisPartition(run.redis, Layout(run.deployment.prefix, number)).scan():
            found.update(rows)
        assert len(wanted) > 50
        assert found == wanted
    await run.fire([outcome("t", "agent", "afterwards", T0_MS)])
    assert (await run.read(1))["accepted"] == 1


def phases(worker: WorkerProcess) -> dict[int, list[str]]:
    """What a worker has said of each partition."""
    found: dict[int, list[str]] = {}
    for line in worker.log.read_text().splitlines():
        if '"event": "partition"' in line:
            said = json.loads(line)
            found.setdefault(said["partition"], []).append(said["phase"])
    return found


async def test_redis_lost_again_while_it_is_restored(run: Running) -> None:
    await filled(run, MANY)
    worker = run.worker()
    await eventually(lambda: in_the_middle(run), seconds=60, what="rows that come back")
    await run.redis.flushall()
    assert not worker.said('"starts again"')
    await all_back(run)
    assert worker.said('"starts again"')
    assert all(said[-3:] == ["claiming", "restoring", "ready"] for said in phases(worker).values())


async def test_a_rebalance_while_workers_restore(run: Running) -> None:
    """One of two is told to end while Redis is frozen in the middle: the other one takes all partitions."""
    redis = run.deployment.platform.redis
    if redis is None:
        pytest.skip("this Redis is not ours to freeze")
    await filled(run, EVEN_MORE)
    stays, leaves = await two_frozen_in_the_middle(run, redis)
    try:
        leaves.signal(signal.SIGTERM)
        assert leaves.wait(20) == 0
        await eventually(lambda: "restoring" not in latest(stays), seconds=30, what="the rebalance")
    finally:
        redis.resume()
    await all_back(run)
    assert all(said[-3:] == ["claiming", "restoring", "ready"] for said in phases(stays).values())
    assert not stays.said('"starts again"'), "it waits for Redis"


async def two_frozen_in_the_middle(run: Running, redis: Server) -> tuple[WorkerProcess, WorkerProcess]:
    """Two workers that restore while Redis is frozen. Begins again where they were faster than the test."""
    for _ in range(_ATTEMPTS):
        pair = run.worker(), run.worker()
        with suppress(TimeoutError):
            await eventually(partial(both_restore, run, pair[1]), seconds=20, what="two workers that restore")
            redis.pause()
            if all("restoring" in latest(one) for one in pair):
                return pair
            redis.resume()
        for one in pair:
            one.end()
        await run.redis.flushall()
    raise AssertionError("they were faster than the test each time")


async def both_restore(run: Running, second: WorkerProcess) -> bool:
    """Whether the second worker has got some rows back too."""
    metas = [await run.meta(number) for number in range(run.deployment.streams.partitions)]
    there = [meta for meta in metas if meta.get("state") == "restoring" and meta.get("changelog", "0") != "0"]
    return len({meta["worker"] for meta in there}) == 2 and second.log.exists()


def latest(worker: WorkerProcess) -> set[str]:
    """Where the partitions of a worker stand."""
    return {said[-1] for said in phases(worker).values()}


async def test_a_compacted_log_gives_back_all_rows(run: Running) -> None:
    """With tombstones, and with offsets that are no more."""
    if not run.deployment.platform.is_real:
        pytest.skip("the embedded broker does not compact")
    done = await filled(run, 400, erased=20)
    before = [await read_changelog(run.deployment.streams, number) for number in range(4)]
    await _compacted(run, done)
    tombstones = [await _tombstones(run, number) for number in range(4)]
    assert all(tombstones), "they are part of it"
    assert [await read_changelog(run.deployment.streams, number) for number in range(4)] == before
    run.worker()
    await all_back(run)


async def test_a_restore_of_one_partition_moves_on_by_position(run: Running) -> None:
    """An owner that dies in the middle is followed by one that reads on from there."""
    await filled(run, 400)
    producer = await open_producer(run.deployment.streams)
    try:
        changelog = KafkaChangelog(run.deployment.streams, producer)
        layout = Layout(run.deployment.prefix, 0)
        first = Ownership(0, layout, changelog, RedisPartition(run.redis, layout), "first")
        await first.acquire()
        second = Ownership(0, layout, changelog, RedisPartition(run.redis, layout), "second")
        await second.acquire()
        assert first.progress is not None
        assert second.progress is not None
        assert second.progress.facts()["rows"] == 1, "its own claim is all there is to read"
        assert first.progress.facts()["rows"] > 1_000
    finally:
        await producer.stop()


async def _compacted(run: Running, done: Filled) -> None:
    producer = await open_producer(run.deployment.streams)
    try:
        await compacted(KafkaChangelog(run.deployment.streams, producer), run.deployment.streams, done.marks)
    finally:
        await producer.stop()


async def _tombstones(run: Running, partition: int) -> int:
    changelog = KafkaChangelog(run.deployment.streams)
    return sum([one.value is None async for some in changelog.read(partition, 0, 10**9) for one in some])
