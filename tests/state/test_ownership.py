"""One owner at a time, what it writes, what it refuses, and what it does about others."""

from __future__ import annotations

import pytest

from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    Position,
    encode_position,
)
from moodstream.schemas.errors import BrokerUnavailable, Fenced, StateLost
from moodstream.state.ownership import Ownership, Phase
from moodstream.state.partition import Wanted
from moodstream.state.rows import row_key
from support.fakes import FakeChangelog, FakePartition, Store
from support.sides import K1, K2, K3, K4, STALE, Side, dead, row, write
from support.stepping import LAYOUT

# -- claim


async def test_the_first_owner_names_the_log_and_closes_it(side: Side) -> None:
    owner = await side.ready()
    assert owner.phase is Phase.READY
    keys = [record.key for record in side.log.records]
    assert keys[0].startswith(INCARNATION_PREFIX)
    assert keys[1:] == [OWNER_KEY, POSITION_KEY]
    meta = side.store.meta
    assert (meta["state"], meta["epoch"], meta["fence"], meta["changelog"]) == (b"ready", owner.token, b"1", b"3")
    assert meta["writer"] == b"1:" + owner.token
    assert keys[0] == INCARNATION_PREFIX + meta["incarnation"]


async def test_two_first_owners_agree_on_the_name_of_the_log(side: Side) -> None:
    side.faults.at("append", lambda: side.log.put(b"other", [(INCARNATION_PREFIX + b"theirs", b"1")]))
    await side.ready()
    assert side.store.meta["incarnation"] == b"theirs"


async def test_a_log_that_loses_its_name_at_once_is_refused(side: Side) -> None:
    side.faults.at("incarnation", side.log.records.clear, nth=2)
    with pytest.raises(StateLost, match="first record"):
        await side.ready()


async def test_an_older_claim_is_refused_by_the_state(side: Side) -> None:
    late = side.owner()
    await side.ready()
    late_state = FakePartition(side.store, LAYOUT)
    with pytest.raises(Fenced):
        await late_state.acquire(late.token, 0, side.store.meta["incarnation"], "late")


async def test_a_claim_that_comes_between_claim_and_restore_wins(side: Side) -> None:
    side.faults.at("acquire", lambda: side.log.put(b"other", [(OWNER_KEY, b"{}")]))
    with pytest.raises(Fenced, match="claimed by another"):
        await side.ready()
    await side.ready()


async def test_each_ownership_is_used_once(side: Side) -> None:
    owner = await side.ready()
    with pytest.raises(Fenced, match="from ready to claiming"):
        await owner.acquire()
    owner.close()
    owner.close()
    with pytest.raises(Fenced, match="is closed"):
        await owner.append({}, Position())
    with pytest.raises(Fenced, match="is closed"):
        await owner.flush({}, Position())


async def test_an_ownership_closed_while_it_restores_never_becomes_ready(side: Side) -> None:
    owner = side.owner()
    side.faults.at("read", owner.close)
    with pytest.raises(Fenced, match="from closed to ready"):
        await owner.acquire()


async def test_before_it_is_ready_nothing_is_written(side: Side) -> None:
    owner = side.owner()
    with pytest.raises(Fenced, match="is assigned"):
        await owner.append({K1: row("1")}, Position(source=1))
    assert not side.log.records


# -- a chunk


async def test_a_chunk_becomes_visible_with_its_position(side: Side) -> None:
    owner = await side.with_rows()
    assert owner.position.source == 2
    side.check({K1: row("1"), K2: row("2")}, 2)
    place, name = LAYOUT.place(K1)
    assert await owner.load([Wanted(place, [name, b"nothing"]), Wanted(b"no hash", [b"x"])]) == [
        [row("1"), None],
        [None],
    ]
    await write(owner, {K1: None}, 3)
    side.check({K2: row("2")}, 3)


async def test_a_load_from_a_redis_that_lost_something_is_refused(side: Side) -> None:
    owner = await side.with_rows()
    before = side.store.copy()
    await write(owner, {K1: row("3")}, 3)
    side.store.become(before)
    with pytest.raises(StateLost):
        await owner.load([])
    side.store.become(Store())
    with pytest.raises(Fenced):
        await owner.load([])


async def test_a_flush_after_another_owner_came_is_refused(side: Side) -> None:
    owner = await side.with_rows()
    position = Position(source=3)
    await owner.append({K1: row("3")}, position)
    await side.ready()
    with pytest.raises(Fenced):
        await owner.flush({K1: row("3")}, position)
    side.check({K1: row("3"), K2: row("2")}, 3)


async def test_a_flush_may_be_repeated(side: Side) -> None:
    """The fake answers as the script does, see test_partition_redis: here the whole call is made twice."""
    owner = await side.ready()
    state = FakePartition(side.store, LAYOUT)
    at = side.store.meta["changelog"]
    for _ in range(2):
        await state.apply(owner.token, at, b"9", {K1: row("1")}, {"source": 1})
    assert side.store.rows == {K1: row("1")}


# -- stale writers


@pytest.mark.parametrize(
    ("chunk", "rewritten"),
    [
        ({K1: row("9")}, row("9")),
        ({K1: None}, None),
        ({K2: row("9")}, row("1")),
    ],
    ids=["own row", "own deletion", "row of Redis"],
)
async def test_a_stale_record_within_an_append_is_written_over(
    side: Side, chunk: dict[bytes, bytes | None], rewritten: bytes | None
) -> None:
    owner = await side.with_rows(batch=1)
    side.faults.at("append.batch", side.stale())
    await write(owner, chunk, 3)
    position = encode_position(Position(source=3))
    assert side.tail(2) == [(K1, rewritten), (POSITION_KEY, position)]
    expected = {K1: row("1"), K2: row("2")} | chunk
    side.check({key: value for key, value in expected.items() if value is not None}, 3)


async def test_a_stale_record_of_a_row_that_never_was_is_deleted(side: Side) -> None:
    owner = await side.with_rows()
    side.stale(K4)()
    await write(owner, {K1: row("3")}, 3)
    assert (K4, None) in side.tail(2)
    side.check({K1: row("3"), K2: row("2")}, 3)


async def test_stale_records_that_land_while_others_are_written_over(side: Side) -> None:
    owner = await side.with_rows()
    for nth, key in enumerate((K1, K2, K3), start=1):
        side.faults.at("append", side.stale(key), nth)
    await write(owner, {K4: row("4")}, 3)
    assert not side.faults.drop(), "all three have landed"
    side.check({K1: row("1"), K2: row("2"), K4: row("4")}, 3)


async def test_a_stale_position_alone_is_nothing_to_write_over(side: Side) -> None:
    owner = await side.with_rows()
    side.log.put(STALE, [(POSITION_KEY, encode_position(Position(source=99)))])
    end = side.log.end
    await write(owner, {K1: row("3")}, 3)
    assert side.log.end == end + 2
    side.check({K1: row("3"), K2: row("2")}, 3)


async def test_a_stale_position_after_the_owners_last_one_is_written_over_by_the_next(side: Side) -> None:
    """Compaction would keep the stale one, and no row would be closed by any."""
    await side.with_rows()
    side.log.put(STALE, [(POSITION_KEY, encode_position(Position(source=99)))])
    await side.ready()
    side.log.compact(side.log.end, side.log.end)
    side.store.become(Store())
    await side.ready()
    side.check({K1: row("1"), K2: row("2")}, 2)


async def test_another_claim_ends_it(side: Side) -> None:
    owner = await side.with_rows()
    side.log.put(b"other", [(OWNER_KEY, b"{}")])
    with pytest.raises(Fenced, match="claimed by another worker"):
        await owner.append({K1: row("3")}, Position(source=3))
    await side.ready()
    side.check({K1: row("1"), K2: row("2")}, 2)


async def test_records_of_its_own_that_came_late_are_no_reason_to_stop(side: Side) -> None:
    """An append whose answer was lost, and then another one."""
    owner = await side.with_rows()
    side.faults.at("append.done", dead)
    with pytest.raises(BrokerUnavailable):
        await owner.append({K1: row("3")}, Position(source=3))
    await write(owner, {K1: row("3")}, 3)
    side.check({K1: row("3"), K2: row("2")}, 3)


async def test_a_hash_is_read_whole_also_where_the_server_changes_in_between(side: Side) -> None:
    """The cursor of one server passes over fields on another: an erasure would leave them, for good."""
    state = FakePartition(side.store, LAYOUT)
    owner = Ownership(0, LAYOUT, FakeChangelog(side.log), state, "w")
    await owner.acquire()
    pairs = {row_key(b"t/a", b"pair/%d" % number): row(f"{number}") for number in range(10)}
    await write(owner, pairs, 1)
    found: dict[bytes, bytes] = {}
    async for fields in owner.pages(LAYOUT.agent(b"t/a")):
        found.update(fields)
        state.reverse = True
    assert found == {b"pair/%d" % number: row(f"{number}") for number in range(10)}
    assert [fields async for fields in owner.pages(LAYOUT.agent(b"t/b"))] == [{}]
