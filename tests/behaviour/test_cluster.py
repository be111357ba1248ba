"""A worker whose state lies in a Redis Cluster: a slot moves, a node dies, and every event counts once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from moodstream.state.layout import Layout
from support import clusters
from support.clusters import Cluster, slot_of
from support.deployments import Deployment
from support.events import lives
from support.platforms import Platform
from support.running import Running, running, wait_for_line


@pytest.fixture(scope="module")
def cluster(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The three masters; real Kafka only, as the one beside a cluster in production."""
    if not platform.is_real:
        pytest.skip("a cluster is tried with real Kafka")
    lacking = clusters.missing()
    if lacking:
        pytest.skip(lacking)
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
async def run(cluster: Cluster, platform: Platform, tmp_path: Path) -> AsyncIterator[Running]:
    """A deployment whose Redis is the cluster."""
    its = replace(platform, redis_url=cluster.url, redis=None)
    async with running(Deployment.on(its, "cluster"), tmp_path) as one:
        yield one


async def test_a_slot_moves_while_a_worker_folds(run: Running, cluster: Cluster) -> None:
    events = lives(8)
    run.worker()
    await run.fire(events[:200])
    await run.read(200)
    moving = asyncio.create_task(asyncio.to_thread(lambda: [_moved(run, cluster, number) for number in range(2)]))
    for start in range(200, len(events), 40):
        await run.fire(events[start : start + 40])
    assert all(await moving)
    assert await run.read(len(events)) == {"accepted": len(events), "duplicate": 0, "erased": 0, "dead": 0}
    code, found = await run.audit()
    assert (code, found["differences"], found["agents"]) == (0, 0, 8)


def _moved(run: Running, cluster: Cluster, partition: int) -> int:
    """Move a partition to another node, a few keys at a time; give their number."""
    slot = slot_of(Layout(run.deployment.prefix, partition).meta)
    here = cluster.owner(slot)
    to = next(node for node in cluster.nodes if node is not here)
    moved = cluster.move(slot, to, keys=2)
    assert cluster.owner(slot) is to
    return moved


async def test_a_node_that_dies_and_comes_back_is_waited_for(run: Running, cluster: Cluster) -> None:
    events = lives(6)
    worker = run.worker()
    await run.fire(events[:150])
    await run.read(150)
    gone = cluster.owner(slot_of(Layout(run.deployment.prefix, 0).meta))
    gone.kill()
    await run.fire(events[150:])
    wait_for_line(worker, '"waits"')
    gone.start()
    cluster.wait()
    assert await run.read(len(events)) == {"accepted": len(events), "duplicate": 0, "erased": 0, "dead": 0}
    code, found = await run.audit()
    assert (code, found["differences"]) == (0, 0)


async def test_a_cluster_that_comes_back_empty_is_restored(run: Running, cluster: Cluster) -> None:
    events = lives(6)
    run.worker()
    await run.fire(events[:150])
    await run.read(150)
    cluster.emptied()
    await run.fire(events[150:])
    assert (await run.read(len(events)))["accepted"] == len(events)
    assert (await run.audit())[0] == 0
