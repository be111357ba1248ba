"""The consumer of chunks: contiguous, quiet while held, blocked by what it drops, and honest in what it commits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from moodstream.schemas.changelog import Position
from moodstream.schemas.errors import SourceGap
from moodstream.streams.transport import ChunkMessage, ChunkThread
from support.consuming import Reading, reading, tp_of
from support.waiting import eventually


async def turns(count: int = 30) -> None:
    """Let the reader go on for a while."""
    for _ in range(count):
        await asyncio.sleep(0.001)


# -- chunks


async def test_chunks_follow_each_other_and_span_what_the_log_does_not_have(tmp_path: Path) -> None:
    log = [*range(23), *range(30, 37), 50, *range(53, 60)]
    async with reading({0: log}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: reader.offsets() == log)
        assert reader.spans() == [(0, 10), (10, 20), (20, 37), (37, 60)]
        reader.thread.log[tp_of(0)] += [61, 62]
        await eventually(lambda: reader.spans()[-1] == (60, 63))
    assert [message.offset for message in reader.got] == [end - 1 for _, end in reader.spans()]


async def test_partitions_take_turns(tmp_path: Path) -> None:
    async with reading({0: range(40), 1: range(15), 2: range(25)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 9)
    assert [message.partition for message in reader.got] == [0, 1, 2, 0, 1, 2, 0, 2, 0]
    assert reader.spans(1) == [(0, 10), (10, 15)]


# -- where it starts


@pytest.mark.parametrize(
    ("source", "announced", "committed", "start"),
    [
        (0, 0, None, 0),
        (50, 0, None, 0),
        (50, 40, None, 40),
        (50, 20, 30, 30),
        (50, 40, 30, 40),
        (50, 50, 50, 50),
        (20, 20, 50, 20),  # never at a position that the state has not reached
    ],
)
async def test_it_starts_where_the_state_stands_or_where_outputs_are_not_out(
    tmp_path: Path, source: int, announced: int, committed: int | None, start: int
) -> None:
    async with reading({0: range(60)}, tmp_path, chunk=100) as reader:
        reader.position[0] = Position(source=source, announced=announced)
        if committed is not None:
            reader.thread.committed_offsets[tp_of(0)] = committed
        await reader.begin()
        await eventually(lambda: reader.got)
    assert reader.spans() == [(start, 60)]
    assert reader.offsets() == list(range(start, 60))


async def test_chunks_below_an_old_commit_are_committed_too(tmp_path: Path) -> None:
    async with reading({0: range(60)}, tmp_path) as reader:
        reader.position[0] = Position(source=20)
        reader.thread.committed_offsets[tp_of(0)] = 50
        await reader.begin()
        await eventually(lambda: len(reader.got) == 4)
        reader.ack(0, 1)
        await reader.consumer.commit()
    assert reader.thread.commits == [{0: 40}]


async def test_a_log_that_begins_after_the_state_is_a_gap(tmp_path: Path) -> None:
    async with reading({0: range(40, 60)}, tmp_path) as reader:
        reader.position[0] = Position(source=30)
        reader.thread.beginnings[tp_of(0)] = 40
        with pytest.raises(SourceGap) as caught:
            await reader.begin()
        assert (caught.value.fields["expected"], caught.value.fields["beginning"]) == (30, 40)
        await turns()
        assert reader.got == []


async def test_a_state_that_has_read_nothing_takes_a_log_as_it_is(tmp_path: Path) -> None:
    async with reading({0: range(40, 60)}, tmp_path) as reader:
        reader.thread.beginnings[tp_of(0)] = 40
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)
    assert reader.spans() == [(0, 50), (50, 60)]
    assert reader.offsets() == list(range(40, 60))
    assert reader.crashes == []


async def test_a_log_that_is_cut_before_it_was_read_ends_the_worker(tmp_path: Path) -> None:
    async with reading({0: range(10)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: reader.got)
        reader.thread.beginnings[tp_of(0)] = 25
        reader.thread.log[tp_of(0)] += range(25, 30)
        await eventually(lambda: reader.crashes)
    (reason,) = {str(crash) for crash in reader.crashes}
    assert "15 records were deleted" in reason
    assert reader.offsets() == list(range(10))


@pytest.mark.parametrize("running", [True, False])
async def test_a_log_that_was_made_anew_is_not_taken_for_the_old_one(tmp_path: Path, running: bool) -> None:
    """Its first records have offsets that the state knows: to skip them would lose them."""
    async with reading({0: range(20)}, tmp_path) as reader:
        if running:
            await reader.begin()
            await eventually(lambda: len(reader.got) == 2)
        reader.thread.log[tp_of(0)] = [*range(5)]
        if not running:
            reader.position[0] = Position(source=20, announced=20)
            await reader.begin()
        reader.thread.positions[tp_of(0)] = 0  # as the client does where it is told that there is no such offset
        await eventually(lambda: reader.crashes)
        assert reader.offsets() == [*range(20)] * running
    assert {type(crash) for crash in reader.crashes} == {SourceGap}
    assert "goes on at 0: it was cut or made anew" in str(reader.crashes[0])


async def test_a_new_log_that_is_read_from_its_beginning_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """Outputs of the state were not out, so reading begins before it: nothing is out of order then."""
    async with reading({0: range(5)}, tmp_path) as reader:
        reader.position[0] = Position(source=20, announced=0)
        await reader.begin()
        await eventually(lambda: reader.crashes)
        assert reader.got == []
    assert "read up to 20 and now ends at 5" in str(reader.crashes[0])


async def test_a_leader_that_does_not_know_the_end_yet_is_asked_again(tmp_path: Path) -> None:
    async with reading({0: range(300)}, tmp_path, chunk=50) as reader:
        reader.position[0] = Position(source=250, announced=0)
        reader.thread.fetched_ends[tp_of(0)] = 100
        await reader.begin()
        await eventually(lambda: len(reader.offsets()) == 300)
    assert reader.crashes == []


# -- held


async def test_nothing_is_delivered_before_the_first_seek_and_resumption(tmp_path: Path) -> None:
    async with reading({0: range(20)}, tmp_path) as reader:
        await turns()
        reader.consumer.resume_partitions(reader.thread.assignment())
        reader.consumer.resume_flow()  # without a seek: Faust does this when nothing is assigned
        await turns()
        assert reader.got == []
        await reader.consumer.perform_seek()
        await turns()
        assert reader.got == []
        reader.consumer.resume_flow()
        await eventually(lambda: len(reader.got) == 2)


async def test_what_was_fetched_before_a_seek_is_dropped_and_read_again(tmp_path: Path) -> None:
    async with reading({0: range(30)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 3)
        reader.got.clear()
        reader.thread.answer.clear()
        reader.thread.log[tp_of(0)] += range(30, 40)
        await eventually(lambda: reader.thread.positions[tp_of(0)] == 40)  # the fetch has them
        reader.position[0] = Position(source=20, announced=20)
        seeking = asyncio.create_task(reader.consumer.perform_seek())
        await turns()
        assert not seeking.done()  # waits for the fetch under way
        reader.thread.answer.set()
        await seeking
        await turns()
        assert reader.got == []
        reader.consumer.resume_flow()
        await eventually(lambda: reader.offsets() == list(range(20, 40)))
    assert reader.spans() == [(20, 30), (30, 40)]


async def test_what_is_fetched_after_a_seek_is_delivered(tmp_path: Path) -> None:
    async with reading({0: range(30)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 3)
        for source in (10, 25, 0):
            reader.got.clear()
            reader.position[0] = Position(source=source, announced=source)
            await reader.begin()
            await eventually(lambda start=source: reader.offsets() == list(range(start, 30)))  # type: ignore[misc]


async def test_what_is_fetched_while_a_seek_comes_in_between_moves_no_position(tmp_path: Path) -> None:
    async with reading({0: [*range(10), *range(20, 30)]}, tmp_path) as reader:
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            if not asked.is_set() and reader.got:  # the reader asks about the gap before 20
                asked.set()
                await go_on.wait()

        reader.thread.before_earliest = slow
        reader.thread.log[tp_of(0)] = list(range(10))
        await reader.begin()
        await eventually(lambda: reader.got)
        reader.thread.log[tp_of(0)] += range(20, 30)
        await asked.wait()
        reader.got.clear()
        await reader.begin()
        go_on.set()
        await eventually(lambda: len(reader.got) == 2)
    assert reader.spans() == [(0, 10), (10, 30)]


@pytest.mark.parametrize("cause", ["flow", "generation"])
async def test_a_chunk_that_is_dropped_blocks_what_follows_until_the_next_seek(tmp_path: Path, cause: str) -> None:
    async with reading({0: range(50)}, tmp_path) as reader:
        reader.room.clear()
        await reader.begin()
        await eventually(lambda: reader.consumer._unacked_messages)
        if cause == "flow":
            reader.consumer.stop_flow()  # while the chunk is being handed over
            await turns()
            reader.consumer.resume_flow()
        else:
            reader.app.consumer_generation_id += 1
        reader.room.set()
        await turns()
        assert reader.offsets() == ([] if cause == "flow" else list(range(10)))
        reader.thread.log[tp_of(0)] += range(50, 60)
        reader.consumer.resume_flow()
        await turns()
        assert len(reader.offsets()) <= 10
        reader.thread.log[tp_of(0)] = list(range(50))
        reader.got.clear()
        await reader.begin()
        await eventually(lambda: reader.offsets() == list(range(50)))


async def test_no_chunk_follows_when_the_flow_has_stopped(tmp_path: Path) -> None:
    async with reading({0: range(50)}, tmp_path) as reader:
        take = reader.consumer.callback

        async def stop(message: ChunkMessage) -> None:
            await take(message)
            reader.consumer.stop_flow()

        reader.consumer.callback = stop
        await reader.begin()
        await turns()
        assert reader.spans() == [(0, 10)]


async def test_a_revocation_holds_until_the_next_seek(tmp_path: Path) -> None:
    async with reading({0: range(20)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)
        await reader.revoke()
        reader.thread.log[tp_of(0)] += range(20, 30)
        reader.consumer.resume_flow()
        await turns()
        assert len(reader.got) == 2
        reader.position[0] = Position(source=20, announced=20)
        await reader.begin()
        await eventually(lambda: reader.spans()[2:] == [(20, 30)])


async def test_a_seek_that_a_revocation_overtakes_does_not_count(tmp_path: Path) -> None:
    async with reading({0: range(20)}, tmp_path) as reader:
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            asked.set()
            await go_on.wait()

        reader.thread.before_earliest = slow
        seeking = asyncio.create_task(reader.begin())
        await asked.wait()
        await reader.revoke()
        reader.consumer.resume_partitions(reader.thread.assignment())  # they are assigned again
        go_on.set()
        await seeking
        await turns()
        assert reader.got == []
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)


# -- commits


async def test_the_longest_prefix_of_acknowledged_chunks_is_committed(tmp_path: Path) -> None:
    async with reading({0: [*range(30), *range(35, 60)], 1: range(20)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 8)
        numbers = {0: [], 1: []}  # type: ignore[var-annotated]
        for number, message in enumerate(reader.got):
            numbers[message.partition].append(number)
        first, second = numbers[0], numbers[1]
        await reader.consumer.commit()
        reader.ack(first[1], first[2])
        await reader.consumer.commit()
        assert reader.thread.commits == []
        reader.ack(first[0], second[0])
        await reader.consumer.commit()
        assert reader.thread.commits == [{0: 30, 1: 10}]
        reader.ack(first[4])
        await reader.consumer.commit()
        reader.ack(first[3], second[1])
        await reader.consumer.commit()
        assert reader.thread.commits[1:] == [{0: reader.got[first[4]].value.end, 1: 20}]


async def test_a_first_chunk_of_one_record_is_committed(tmp_path: Path) -> None:
    async with reading({0: [0]}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: reader.got)
        reader.ack(0)
        await reader.consumer.commit()
    assert reader.thread.commits == [{0: 1}]


async def test_an_acknowledgement_from_before_a_seek_does_not_count(tmp_path: Path) -> None:
    async with reading({0: range(20)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)
        old, reader.got = reader.got, []
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)
        for message in old:
            message.ack(reader.consumer)
        await reader.consumer.commit()
        assert reader.thread.commits == []
        assert set(reader.consumer._unacked_messages) == set(reader.got)
        reader.ack(0, 1)
        await reader.consumer.commit()
        assert reader.thread.commits == [{0: 20}]


async def test_chunks_from_before_a_seek_hold_up_no_commit(tmp_path: Path) -> None:
    async with reading({0: range(20)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)
        reader.position[0] = Position(source=15, announced=15)
        await reader.begin()
        await eventually(lambda: len(reader.got) == 3)
        reader.ack(2)
        await reader.consumer.commit()
        assert reader.thread.commits == [{0: 20}]


async def test_what_is_done_is_committed_before_a_revocation(tmp_path: Path) -> None:
    async with reading({0: range(20)}, tmp_path) as reader:
        await reader.begin()
        await eventually(lambda: len(reader.got) == 2)
        reader.ack(0)
        await reader.revoke()
        assert reader.thread.commits == [{0: 10}]
        reader.ack(1)  # the chunk in hand is done while the rebalance waits for it
        await reader.consumer.wait_empty()
        assert reader.thread.commits == [{0: 10}, {0: 20}]


@pytest.mark.parametrize(("assigned", "committed"), [({0, 1}, {0: 10, 1: 20}), ({1}, {1: 20}), (set(), None)])
async def test_only_what_is_still_assigned_is_committed(
    monkeypatch: pytest.MonkeyPatch, assigned: set[int], committed: dict[int, int] | None
) -> None:
    asked: list[dict[int, int]] = []

    async def commit(thread: object, offsets: dict[TP, int]) -> bool:
        asked.append({tp.partition: offset for tp, offset in offsets.items()})
        return True

    monkeypatch.setattr(driver.AIOKafkaConsumerThread, "_commit", commit)
    thread = ChunkThread.__new__(ChunkThread)
    thread.assignment = lambda: set(map(tp_of, assigned))
    done = await thread._commit({tp_of(0): 10, tp_of(1): 20})
    assert (done, asked) == (committed is not None, [] if committed is None else [committed])


# -- patience


@pytest.fixture
async def hasty(tmp_path: Path) -> Reading:
    """A reader whose group rebalances quickly; it does not read by itself."""
    reader = Reading({0: range(20)}, tmp_path)
    reader.app.conf.broker_rebalance_timeout = 0.06
    return reader


async def test_a_chunk_that_never_ends_is_not_waited_for(hasty: Reading) -> None:
    await hasty.begin()
    await hasty.consumer._deliver_next()
    assert len(hasty.consumer._unacked_messages) == 2
    await asyncio.wait_for(hasty.consumer.wait_empty(), 5)
    assert len(hasty.consumer._unacked_messages) == 0


async def test_a_broker_that_does_not_take_the_commit_is_not_waited_for(hasty: Reading) -> None:
    await hasty.begin()
    await hasty.consumer._deliver_next()
    hasty.ack(0)
    hasty.thread.before_commit = asyncio.Event().wait
    stuck = asyncio.create_task(hasty.consumer.commit())  # Faust's own, under way
    await asyncio.sleep(0)
    await asyncio.wait_for(hasty.revoke(), 5)
    assert hasty.consumer._held
    stuck.cancel()


async def test_a_commit_that_fails_stops_no_rebalance(hasty: Reading) -> None:
    async def refuse() -> None:
        raise ConnectionError

    await hasty.begin()
    await hasty.consumer._deliver_next()
    hasty.ack(0, 1)
    hasty.thread.before_commit = refuse
    await hasty.revoke()
    assert hasty.thread.commits == []
