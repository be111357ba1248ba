"""A deployment in a Redis Cluster: partitions over its nodes, a slot on the move, a node gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from struct import pack

import pytest
from redis.asyncio import Redis

from moodstream.affect.params import Fold
from moodstream.schemas.errors import Fenced, InvalidSettings, StoreUnavailable
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.profile import DEFAULT_PROFILE
from moodstream.state import workers
from moodstream.state.connection import call, connect, memory_facts, ping, pipeline
from moodstream.state.deployment import Home, check_deployment, declare_fold
from moodstream.state.layout import Layout, format_key
from moodstream.state.partition import RedisPartition, Wanted
from moodstream.state.reader import StateReader
from moodstream.state.rows import AGENT, MOOD, Kind, pack_row, row_key
from moodstream.state.scanning import hash_pages
from moodstream.state.settings import StateSettings
from support import clusters
from support.clusters import Cluster, slot_of
from support.partitions import PARAMS, A, B, meta_of, mood, owned, row_of
from support.waiting import eventually

PARTITIONS = 8
HOME = Home("cluster", "changelog")
LACKING = clusters.missing()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def settings(running: Cluster, request: pytest.FixtureRequest) -> Iterator[StateSettings]:
    yield StateSettings(url=running.url, prefix=f"{request.node.name[:60]}.", answer_seconds=0.5, connect_seconds=0.5)
    running.emptied()


@pytest.fixture
async def redis(settings: StateSettings) -> AsyncIterator[Redis]:
    client = connect(settings)
    yield client
    await client.aclose()


def agent_rows(number: int) -> tuple[int, dict[bytes, bytes]]:
    """An agent's partition, and two of its rows."""
    key = agent_key("t", f"agent-{number:02}")
    rows = {row_key(key, AGENT): pack_row_agent(number), row_key(key, MOOD): mood(str(number), number)}
    return partition_of(key, PARTITIONS), rows


def pack_row_agent(number: int) -> bytes:
    return pack_row(Kind.AGENT, number, pack(">qQq", 0, 1, number), PARAMS)


async def filled(redis: Redis, settings: StateSettings, agents: int = 40) -> None:
    """A deployment whose partitions lie on all nodes."""
    await check_deployment(redis, settings, PARTITIONS, HOME)
    profile = DEFAULT_PROFILE.canonical()
    await call(redis, "HSET", format_key(settings.prefix), f"profile:{PARAMS.hex()}", profile)
    by_partition: dict[int, dict[bytes, bytes | None]] = {number: {} for number in range(PARTITIONS)}
    for number in range(agents):
        partition, rows = agent_rows(number)
        by_partition[partition].update(rows)
    for number, rows in by_partition.items():
        state = RedisPartition(redis, Layout(settings.prefix, number))
        await state.acquire(A, 5, b"log", "w")
        await state.apply(A, b"", b"10", rows, {"incarnation": b"log", "state": "ready", "source": 100})


async def test_agents_of_all_partitions_are_read(redis: Redis, settings: StateSettings, running: Cluster) -> None:
    await filled(redis, settings)
    used = {running.owner(slot_of(Layout(settings.prefix, number).meta)).port for number in range(PARTITIONS)}
    assert len(used) > 1
    reader = StateReader(settings, redis)
    await reader.ping()
    assert await reader.partitions() == PARTITIONS
    found = await reader.agents("t", limit=25)
    assert [entry.agent for entry in found] == [f"agent-{number:02}" for number in range(25)]
    found = await reader.agents("t", after=found[-1].agent, limit=25)
    assert [entry.agent for entry in found] == [f"agent-{number:02}" for number in range(25, 40)]
    view = await reader.agent("t", "agent-07", [MOOD], buckets=True)
    assert (view.rows[MOOD].body, view.version, view.buckets) == (b"7", 7, ())
    scanned = [one for number in range(PARTITIONS) async for one in reader.scan_partition(number)]
    assert sorted(one.key for one in scanned) == sorted(agent_key("t", f"agent-{number:02}") for number in range(40))
    assert all(len(one.rows) == 2 for one in scanned)


async def test_workers_report_and_every_master_is_asked(
    redis: Redis, settings: StateSettings, running: Cluster
) -> None:
    await workers.report(redis, settings, "w", None, {0: "ready"})
    assert [one.name for one in await workers.read_reports(redis, settings)] == ["w"]
    assert len(await memory_facts(redis)) == len(running.nodes)
    client = running.client(running.nodes[2])
    client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(InvalidSettings, match="allkeys-lru"):
            await check_deployment(redis, settings, PARTITIONS, HOME)
    finally:
        client.config_set("maxmemory-policy", "noeviction")


async def test_a_worker_declares_its_fold(redis: Redis, settings: StateSettings) -> None:
    await check_deployment(redis, settings, PARTITIONS, HOME)
    await declare_fold(redis, settings, Fold.of())
    assert await StateReader(settings, redis).default_profile(Fold.of().stamp) == DEFAULT_PROFILE


async def test_another_token_is_refused_as_anywhere(redis: Redis, settings: StateSettings) -> None:
    partition = RedisPartition(redis, Layout(settings.prefix, 1))
    await owned(partition)
    with pytest.raises(Fenced):
        await partition.load(B, b"10", [])


async def test_reads_at_one_moment_answer_as_a_single_server_does(redis: Redis, settings: StateSettings) -> None:
    one, two = Layout(settings.prefix, 0), Layout(settings.prefix, 1)
    await call(redis, "HSET", one.meta, "a", "1")
    await call(redis, "HSET", two.meta, "b", "2")
    commands = [("HGETALL", two.meta), ("HMGET", one.meta, "x", "a"), ("HGETALL", one.tenants), ("HGET", one.meta, "x")]
    assert await pipeline(redis, commands, atomic=True) == [{b"b": b"2"}, [None, b"1"], {}, None]


# -- a slot on the move


class Moving:
    """A partition whose slot moves while it is used, and what it says while it waits."""

    def __init__(self, running: Cluster, redis: Redis, layout: Layout) -> None:
        self.said: list[str | None] = []
        self.running, self.redis = running, redis
        self.partition = RedisPartition(redis, layout, self.said.append)
        self.slot = slot_of(layout.meta)
        here = running.owner(self.slot)
        self.to = next(node for node in running.nodes if node is not here)
        self.go_on = asyncio.Event()
        self.lots = asyncio.Queue[int]()

    async def move(self, keys: int = 1) -> int:
        """Move the slot, one key at a time, each when it is told to."""
        loop = asyncio.get_running_loop()

        def step(moved: int) -> None:
            asyncio.run_coroutine_threadsafe(self._halt(moved), loop).result(30)

        return await asyncio.to_thread(self.running.move, self.slot, self.to, step, keys)

    async def _halt(self, moved: int) -> None:
        await self.lots.put(moved)
        await self.go_on.wait()

    @property
    def waits(self) -> bool:
        return bool(self.said) and self.said[-1] is not None


async def test_a_write_waits_while_its_keys_lie_on_both_sides(
    redis: Redis, settings: StateSettings, running: Cluster
) -> None:
    layout = Layout(settings.prefix, 3)
    moving = Moving(running, redis, layout)
    await owned(moving.partition)
    move = asyncio.create_task(moving.move())
    assert await moving.lots.get() == 0  # the slot is on its way, all keys are here
    moving.go_on.set()
    assert await moving.lots.get() == 1
    moving.go_on.clear()
    await moving.lots.get()
    write = asyncio.create_task(moving.partition.apply(A, b"10", b"15", {row_key(b"t/new", MOOD): mood("2")}, {}))
    await eventually(lambda: moving.waits, what="waiting")
    assert not write.done()
    moving.go_on.set()
    assert await move >= 2
    await write
    assert moving.said[-1] is None
    assert await row_of(redis, moving.partition, row_key(b"t/new", MOOD)) == mood("2")
    assert (await meta_of(redis, moving.partition))["changelog"] == b"15"
    assert running.owner(moving.slot) is moving.to
    assert await moving.partition.load(A, b"15", [Wanted(layout.agent(b"t/new"), [MOOD])]) == [[mood("2")]]


async def test_writes_and_reads_go_on_over_a_move(redis: Redis, settings: StateSettings, running: Cluster) -> None:
    await filled(redis, settings)
    number, _ = agent_rows(0)
    moving = Moving(running, redis, Layout(settings.prefix, number))
    moving.go_on.set()
    move = asyncio.create_task(moving.move(keys=1))
    at = 10
    while not move.done():
        await moving.partition.apply(
            A, b"%d" % at, b"%d" % (at + 1), {row_key(b"t/w%d" % at, MOOD): mood("x")}, {"source": at}
        )
        at += 1
    assert await move
    meta = await meta_of(redis, moving.partition)
    assert (meta["changelog"], meta["source"]) == (b"%d" % at, b"%d" % (at - 1))
    for place in range(10, at):
        assert await row_of(redis, moving.partition, row_key(b"t/w%d" % place, MOOD)) == mood("x")


async def test_a_large_hash_is_read_whole_though_it_moves_meanwhile(
    redis: Redis, settings: StateSettings, running: Cluster
) -> None:
    """The cursor of one node means something else to the other."""
    layout = Layout(settings.prefix, 2)
    key = layout.memory(b"t/a", 1)
    whole = {b"field-%d" % number: b"x" * 100 for number in range(5_000)}
    for start in range(0, len(whole), 1_000):
        some = list(whole)[start : start + 1_000]
        await call(redis, "HSET", key, *[part for name in some for part in (name, whole[name])])
    moving = Moving(running, redis, layout)
    moving.go_on.set()
    found: dict[bytes, bytes] = {}
    lasts = []
    async for _, fields, last in hash_pages(redis, [key]):
        found.update(fields)
        lasts.append(last)
        if len(lasts) == 2:
            assert await moving.move() == 1
    assert found == whole
    assert lasts.count(True) == 1
    assert lasts[-1]


async def test_a_node_that_is_gone_is_waited_for_and_the_others_go_on(
    settings: StateSettings, running: Cluster
) -> None:
    redis = connect(settings)
    layouts = [Layout(settings.prefix, number) for number in range(PARTITIONS)]
    gone = running.nodes[0]
    lost = next(one for one in layouts if running.owner(slot_of(one.meta)) is gone)
    kept = next(one for one in layouts if running.owner(slot_of(one.meta)) is not gone)
    said: list[str | None] = []
    away, here = RedisPartition(redis, lost, said.append), RedisPartition(redis, kept)
    try:
        await owned(away)
        await owned(here)
        gone.pause()
        write = asyncio.create_task(away.apply(A, b"10", b"15", {}, {"source": 2}))
        await eventually(lambda: bool(said) and said[-1] is not None, what="waiting")
        await here.apply(A, b"10", b"15", {}, {"source": 2})
        with pytest.raises(StoreUnavailable):
            await StateReader(settings, redis).ping()
        gone.resume()
        await write
        await ping(redis)
    finally:
        gone.resume()
        await redis.aclose()


# -- addresses


@pytest.mark.parametrize(
    "url", ["redis+cluster://h:port", "redis+cluster://a:1,b:x", "redis+cluster://h:1/3", "redis+cluster://h:99999999"]
)
def test_a_url_that_names_no_cluster_is_refused(url: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        connect(StateSettings(url=url.replace("://", "://user:secret@")))
    assert "secret" not in raised.value.detail
    assert "secret" not in raised.value.hint


async def test_a_server_that_is_no_cluster_is_told(redis_url: str) -> None:
    reader = StateReader(StateSettings(url=redis_url.replace("redis://", "redis+cluster://")))
    with pytest.raises(StoreUnavailable, match=r"[Cc]luster"):
        await reader.ping()
    await reader.close()
