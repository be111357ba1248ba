"""The parts of `floor`: what a meter leaves out, and that the pipelines in memory write what a worker would."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import floor
from bench import meter as meters
from bench import parts
from bench.meter import Cost, Meter
from bench.recorded import processed
from bench.run import Result
from bench.workload import Workload
from moodstream.schemas.changelog import POSITION_KEY
from moodstream.schemas.identity import partition_of
from moodstream.state.rows import Kind, kind_of, split_row_key
from moodstream.streams.settings import StreamSettings
from support.chunks import Record


def test_costs_are_per_event_and_leave_out_what_is_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    fake = SimpleNamespace(perf_counter=lambda: clock.now, process_time=lambda: clock.now / 2)
    monkeypatch.setattr(meters, "time", fake)
    meter = Meter([], 1_000)
    with meter.piece("a"):
        clock.now += 2
        with meter.outside():
            clock.now += 40
    assert meter.cost("a") == Cost(2_000, 1_000, 0)


def test_the_median_is_taken_value_by_value() -> None:
    assert Cost.median([Cost(1, 9, 0), Cost(2, 5, 1), Cost(3, 1, 5)]) == Cost(2, 5, 1)


async def test_what_the_pipelines_write_is_recorded() -> None:
    settings, events = StreamSettings(partitions=2, chunk=100), list(Workload(500, 20))
    records: dict[int, list[Record]] = {0: [], 1: []}
    for key, value in events:
        some = records[partition_of(key, 2)]
        some.append(Record(len(some), key, value))
    meter = Meter([], len(events))
    work = await processed(meter, records, settings)  # type: ignore[arg-type]
    assert meter.cost("memory").cpu > 0
    for one in work:
        chunks = -(-len(records[one.partition]) // 100)
        assert len(one.appended) == len(one.flushed) == chunks
        for (_, appended), (rows, meta) in zip(one.appended, one.flushed, strict=True):
            assert dict(appended).keys() - {POSITION_KEY} == rows.keys()
            assert meta["accepted"]
    kinds = [kind_of(split_row_key(key)[1]) for one in work for rows, _ in one.flushed for key in rows]
    assert kinds.count(Kind.MEMORY) == len(events)


def test_parts_do_not_overlap_and_stand_beside_the_worker() -> None:
    meter = Meter([], 10)
    cost = {"poll": 2.0, "poll and decode": 12.0, "memory": 60.0, "changelog": 5.0, "Redis": 6.0, "outputs": 1.0}
    for name, value in cost.items():
        meter.taken[name].append(Cost(value * 2, value, 0))
    found = floor.outcome(floor.Found(meter, [], 3_750, 6_000, Result("moodstream", 10, 10_000, 96, 200, 0.1)))
    costs = {row[0]: row[1:3] for row in found.tables[0].rows}
    assert costs["decode"] == [20, 10]
    assert costs["fold and pack the rows"] == [100, 50]
    assert costs["all parts"] == [148, 74]
    assert costs["the worker"] == [100, 96]
    assert found.figures["worker_to_floor_cpu"] == pytest.approx(96 / 74, abs=0.01)
    assert found.figures["written"]["log of events"] == {"records": 1, "bytes": 375}


def test_sizes_count_deleted_rows_too() -> None:
    assert parts.size_of([(b"key", b"value"), (b"key", None), (None, b"v")]) == 12
