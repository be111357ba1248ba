"""What an owner finds and makes good: after a fault at the edge of any call, a loss, a cut, or on a log that is new."""

from __future__ import annotations

from contextlib import suppress

import pytest

from moodstream.schemas import changelog
from moodstream.schemas.changelog import (
    POSITION_KEY,
    Position,
    Span,
    decode_position,
    encode_position,
)
from moodstream.schemas.errors import BrokerUnavailable, StateLost
from moodstream.state import ownership
from moodstream.state.rows import AGENT, BEFORE, Kind, pack_row, row_key, row_offset, unpack_row
from support.fakes import FakeChangelog, Log, Store
from support.sides import K1, K2, K3, K4, Side, dead, row, write
from support.stepping import KEYS, LAYOUT

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


def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelog, "SPILL_ROWS", 4)
    monkeypatch.setattr(ownership, "SPILL_ROWS", 4)
    monkeypatch.setattr(ownership, "_LOOK_BACK", 2)


@pytest.mark.parametrize("lost", [False, True])
async def test_a_part_of_a_chunk_of_very_many_rows_is_undone(
    side: Side, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """An erasure deletes all rows of an agent in one chunk: they may be more than a restore keeps back."""
    few_rows_are_many(monkeypatch)
    owner = await side.with_rows(batch=1)
    many = {row_key(b"t/b", b"pair/%d" % number): row("many") for number in range(30)}
    side.faults.at("append.batch", dead, nth=25)
    with pytest.raises(BrokerUnavailable):
        await owner.append({K1: None, **many}, Position(source=3))
    if lost:
        side.store.become(Store())
    assert (await side.ready()).position.source == 2
    side.check({K1: row("1"), K2: row("2")}, 2)


async def test_memory_is_bounded_where_compaction_left_a_single_position(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_rows_are_many(monkeypatch)
    owner = await side.ready()
    many = {row_key(b"t/b", b"pair/%d" % number): row("many") for number in range(30)}
    await write(owner, many, 3)
    side.store.become(Store())
    calls = side.faults.passed["apply"]
    await side.ready(batch=1)
    assert side.faults.passed["apply"] > calls + 4
    side.check(many, 3)


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


async def test_a_redis_older_than_the_log_remembers_deletions_is_refused(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup is put back: of rows that were erased since, nothing may tell any more."""
    owner = await side.with_rows()
    older = side.store.copy()
    await write(owner, {K2: None}, 3)
    owner.close()
    later = ownership._now_ms() + 1_001
    monkeypatch.setattr(FakeChangelog, "remembers_ms", 1_000)
    monkeypatch.setattr(ownership, "_now_ms", lambda: later)
    side.store.become(older)
    await side.ready()  # nothing has been compacted since
    side.check({K1: row("1")}, 3)
    side.store.become(older)
    side.log.records = [record for record in side.log.records if record.key != K2]
    for _ in range(2):
        with pytest.raises(StateLost, match="deleted") as caught:
            await side.ready()
        assert LAYOUT.tag.decode() in caught.value.hint
        assert side.store.meta["state"] == b"restoring"
    side.store.become(Store())
    await side.ready()
    side.check({K1: row("1")}, 3)


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
        if len(moments) == 2:
            side.store.become(moments[0])

    for nth in range(1, 4):
        side.faults.at("apply.done", remember, nth)
    with pytest.raises(StateLost):
        await side.ready()
    assert texts == [b"0+1", b"0+2"]
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


async def test_many_small_chunks_go_to_redis_in_one_call(side: Side) -> None:
    owner = await side.ready()
    for number in range(20):
        await write(owner, {K1: row(f"{number}"), K2: None if number % 2 else row(f"{number}")}, number + 1)
    side.store.become(Store())
    calls = side.faults.passed["apply"]
    await side.ready()
    assert side.faults.passed["apply"] == calls + 2, "the rows, and that it is ready"
    side.check({K1: row("19")}, 20)


async def test_a_restore_says_how_far_it_is(side: Side) -> None:
    await side.with_rows()
    side.store.become(Store())
    owner = side.owner()
    assert owner.progress is None
    await owner.acquire()
    assert owner.progress is not None
    facts = owner.progress.facts()
    assert (facts["percent"], facts["seconds_left"], facts["rows"]) == (100, 0, side.log.end - 1)


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
