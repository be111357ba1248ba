"""Lanes: chunks in order, acknowledged when done, and quiet ends where the partition was taken away."""

from __future__ import annotations

import asyncio
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from moodstream.agents.lane import Lane, Lanes, Room
from moodstream.schemas.errors import Fenced, StateLost
from moodstream.state.ownership import Phase
from moodstream.streams.transport import Chunk
from support.waiting import eventually


class Event:
    """Faust's event, as far as a lane needs it."""

    def __init__(self) -> None:
        self.acked = False

    def ack(self) -> None:
        self.acked = True


class Pipeline:
    """Takes chunks, each known by its start, and lets them through when told; `fails` holds what a chunk raises."""

    def __init__(self, partition: int = 0, ownership: Any = None) -> None:
        self.ownership = ownership or SimpleNamespace(partition=partition, phase=Phase.READY)
        self.begun: list[int] = []
        self.done: list[int] = []
        self.chunks: list[Chunk] = []
        self.gate = asyncio.Event()
        self.pause = False
        self.fails: dict[int, BaseException] = {}

    async def process(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self.begun.append(chunk.start)
        await self.gate.wait()
        if self.pause:  # so long that the next chunk has come
            await turns()
        if chunk.start in self.fails:
            raise self.fails[chunk.start]
        self.done.append(chunk.start)


class Crashes(list[BaseException]):
    async def __call__(self, reason: BaseException) -> None:
        self.append(reason)


@pytest.fixture
def crashes() -> Crashes:
    return Crashes()


def chunk_of(start: int, size: int = 1) -> Chunk:
    return Chunk(0, start, start + size, [SimpleNamespace(offset=offset) for offset in range(start, start + size)])


def lane_of(pipeline: Pipeline, crashes: Crashes, most: int = 1) -> Lane:
    return Lane(pipeline, crashes, Room(2 * most), most)  # type: ignore[arg-type]


async def turns() -> None:
    """Let every task that can run do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_chunks_are_processed_in_order_and_acknowledged_when_done(crashes: Crashes) -> None:
    pipeline = Pipeline()
    lane = lane_of(pipeline, crashes)
    events = [Event(), Event()]
    for number, event in enumerate(events):
        await lane.put(event, chunk_of(number))
    await turns()
    assert (pipeline.begun, [event.acked for event in events]) == ([0], [False, False])
    pipeline.gate.set()
    await eventually(lambda: all(event.acked for event in events))
    assert pipeline.done == [0, 1]
    assert crashes == []


async def test_two_chunks_are_taken_and_the_third_waits(crashes: Crashes) -> None:
    pipeline = Pipeline()
    lane = lane_of(pipeline, crashes)
    await lane.put(Event(), chunk_of(0))
    await turns()
    await lane.put(Event(), chunk_of(1))
    third = asyncio.create_task(lane.put(Event(), chunk_of(2)))
    await turns()
    assert not third.done()
    pipeline.gate.set()
    await third
    await eventually(lambda: pipeline.done == [0, 1, 2])


async def test_what_has_come_meanwhile_is_taken_together(crashes: Crashes) -> None:
    pipeline = Pipeline()
    lane = lane_of(pipeline, crashes, most=5)
    events = [Event() for _ in range(6)]
    starts = [(0, 1), (1, 2), (3, 1), (4, 4), (20, 1), (3, 1)]  # the last two do not follow: a gap, and a seek
    putting = asyncio.create_task(put_all(lane, events, [chunk_of(*one) for one in starts]))
    await eventually(lambda: lane._records == 3)  # the fourth has no room yet
    pipeline.gate.set()
    await putting
    await eventually(lambda: all(event.acked for event in events))
    assert [(one.start, one.end) for one in pipeline.chunks] == [(0, 1), (1, 4), (4, 8), (20, 21), (3, 4)]
    assert [len(one.records) for one in pipeline.chunks] == [1, 3, 4, 1, 1]
    assert [record.offset for record in pipeline.chunks[1].records] == [1, 2, 3]


async def put_all(lane: Lane, events: list[Event], chunks: list[Chunk]) -> None:
    for event, chunk in zip(events, chunks, strict=True):
        await lane.put(event, chunk)
        await turns()


async def test_a_chunk_of_more_than_the_most_is_taken_alone(crashes: Crashes) -> None:
    pipeline = Pipeline()
    pipeline.gate.set()
    lane = lane_of(pipeline, crashes, most=2)
    await lane.put(first := Event(), chunk_of(0, size=9))
    await lane.put(second := Event(), chunk_of(9))
    await eventually(lambda: first.acked and second.acked)
    assert pipeline.begun == [0, 9]


async def test_a_chunk_that_fails_is_not_acknowledged_and_ends_the_worker(crashes: Crashes) -> None:
    pipeline = Pipeline()
    pipeline.fails[0] = StateLost("gone")
    pipeline.gate.set()
    event, behind = Event(), Event()
    lane = lane_of(pipeline, crashes)
    await lane.put(event, chunk_of(0))
    await lane.put(behind, chunk_of(1))
    await eventually(lambda: crashes)
    assert crashes == [pipeline.fails[0]]
    await turns()
    assert (event.acked, behind.acked, pipeline.begun) == (False, False, [0])


async def test_what_fails_after_the_partition_was_taken_away_is_dropped(crashes: Crashes) -> None:
    pipeline = Pipeline()
    pipeline.fails[0] = Fenced("closed")
    lane = lane_of(pipeline, crashes)
    event = Event()
    await lane.put(event, chunk_of(0))
    await turns()
    pipeline.ownership.phase = Phase.CLOSED
    pipeline.gate.set()
    await turns()
    assert (crashes, event.acked) == ([], False)


@pytest.mark.parametrize("ending", ["closed", "failed"])
async def test_nobody_waits_for_a_lane_that_has_ended(crashes: Crashes, ending: str) -> None:
    pipeline = Pipeline()
    pipeline.fails[0] = StateLost("gone")
    lane = lane_of(pipeline, crashes)
    await lane.put(Event(), chunk_of(0))
    await turns()
    waiting = [asyncio.create_task(lane.put(Event(), chunk_of(number))) for number in range(1, 4)]
    await turns()
    if ending == "closed":
        lane.close()
    else:
        pipeline.gate.set()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    await asyncio.wait_for(lane.put(Event(), chunk_of(5)), 5)
    assert pipeline.begun == [0]
    if ending == "failed":
        assert not lane._waiting


async def test_a_put_that_is_cancelled_leaves_nothing_behind(crashes: Crashes) -> None:
    pipeline = Pipeline()
    lane = lane_of(pipeline, crashes)
    await lane.put(Event(), chunk_of(0))
    await turns()
    await lane.put(Event(), chunk_of(1))
    putting = asyncio.create_task(lane.put(Event(), chunk_of(2)))
    await turns()
    putting.cancel()
    pipeline.gate.set()
    await eventually(lambda: pipeline.done == [0, 1])
    await turns()
    assert pipeline.begun == [0, 1]


async def test_so_many_records_are_in_hand_over_all_lanes(crashes: Crashes) -> None:
    pipelines = [Pipeline(partition) for partition in range(3)]
    lanes = Lanes(lambda owned: pipelines[owned.partition], crashes, chunk=1)  # type: ignore[arg-type,return-value]
    for pipeline in pipelines:
        await lanes.of(pipeline.ownership).put(Event(), chunk_of(0))
    await turns()
    assert [len(pipeline.begun) for pipeline in pipelines] == [1, 1, 0]
    pipelines[1].gate.set()
    await turns()
    assert [len(pipeline.begun) for pipeline in pipelines] == [1, 1, 1]
    lanes.close()


async def test_a_lane_with_little_is_served_beside_lanes_with_much(crashes: Crashes) -> None:
    pipelines = [Pipeline(partition) for partition in range(3)]
    for pipeline in pipelines:
        pipeline.pause = True
        pipeline.gate.set()
    lanes = Lanes(lambda owned: pipelines[owned.partition], crashes, chunk=5)  # type: ignore[arg-type,return-value]

    async def feed(partition: int) -> None:
        for start in count(0, 5):
            await lanes.of(pipelines[partition].ownership).put(Event(), chunk_of(start, size=5))

    feeding = [asyncio.create_task(feed(partition)) for partition in range(2)]
    await eventually(lambda: len(pipelines[0].done) > 3)
    await lanes.of(pipelines[2].ownership).put(Event(), chunk_of(0))
    await eventually(lambda: pipelines[2].done == [0], seconds=5)
    for one in feeding:
        one.cancel()
    lanes.close()


async def test_a_lane_that_is_closed_gives_its_turn_to_others(crashes: Crashes) -> None:
    stuck, other = Pipeline(0), Pipeline(1)
    lanes = Lanes(lambda owned: [stuck, other][owned.partition], crashes, chunk=1)  # type: ignore[arg-type,return-value]
    await lanes.of(stuck.ownership).put(Event(), chunk_of(0, size=2))
    await turns()
    lanes.close()
    await lanes.of(other.ownership).put(Event(), chunk_of(0))
    await turns()
    assert other.begun == [0]
    lanes.close()


async def test_an_ownership_keeps_its_lane_and_a_new_one_gets_another(crashes: Crashes) -> None:
    made: list[Pipeline] = []

    def pipeline(owned: Any) -> Pipeline:
        made.append(Pipeline(ownership=owned))
        return made[-1]

    lanes = Lanes(pipeline, crashes, chunk=1)  # type: ignore[arg-type]
    old, new = (SimpleNamespace(partition=7, phase=Phase.READY) for _ in range(2))
    first = lanes.of(old)  # type: ignore[arg-type]
    assert lanes.of(old) is first  # type: ignore[arg-type]
    event = Event()
    await first.put(event, chunk_of(1))
    await turns()
    second = lanes.of(new)  # type: ignore[arg-type]
    assert second is not first
    for one in made:
        one.gate.set()
    await second.put(Event(), chunk_of(2))
    await turns()
    assert [one.done for one in made] == [[], [2]]
    assert not event.acked
    lanes.close()
