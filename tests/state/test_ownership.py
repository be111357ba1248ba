"""One owner at a time, with a fault at the edge of any call: what it writes, what it refuses, what the next finds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    Position,
    Span,
    decode_position,
    encode_position,
)
from moodstream.schemas.errors import BrokerUnavailable, Fenced, StateLost
from moodstream.state import ownership
from moodstream.state.ownership import Ownership, Phase
from moodstream.state.partition import Wanted
from moodstream.state.rows import AGENT, BEFORE, Kind, pack_row, row_key, row_offset, unpack_row
from support.fakes import FakeChangelog, FakePartition, Faults, Log, Store
from support.stepping import KEYS, LAYOUT, Rows, restored

K1, K2, K3, K4 = KEYS
STALE = b"0:stale"


def dead() -> None:
    """The call at this edge fails."""
    raise BrokerUnavailable("gone")


def row(text: str, offset: int = 0) -> bytes:
    return pack_row(Kind.MOOD, offset, text.encode(), b"\x01" * 8)


class Side:
    """Log and Redis, and owners that come one after the other."""

    def __init__(self) -> None:
        self.log = Log()
        self.store = Store()
        self.faults = Faults()

    def owner(self, batch: int = 1_000_000) -> Ownership:
        changelog = FakeChangelog(self.log, self.faults, batch)
        return Ownership(0, LAYOUT, changelog, FakePartition(self.store, LAYOUT, self.faults), "w")

    async def ready(self, batch: int = 1_000_000) -> Ownership:
        owner = self.owner(batch)
        await owner.acquire()
        return owner

    async def with_rows(self, batch: int = 1_000_000) -> Ownership:
        """An owner that has written two rows."""
        owner = await self.ready(batch)
        await write(owner, {K1: row("1"), K2: row("2")}, 2)
        return owner

    def tail(self, count: int) -> list[tuple[bytes, bytes | None]]:
        return [(record.key, record.value) for record in self.log.records[-count:]]

    def stale(self, key: bytes = K1) -> Callable[[], object]:
        """A stale writer's record lands."""
        return lambda: self.log.put(STALE, [(key, row("stale"))])

    def check(self, rows: Rows, source: int) -> None:
        """Log and Redis agree, compacted or not."""
        for _ in range(2):
            assert self.store.rows == rows
            assert restored(self.log.records)[0] == rows
            assert restored(self.log.records)[1].source == int(self.store.meta["source"]) == source
            self.log.compact(self.log.end, self.log.end)


async def write(owner: Ownership, rows: dict[bytes, bytes | None], source: int) -> None:
    position = replace(owner.position, source=source)
    await owner.append(rows, position)
    await owner.flush(rows, position)


@pytest.fixture
def side() -> Side:
    return Side()


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
    for nth, key in enumerate((K1, K3, K2), start=1):
        side.faults.at("append", side.stale(key), nth)
    await write(owner, {K4: row("4")}, 3)
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


# -- a fault at the edge of a call


async def test_after_a_fault_at_any_edge_the_next_owner_has_all() -> None:
    """In a restore with loose rows, healing them, or the chunk after that."""
    edges = 0
    while await _fault_at(edges + 1):
        edges += 1
    assert edges > 30


async def _fault_at(nth: int) -> bool:
    """Whether the fault was met."""
    side = await _with_loose_rows()
    side.faults.at("any", dead, nth)
    with suppress(BrokerUnavailable):
        owner = await side.ready(batch=1)
        await owner.load([])
        await write(owner, {K1: row("5")}, 5)
    met = not side.faults.drop()
    last = await side.ready(batch=1)
    side.check({K1: row("5" if last.position.source == 5 else "1"), K2: row("2")}, last.position.source)
    assert met or last.position.source == 5
    return met


async def _with_loose_rows() -> Side:
    """A torn chunk and a stale record at the end of the log, and Redis lost."""
    side = Side()
    owner = await side.with_rows(batch=1)
    side.faults.at("append.batch", dead, nth=2)
    with pytest.raises(BrokerUnavailable):
        await owner.append({K1: row("loose"), K3: row("loose"), K4: row("loose")}, Position(source=3))
    side.stale(K2)()
    side.store.become(Store())
    return side


async def test_a_part_of_a_chunk_is_undone(side: Side) -> None:
    owner = await side.with_rows(batch=1)
    side.faults.at("append.batch", dead, nth=2)
    with pytest.raises(BrokerUnavailable):
        await owner.append({K1: row("3"), K3: row("3"), K4: row("3")}, Position(source=3))
    assert [key for key, _ in side.tail(2)] == [K1, K3]
    assert (await side.ready()).position.source == 2
    assert side.tail(3) == [(K1, row("1")), (K3, None), (POSITION_KEY, encode_position(Position(source=2)))]
    side.check({K1: row("1"), K2: row("2")}, 2)


async def test_a_whole_chunk_whose_answer_was_lost_counts(side: Side) -> None:
    owner = await side.with_rows()
    side.faults.at("append.done", dead)
    with pytest.raises(BrokerUnavailable):
        await owner.append({K1: row("3")}, Position(source=3, accepted=7))
    assert (await side.ready()).position == Position(source=3, accepted=7)
    side.check({K1: row("3"), K2: row("2")}, 3)


# -- restore


async def test_redis_lost_and_the_log_compacted(side: Side) -> None:
    await side.with_rows()
    side.log.compact(side.log.end, side.log.end)
    side.store.become(Store())
    owner = await side.ready()
    assert owner.position.source == 2
    side.check({K1: row("1"), K2: row("2")}, 2)


async def test_with_both_intact_only_what_is_new_is_read(side: Side) -> None:
    await side.with_rows()
    owner = side.owner()
    read = side.faults.passed["read.batch"]
    await owner.acquire()
    assert side.faults.passed["read.batch"] == read + 1, "its own claim is all there is to read"
    assert side.faults.passed["append"] == 6, "twice claim and position, the name of the log, and the chunk"


async def test_an_older_redis_is_brought_up_to_the_log(side: Side) -> None:
    """Two owners came and went since, and compaction has taken their claims."""
    await side.with_rows()
    older = side.store.copy()
    await write(await side.ready(), {K1: row("3"), K3: row("3")}, 3)
    await write(await side.ready(), {K1: row("4")}, 4)
    side.log.compact(side.log.end, side.log.end)
    side.store.become(older)
    await side.ready()
    side.check({K1: row("4"), K2: row("2"), K3: row("3")}, 4)


async def test_a_commit_goes_to_redis_in_calls_that_cannot_get_lost(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis loses the second of three slices, as a fail-over would; the position tells."""
    monkeypatch.setattr(ownership, "SLICE_ROWS", 1)
    owner = await side.ready()
    await write(owner, {K1: row("1"), K2: row("2"), K3: row("3")}, 3)
    side.store.become(Store())
    moments: list[Store] = []
    texts: list[bytes] = []

    def remember() -> None:
        moments.append(side.store.copy())
        texts.append(side.store.meta["changelog"])
        if len(moments) == 3:
            side.store.become(moments[1])

    for nth in range(1, 5):
        side.faults.at("apply.done", remember, nth)
    with pytest.raises(StateLost):
        await side.ready()
    assert texts == [b"3", b"3+1", b"3+2"]
    await side.ready()
    side.check({K1: row("1"), K2: row("2"), K3: row("3")}, 3)


async def test_redis_stays_before_a_stale_record_until_it_is_written_over(side: Side) -> None:
    owner = await side.with_rows()
    side.stale(K2)()
    stale_at = side.log.end - 1
    side.faults.at("read", dead)
    with pytest.raises(BrokerUnavailable):  # found the gap, and died before it looked
        await owner.append({K1: row("3")}, Position(source=3))
    side.faults.at("append", dead, nth=2)
    with pytest.raises(BrokerUnavailable):  # read it all, and died before it wrote again
        await side.ready()
    assert side.store.meta["changelog"] == b"%d+1" % stale_at
    assert side.store.meta["writer"] == b"1:" + owner.token
    assert side.store.meta["source"] == b"3"
    await side.ready()
    side.check({K1: row("3"), K2: row("2")}, 3)


async def test_a_log_that_gives_less_than_it_has_is_refused(side: Side) -> None:
    """A leader that is new may know less than was confirmed: passing over that would lose a chunk."""
    owner = await side.with_rows()
    side.log.visible = side.log.end
    await owner.append({K1: row("3")}, Position(source=3))
    with pytest.raises(StateLost, match="not"):
        await side.ready()
    side.log.visible = None
    await side.ready()
    side.check({K1: row("3"), K2: row("2")}, 3)


async def test_a_log_that_was_cut_is_refused_however_often(side: Side) -> None:
    """Each attempt makes the log longer, past the place where it was cut; Redis remembers."""
    owner = await side.with_rows()
    cut = side.log.end
    await write(owner, {K1: row("3")}, 3)
    side.log.cut(cut)
    for _ in range(5):
        with pytest.raises(StateLost):
            await side.ready()
    side.store.become(Store())  # the way out: what the log has is all there is
    assert (await side.ready()).position.source == 2
    side.check({K1: row("1"), K2: row("2")}, 2)


async def test_an_owner_whose_log_is_cut_under_it_stops(side: Side) -> None:
    owner = await side.with_rows()
    side.log.cut(side.log.end - 2)
    with pytest.raises(StateLost):
        await owner.append({K3: row("3")}, Position(source=3))


async def test_a_broker_that_does_not_say_where_records_lie_stops_it(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await side.with_rows()

    async def append(*_: object) -> list[Span]:
        return [Span(-1, 2)]

    monkeypatch.setattr(FakeChangelog, "append", append)
    with pytest.raises(StateLost):
        await owner.append({K3: row("3")}, Position(source=3))


async def test_rows_without_any_position_are_not_deleted(side: Side) -> None:
    """It cannot come from a crash: each owner closes the log before its first chunk."""
    await side.with_rows()
    side.log.records = [record for record in side.log.records if record.key != POSITION_KEY]
    side.store.become(Store())
    rows = [record for record in side.log.records if record.key in KEYS]
    with pytest.raises(StateLost, match="no position"):
        await side.ready()
    assert [record for record in side.log.records if record.key in KEYS] == rows


# -- another log


async def test_rows_of_redis_begin_the_history_of_a_new_log(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    await _fill_for_another_log(side)
    monkeypatch.setattr(ownership, "SLICE_ROWS", 1)
    owner = await side.ready()
    assert owner.position == Position()
    _check_other_log(side)
    await side.ready()
    _check_other_log(side)


async def test_a_crash_at_any_edge_while_the_new_log_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "SLICE_ROWS", 1)
    edges, met = 0, True
    while met:
        edges += 1
        side = Side()
        await _fill_for_another_log(side)
        side.faults.at("any", dead, edges)
        with suppress(BrokerUnavailable):
            await side.ready(batch=2)
        met = not side.faults.drop()
        await side.ready(batch=2)
        _check_other_log(side)
    assert edges > 20


async def _fill_for_another_log(side: Side) -> None:
    owner = await side.ready()
    agent = pack_row(Kind.AGENT, 7, bytes(8) + b"rest", b"\x01" * 8)
    await write(owner, {K1: row("1", 5), K2: row("2", 6), row_key(b"t/a", AGENT): agent}, 1000)
    side.log = Log()


def _check_other_log(side: Side) -> None:
    assert [unpack_row(row).offset for row in side.store.rows.values()] == [BEFORE] * 3
    agent = unpack_row(side.store.rows[row_key(b"t/a", AGENT)])
    assert agent.body == b"\xff" * 8 + b"rest"
    assert row_offset(side.store.rows[K1]) == BEFORE
    assert unpack_row(side.store.rows[K1]).body == b"1"
    side.check(dict(side.store.rows), 0)
    assert side.store.meta["state"] == b"ready"
    last = next(record for record in reversed(side.log.records) if record.key == POSITION_KEY)
    assert decode_position(last.value) == Position()
