"""The three scripts on a real server: fences, repeats, sizes, and what is derived from rows."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from redis.asyncio import Redis

from moodstream.schemas.changelog import Position
from moodstream.schemas.errors import BrokerUnavailable, Fenced, StateLost
from moodstream.schemas.identity import agent_key, hash_id
from moodstream.state import ownership, rows
from moodstream.state.connection import call
from moodstream.state.ownership import Ownership
from moodstream.state.partition import RedisPartition, Wanted
from moodstream.state.rows import Kind, pack_row, row_key
from support.fakes import FakeChangelog, Faults, Log
from support.partitions import AGENT, LOG, MOOD, PARAMS, A, B, meta_of, mood, owned, row_of
from support.stepping import restored
from support.stored import memory_row


def wanted(partition: RedisPartition, *keys: bytes) -> list[Wanted]:
    return [Wanted(place, [name]) for place, name in map(partition.layout.place, keys)]


# -- acquire


async def test_acquiring_gives_what_was_there_and_marks_the_partition(redis: Redis, partition: RedisPartition) -> None:
    assert await partition.acquire(A, 5, LOG, "w1") == {}
    assert await meta_of(redis, partition) == {"epoch": A, "fence": b"5", "worker": b"w1", "state": b"restoring"}
    await partition.apply(A, b"", b"6", {}, {"incarnation": LOG, "state": "ready"})
    before = await meta_of(redis, partition)
    assert await partition.acquire(B, 9, LOG, "w2") == before
    assert await meta_of(redis, partition) == before | {
        "epoch": B, "fence": b"9", "worker": b"w2", "state": b"restoring"
    }  # fmt: skip


async def test_an_older_claim_is_refused_and_changes_nothing(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    before = await meta_of(redis, partition)
    with pytest.raises(Fenced, match="claim 4 is older than 5"):
        await partition.acquire(B, 4, LOG, "late")
    assert await meta_of(redis, partition) == before


async def test_claims_are_compared_as_numbers(partition: RedisPartition) -> None:
    await partition.acquire(A, 9, LOG, "w")
    await partition.apply(A, b"", b"10", {}, {"incarnation": LOG})
    await partition.acquire(B, 10, LOG, "w")
    with pytest.raises(Fenced):
        await partition.acquire(A, 9, LOG, "w")


async def test_a_claim_in_another_log_starts_anew(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition, at=b"1000")
    before = await partition.acquire(B, 1, b"another", "w")
    assert before["incarnation"] == LOG
    assert (await meta_of(redis, partition))["fence"] == b"1"


async def test_a_partition_with_nothing_to_restore_stays_ready(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition, at=b"10")
    await partition.acquire(B, 10, LOG, "w")
    assert (await meta_of(redis, partition))["state"] == b"ready"
    await partition.acquire(A, 12, LOG, "w")
    assert (await meta_of(redis, partition))["state"] == b"restoring"


@pytest.mark.parametrize("at", [b"100", b"100+3"])
async def test_redis_ahead_of_its_log_is_refused_however_long_the_log_grows(
    redis: Redis, partition: RedisPartition, at: bytes
) -> None:
    await owned(partition, at=at)
    for fence in (99, 100, 500):
        with pytest.raises(StateLost, match="cut"):
            await partition.acquire(B, fence, LOG, "w")
    assert (await meta_of(redis, partition))["epoch"] == A
    await partition.acquire(B, 1, b"another", "w")


# -- load


async def test_a_load_gives_each_hash_its_values_in_order(partition: RedisPartition) -> None:
    await owned(partition)
    pair = row_key(AGENT, rows.pair_suffix("x"))
    await partition.apply(A, b"10", b"11", {pair: mood("2")}, {})
    place = partition.layout.agent(AGENT)
    found = await partition.load(
        A, b"11", [Wanted(place, [b"pair/x", b"none", b"mood"]), Wanted(b"none", [b"a"]), Wanted(place, [b"mood"])]
    )
    assert found == [[mood("2"), None, mood("1")], [None], [mood("1")]]
    assert await partition.load(A, b"11", []) == []


@pytest.mark.parametrize(
    ("token", "at", "error"),
    [(B, b"10", Fenced), (A, b"9", StateLost), (A, b"11", StateLost), (A, b"", StateLost), (A, b"10+1", StateLost)],
)
async def test_a_load_with_another_token_or_position_is_refused(
    partition: RedisPartition, token: bytes, at: bytes, error: type[Exception]
) -> None:
    await owned(partition)
    with pytest.raises(error):
        await partition.load(token, at, wanted(partition, MOOD))


async def test_a_load_from_an_emptied_redis_is_refused(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    await redis.delete(partition.layout.meta)
    with pytest.raises(Fenced):
        await partition.load(A, b"10", [])


# -- apply


async def test_rows_and_position_move_together(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    await partition.apply(A, b"10", b"15", {MOOD: mood("2")}, {"source": 7, "accepted": 3})
    found = await meta_of(redis, partition)
    assert (found["changelog"], found["source"], found["accepted"]) == (b"15", b"7", b"3")
    assert await row_of(redis, partition) == mood("2")
    await partition.apply(A, b"15", b"16", {MOOD: None}, {})
    assert await row_of(redis, partition) is None


@pytest.mark.parametrize(
    ("token", "before", "after", "error"),
    [(B, b"10", b"15", Fenced), (A, b"9", b"15", StateLost), (A, b"11", b"12", StateLost), (B, b"9", b"10", Fenced)],
)
async def test_a_refused_write_changes_nothing(
    redis: Redis, partition: RedisPartition, token: bytes, before: bytes, after: bytes, error: type[Exception]
) -> None:
    await owned(partition)
    unchanged = await meta_of(redis, partition)
    with pytest.raises(error):
        await partition.apply(token, before, after, {MOOD: mood("wrong")}, {"source": 99})
    assert await meta_of(redis, partition) == unchanged
    assert await row_of(redis, partition) == mood("1")


async def test_a_write_whose_answer_was_lost_is_recognised(redis: Redis, partition: RedisPartition) -> None:
    """The same call again does nothing: what has happened to the keys since is not overwritten."""
    await owned(partition)
    for _ in range(2):
        await partition.apply(A, b"10", b"15", {MOOD: mood("2")}, {"source": 2})
        await call(redis, "HSET", *partition.layout.place(MOOD), mood("touched"))
    assert await row_of(redis, partition) == mood("touched")


async def test_a_late_repeat_of_an_older_write_is_refused(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    await partition.apply(A, b"10", b"15", {MOOD: mood("2")}, {})
    await partition.apply(A, b"15", b"15+1", {MOOD: mood("3")}, {})
    with pytest.raises(StateLost):
        await partition.apply(A, b"10", b"15", {MOOD: mood("2")}, {})
    assert await row_of(redis, partition) == mood("3")


async def test_scripts_that_the_server_forgot_are_sent_again(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    await redis.script_flush()
    assert await partition.load(A, b"10", wanted(partition, MOOD)) == [[mood("1")]]


# -- sizes


async def test_more_arguments_than_lua_can_unpack(redis: Redis, partition: RedisPartition) -> None:
    """9,001 rows of one hash, written, read and deleted in one call each."""
    await owned(partition)
    keys = [row_key(AGENT, rows.pair_suffix(f"other-{i}")) for i in range(9_001)]
    await partition.apply(A, b"10", b"20", {key: mood(str(i)) for i, key in enumerate(keys)}, {})
    place = partition.layout.agent(AGENT)
    names = [key.partition(b"\0")[2] for key in keys]
    (found, last) = await partition.load(A, b"20", [Wanted(place, names), Wanted(place, [b"mood"])])
    assert found == [mood(str(i)) for i in range(9_001)]
    assert last == [mood("1")]
    await partition.apply(A, b"20", b"30", dict.fromkeys(keys), {})
    assert await redis.hkeys(place) == [b"mood"]


async def test_many_hashes_in_one_call(partition: RedisPartition) -> None:
    await owned(partition)
    keys = [row_key(agent_key("t", f"agent {i}"), rows.MOOD) for i in range(5_000)]
    await partition.apply(A, b"10", b"20", {key: mood(str(i)) for i, key in enumerate(keys)}, {})
    found = await partition.load(A, b"20", wanted(partition, *keys))
    assert found == [[mood(str(i))] for i in range(5_000)]


async def test_many_agents_of_a_tenant_in_one_call(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    new = {row_key(agent_key("t", f"{i:05}"), rows.AGENT): mood("") for i in range(9_000)}
    await partition.apply(A, b"10", b"20", new, {})
    assert await redis.zcard(partition.layout.agents("t")) == 9_000


# -- what is derived from rows


def chunks() -> list[dict[bytes, bytes | None]]:
    """Rows of every kind, of two tenants, some written twice, some deleted."""
    first, second = agent_key("t", "a"), agent_key("u/v", "a b")
    one, two = memory_row("one", 10**15), memory_row("two", 10**15 + 1, (1.0,) * 12)
    other = memory_row("three", 2 * 10**15)
    return [
        {**_agent_rows(first, 1), **_memory(first, one, 1), **_shift(first, one, 1)},
        {**_agent_rows(second, 3), **_memory(second, one, 2), **_memory(second, two, 3), **_memory(second, other, 3)},
        {**_agent_rows(first, 4), **_memory(first, two, 4), **_shift(first, two, 4)},
        {**_agent_rows(first, 5), **_shift(first, one, 5), row_key(first, rows.TRENDS): None},
        {**_agent_rows(second, 6), **dict.fromkeys(_memory(second, two, 3))},
    ]


def _agent_rows(agent: bytes, offset: int) -> dict[bytes, bytes]:
    suffixes = (rows.AGENT, rows.MOOD, rows.TRENDS, rows.PROFILE, rows.NOTICE, rows.pair_suffix("b"))
    return {
        row_key(agent, one): pack_row(rows.kind_of(one), offset, b"body of 24 bytes in all", PARAMS) for one in suffixes
    }


def _memory(agent: bytes, memory: rows.MemoryRow, offset: int) -> dict[bytes, bytes]:
    suffix = rows.memory_suffix(*_place(memory))
    return {row_key(agent, suffix): pack_row(Kind.MEMORY, offset, memory.encode(), PARAMS)}


def _shift(agent: bytes, memory: rows.MemoryRow, offset: int) -> dict[bytes, bytes]:
    suffix = rows.shift_suffix(*_place(memory))
    return {row_key(agent, suffix): pack_row(Kind.SHIFT, offset, b"shift %d" % offset, PARAMS)}


def _place(memory: rows.MemoryRow) -> tuple[int, bytes]:
    return rows.bucket_of(memory.content.occurred_us), hash_id(memory.content.event_id)


async def test_a_restore_derives_what_the_flushes_derived(
    redis: Redis, partition: RedisPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but who did it: small rows, memories, ids, buckets, tenants, agents, counts."""
    monkeypatch.setattr(ownership, "SLICE_ROWS", 3)
    log, expected = Log(), dict[bytes, bytes]()
    owner = Ownership(2, partition.layout, FakeChangelog(log), partition, "w")
    await owner.acquire()
    for number, changes in enumerate(chunks(), start=1):
        position = Position(source=number, accepted=number)
        await owner.append(changes, position)
        await owner.flush(changes, position)
        expected = {key: row for key, row in {**expected, **changes}.items() if row is not None}
    flushed = await _dump(redis, partition)
    assert await _scan(partition) == expected
    log.compact(log.end, log.end)
    for key in flushed:
        await redis.delete(key)
    again = Ownership(2, partition.layout, FakeChangelog(log, batch=2), partition, "w")
    await again.acquire()
    assert again.position == Position(source=5, accepted=5)
    assert await _dump(redis, partition) == flushed
    assert await _scan(partition) == expected


async def test_a_new_log_gets_all_rows_whenever_the_first_attempts_die(
    redis: Redis, partition: RedisPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an owner scans is cut at each agent's version: rows must not go before or after it."""
    monkeypatch.setattr(ownership, "SLICE_ROWS", 1)
    rows_before = await _filled(partition)
    log, faults = Log(), Faults()
    for edge in range(1, 40):
        faults.at("apply", _die, edge)
        with suppress(BrokerUnavailable):
            await Ownership(2, partition.layout, FakeChangelog(log), Mortal(partition, faults), "w").acquire()
        faults.drop()
    expected = {key: rows.from_before(row) for key, row in rows_before.items()}
    assert await _scan(partition) == expected
    assert restored(log.records)[0] == expected
    assert (await meta_of(redis, partition))["source"] == b"0"


async def test_an_owner_reads_whole_agents_whatever_became_of_their_rows(
    redis: Redis, partition: RedisPartition
) -> None:
    every = await _filled(partition)
    first, second = agent_key("t", "a"), agent_key("u/v", "a b")
    found = [entry async for page in partition.heads() for entry in page]
    assert found == [(key, every[row_key(key, rows.AGENT)]) for key in (first, second)]
    whole = await partition.whole([second, first, b"t/nobody"])
    assert whole[b"t/nobody"] == {}
    assert whole[first] | whole[second] == every
    # A row that was cut short, one from the future, one that is gone, and a field that is no row.
    agent = partition.layout.agent(first)
    await redis.hset(agent, mapping={rows.MOOD: b"x", b"strange": b"?"})
    late = pack_row(Kind.TRENDS, 10**6, b"", PARAMS)
    await redis.hset(agent, rows.TRENDS, late)
    await redis.hdel(agent, rows.AGENT)
    hurt = (await partition.whole([first]))[first]
    expected = {**whole[first], row_key(first, rows.MOOD): b"x", row_key(first, rows.TRENDS): late}
    del expected[row_key(first, rows.AGENT)]
    assert hurt == expected
    pages = [page async for page in partition.heads()]
    assert pages[0][0] == (first, None)


async def _filled(partition: RedisPartition) -> dict[bytes, bytes]:
    """Rows of two agents, by an owner on a log that is gone then."""
    owner = Ownership(2, partition.layout, FakeChangelog(Log()), partition, "w")
    await owner.acquire()
    for number, changes in enumerate(chunks(), start=1):
        await owner.append(changes, Position(source=number))
        await owner.flush(changes, Position(source=number))
    return await _scan(partition)


def _die() -> None:
    raise BrokerUnavailable("gone")


class Mortal(RedisPartition):
    """Dies before a write when its faults say so."""

    def __init__(self, like: RedisPartition, faults: Faults) -> None:
        super().__init__(like._redis, like.layout)
        self._faults = faults

    async def apply(self, *arguments: Any) -> None:
        await self._faults("apply")
        await super().apply(*arguments)


async def test_what_is_derived_is_what_the_page_says(redis: Redis, partition: RedisPartition) -> None:
    await owned(partition)
    memory = memory_row("one", 10**15)
    await partition.apply(A, b"10", b"11", {**_agent_rows(AGENT, 7), **_memory(AGENT, memory, 7)}, {})
    bucket, ident = _place(memory)
    layout = partition.layout
    assert await redis.hgetall(layout.ids(AGENT)) == {ident: b"%d" % bucket}
    assert await redis.hgetall(layout.buckets(AGENT)) == {b"%d" % bucket: b""}
    assert await redis.hgetall(layout.tenants) == {b"t": b""}
    assert await redis.zrange(layout.agents("t"), 0, -1) == [b"a"]
    await partition.apply(A, b"11", b"12", dict.fromkeys(_memory(AGENT, memory, 7)), {})
    assert not await redis.exists(layout.ids(AGENT), layout.memory(AGENT, bucket))


async def _dump(redis: Redis, partition: RedisPartition) -> dict[bytes, Any]:
    found: dict[bytes, Any] = {}
    async for key in redis.scan_iter(match=partition.layout.tag + b"*", count=1000):
        is_set = await redis.type(key) == b"zset"
        found[key] = await redis.zrange(key, 0, -1, withscores=True) if is_set else await redis.hgetall(key)
    for name in (b"epoch", b"fence", b"writer", b"changelog", b"written"):
        found[partition.layout.meta].pop(name)
    return found


async def _scan(partition: RedisPartition) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    async for some in partition.scan():
        found.update(some)
    return found
