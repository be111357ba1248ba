"""Deleted rows on a real server: what was derived from them goes too, hashes as a whole, and nothing of a neighbour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from redis.asyncio import Redis

from moodstream.schemas.changelog import Position
from moodstream.schemas.errors import Fenced, StateLost
from moodstream.schemas.identity import agent_key, hash_id
from moodstream.state import ownership, rows
from moodstream.state.marker_row import Markers, Place, ScopeKind
from moodstream.state.ownership import Ownership
from moodstream.state.partition import RedisPartition
from moodstream.state.rows import Kind, erased_key, pack_erased, pack_row, row_key
from support.fakes import FakeChangelog, Log
from support.stored import memory_row

A, B, OTHER = agent_key("t", "a"), agent_key("t", "b"), agent_key("s", "a")
PARAMS = bytes(8)
Rows = dict[bytes, bytes | None]


def life(key: bytes, buckets: int = 2, memories: int = 3) -> dict[bytes, bytes]:
    """All kinds of rows of an agent."""
    found = {rows.AGENT: Kind.AGENT, rows.MOOD: Kind.MOOD}
    found[rows.pair_suffix("o")] = Kind.PAIR
    for number in range(buckets * memories):
        found[rows.memory_suffix(number // memories, hash_id(f"e{number}"))] = Kind.MEMORY
    found[rows.shift_suffix(0, hash_id("e0"))] = Kind.SHIFT
    return {row_key(key, suffix): pack_row(kind, 1, _body(kind), PARAMS) for suffix, kind in found.items()}


def _body(kind: Kind) -> bytes:
    if kind is Kind.AGENT:
        return (0).to_bytes(8) + (1).to_bytes(8) + (0).to_bytes(8)
    return memory_row("e", 0).encode() if kind is Kind.MEMORY else b"text"


def marker(offset: int = 7) -> bytes:
    markers = Markers()
    markers.add(Place.of(ScopeKind.AGENT), offset, 1)
    return pack_erased(offset, markers.pack())


async def ready(partition: RedisPartition, log: Log | None = None) -> Ownership:
    owner = Ownership(2, partition.layout, FakeChangelog(log or Log()), partition, "w")
    await owner.acquire()
    return owner


async def write(owner: Ownership, changed: Mapping[bytes, bytes | None], source: int = 1) -> None:
    await owner.append(changed, Position(source=source))
    await owner.flush(changed, Position(source=source))


async def everything(redis: Redis, partition: RedisPartition) -> dict[bytes, Any]:
    """All keys of the partition but its meta, with what they hold."""
    found: dict[bytes, Any] = {}
    async for key in redis.scan_iter(match=partition.layout.tag + b"*", count=10_000):
        if key != partition.layout.meta:
            is_set = await redis.type(key) == b"zset"
            found[key] = await (redis.zrange(key, 0, -1) if is_set else redis.hgetall(key))  # type: ignore[misc]
    return found


async def test_of_an_erased_agent_nothing_is_left_but_the_marker(redis: Redis, partition: RedisPartition) -> None:
    owner = await ready(partition)
    await write(owner, life(B))
    before = await everything(redis, partition)
    mine = life(A)
    await write(owner, mine)
    await write(owner, {**dict.fromkeys(mine), erased_key(A): marker()})
    after = await everything(redis, partition)
    assert after.pop(partition.layout.erased) == {erased_key(A)[8:]: marker()}
    assert after == before


async def test_the_last_agent_of_a_tenant_takes_the_tenant_along(redis: Redis, partition: RedisPartition) -> None:
    owner = await ready(partition)
    await write(owner, {**life(A), **life(B), **life(OTHER)})
    await write(owner, dict.fromkeys(life(A)))
    assert await redis.hkeys(partition.layout.tenants) == [b"t", b"s"]  # type: ignore[misc]
    await write(owner, dict.fromkeys(life(B)))
    assert await redis.hkeys(partition.layout.tenants) == [b"s"]  # type: ignore[misc]
    await write(owner, dict.fromkeys(life(OTHER)))
    assert await everything(redis, partition) == {}


async def test_a_bucket_goes_with_its_last_row_and_an_id_with_its_memory(
    redis: Redis, partition: RedisPartition
) -> None:
    owner, layout = await ready(partition), partition.layout
    mine = life(A)
    await write(owner, mine)
    gone = [key for key in mine if b"\0memory/" + bytes(4) in key]
    await write(owner, dict.fromkeys(gone[:2]))
    assert await redis.hlen(layout.ids(A)) == 4  # type: ignore[misc]
    await write(owner, dict.fromkeys(gone))
    assert sorted(await redis.hkeys(layout.buckets(A))) == [b"0", b"1"]  # type: ignore[misc]
    await write(owner, {row_key(A, rows.shift_suffix(0, hash_id("e0"))): None})
    assert await redis.hkeys(layout.buckets(A)) == [b"1"]  # type: ignore[misc]
    assert await redis.zrange(layout.agents(b"t"), 0, -1) == [b"a"]


async def test_a_memory_that_moves_to_another_bucket_keeps_its_id(redis: Redis, partition: RedisPartition) -> None:
    """Erased and accepted again within a chunk, with another time."""
    owner, layout = await ready(partition), partition.layout
    mine = life(A)
    await write(owner, mine)
    old = row_key(A, rows.memory_suffix(0, hash_id("e1")))
    new = row_key(A, rows.memory_suffix(9, hash_id("e1")))
    for changed in ({new: mine[old], old: None}, {new: None, old: mine[old]}):
        await write(owner, changed)
        kept = next(key for key, row in changed.items() if row)
        bucket, ident = rows.bucket_and_id(kept)
        assert await redis.hget(layout.ids(A), ident) == b"%d" % bucket  # type: ignore[misc]


async def test_a_new_life_in_the_same_call_is_whole(redis: Redis, partition: RedisPartition) -> None:
    owner, layout = await ready(partition), partition.layout
    mine = life(A)
    await write(owner, mine)
    kept = {key: row for key, row in life(A, buckets=1, memories=1).items() if b"pair" not in key}
    await write(owner, {**dict.fromkeys(mine), **kept})
    assert {key: row async for some in partition.scan() for key, row in some.items()} == kept
    assert await redis.hkeys(layout.buckets(A)) == [b"0"]  # type: ignore[misc]


async def test_a_stub_is_found_by_the_id_and_no_memory(partition: RedisPartition) -> None:
    owner = await ready(partition)
    mine: Rows = dict(life(A))
    place = row_key(A, rows.memory_suffix(0, hash_id("e1")))
    mine[place] = pack_erased(1, rows.Stub(5, 6).encode())
    await write(owner, mine)
    assert {key: row async for some in partition.scan() for key, row in some.items()} == mine


async def test_scans_give_the_markers_too(partition: RedisPartition) -> None:
    owner = await ready(partition)
    await write(owner, {**life(A), erased_key(A): marker(), erased_key(B): marker()})
    found = {key: row async for some in partition.scan() for key, row in some.items()}
    assert found == {**life(A), erased_key(A): marker(), erased_key(B): marker()}


@pytest.mark.parametrize("slice_rows", [1, 3, 5_000])
async def test_a_restore_ends_with_the_same_keys(
    redis: Redis, partition: RedisPartition, monkeypatch: pytest.MonkeyPatch, slice_rows: int
) -> None:
    monkeypatch.setattr(ownership, "SLICE_ROWS", slice_rows)
    log = Log()
    owner = await ready(partition, log)
    await write(owner, {**life(A), **life(B)})
    await write(owner, {**dict.fromkeys(life(A)), erased_key(A): marker()})
    await write(owner, life(A, buckets=1))
    await write(owner, {**dict.fromkeys(life(B)), erased_key(B): marker(9)})
    before = await everything(redis, partition)
    for compacted in (False, True):
        if compacted:
            log.compact(log.end, log.end)
        await redis.unlink(partition.layout.meta, *await everything(redis, partition))
        await ready(partition, log)
        assert await everything(redis, partition) == before


async def test_an_id_that_came_back_in_its_first_bucket_stays_known(
    redis: Redis, partition: RedisPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion in the other bucket, which lies between, must not come after it."""
    monkeypatch.setattr(ownership, "SLICE_ROWS", 1)
    log, ident = Log(), hash_id("e")
    owner = await ready(partition, log)
    first, second = (row_key(A, rows.memory_suffix(bucket, ident)) for bucket in (0, 1))
    memory = pack_row(Kind.MEMORY, 1, memory_row("e", 0).encode(), PARAMS)
    for changed in ({first: memory}, {first: None, second: memory}, {second: None, first: memory}):
        await write(owner, {**life(B), **changed})
    before = await everything(redis, partition)
    await redis.unlink(partition.layout.meta, *before)
    await ready(partition, log)
    assert await everything(redis, partition) == before


async def test_pages_are_read_under_the_fence(partition: RedisPartition) -> None:
    owner = await ready(partition)
    mine = {**life(A, buckets=1, memories=2_500)}
    await write(owner, mine)
    found: dict[bytes, bytes] = {}
    async for fields in owner.pages(partition.layout.memory(A, 0)):
        found.update(fields)
    assert len(found) == 2_500 + 1
    assert [fields async for fields in owner.pages(partition.layout.memory(A, 7))] == [{}]
    other = Ownership(2, partition.layout, FakeChangelog(Log()), partition, "other")
    await other.acquire()
    with pytest.raises((Fenced, StateLost)):
        [fields async for fields in owner.pages(partition.layout.memory(A, 0))]
