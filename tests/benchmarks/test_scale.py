"""The workloads of `scale`, and what is made of its samples."""

from __future__ import annotations

import pytest

import scale
from bench.sized import Sized, described, row_bytes
from bench.window import Sample
from bench.workers import Run, summed
from bench.workload import Workload
from moodstream.schemas.codec import decode
from moodstream.schemas.limits import Limits


@pytest.mark.parametrize("size", [0, 20, 700, 3_700])
def test_descriptions_are_as_long_as_asked_and_valid(size: int) -> None:
    assert len(described(size)) == size
    (key, value), *_ = list(Sized(Workload(3, 1), size))
    event = decode(key, value, [], limits=Limits(), timestamp_ms=None).event
    assert len(event.description) == size or not size  # type: ignore[union-attr]


@pytest.mark.parametrize(("description", "low", "high"), [(0, 100, 400), (700, 900, 1_100), (3_700, 3_900, 4_100)])
async def test_rows_have_about_the_size_that_they_are_measured_for(description: int, low: int, high: int) -> None:
    assert low < await row_bytes(description) < high


def test_what_was_read_before_the_workers_had_settled_does_not_count() -> None:
    samples = [Sample(float(t), 5_000 + 100 * t, 0.5 * t, 0.25 * t, 1.0 * t) for t in range(20)]
    found = summed(samples, [200.0, 210.0])
    assert found.events_per_s == pytest.approx(100)
    assert found.cpu_s_per_million == pytest.approx(5_000)
    assert found.rss_mb == [200.0, 210.0]


def test_each_table_begins_with_the_same_case() -> None:
    run = Run(9_000.4, 80.06, 0.123, [200.2, 180.8])
    found = scale.outcome([scale.Result(case, 190, run) for case in scale.CASES])
    assert [len(table.rows) for table in found.tables] == [2, 3, 3]
    assert all(table.rows[0] == [1, 4, 190, 9_000, 80.1, "200, 181", 0.12] for table in found.tables)
    assert [row[1] for row in found.tables[1].rows] == [4, 16, 64]


def test_backlogs_of_large_events_are_shorter() -> None:
    assert scale.rate_of(scale.CASES[0], 16_000) == 16_000
    assert scale.rate_of(scale.CASES[-1], 16_000) < 5_000
