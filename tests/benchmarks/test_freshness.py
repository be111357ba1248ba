"""The parts of `freshness` that decide something: the search, what counts as flat, the load, the quantiles."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import freshness
from bench.feed import Feed
from bench.latency import Latency
from bench.loading import Pace
from bench.probing import Times, Waiting, Watch, steadily
from bench.searching import Found, Search, flat, growth
from bench.workload import Workload
from moodstream.schemas.identity import partition_of


async def searched(limit: float, start: float = 1_000, resolution: float = 1.1) -> Found:
    async def holds(rate: float) -> bool:
        return rate <= limit

    return await Search(start, resolution=resolution).highest(holds)


@pytest.mark.parametrize("limit", [120, 999, 1_000, 5_432, 90_000])
async def test_the_highest_rate_is_found_to_the_resolution(limit: float) -> None:
    found = await searched(limit)
    assert found.good <= limit < found.bad
    assert found.bad / found.good <= 1.1
    assert len(found.tried) < 16


async def test_nothing_is_borne() -> None:
    with pytest.raises(RuntimeError, match="not even"):
        await searched(1)


async def test_a_search_ends_where_all_is_borne() -> None:
    found = await searched(float("inf"), start=500_000)
    assert found.good > 500_000
    assert len(found.tried) == 2


def saw(rate: float, lost: float) -> list[tuple[float, float]]:
    """A lag that swings by a second's events, and grows by a share of the rate; ten seconds."""
    return [(n / 4, rate * ((n / 4) % 1) + lost * rate * n / 4) for n in range(40)]


def test_a_lag_that_swings_is_flat_and_one_that_creeps_is_not() -> None:
    assert flat(saw(1_000, 0), 1_000)
    assert flat(saw(1_000, 0.02), 1_000)
    assert not flat(saw(1_000, 0.1), 1_000)
    assert growth(saw(1_000, 0.1)) == pytest.approx(100, rel=0.1)


def test_quantiles_are_probes_that_there_were() -> None:
    found = Latency.of([n / 1000 for n in range(2_000, 0, -1)])
    assert (found.probes, found.median, found.p99, found.p999, found.most) == (2_000, 1_000, 1_980, 1_998, 2_000)
    assert found.enough
    assert not Latency.of([0.5]).enough
    with pytest.raises(ValueError, match="no probe"):
        Latency.of([])


def test_a_feed_repeats_its_workload_with_new_ids_and_later_times() -> None:
    feed, found = Feed(Workload(50, 5), 3), []
    for _ in range(3):
        for partition, records in feed.take(50).items():
            for key, value in records:
                assert partition_of(key, 3) == partition
                found.append(json.loads(value))
    assert len({event["event_id"] for event in found}) == 150
    rounds = [found[start : start + 50] for start in (0, 50, 100)]
    for before, after in pairwise(rounds):
        assert max(one["occurred_at"] for one in before) < min(one["occurred_at"] for one in after)
        same = {"event_id", "turn_id", "occurred_at"}
        assert [{k: v for k, v in one.items() if k not in same} for one in before] == [
            {k: v for k, v in one.items() if k not in same} for one in after
        ]


def test_the_pace_makes_up_for_what_was_missed_but_not_for_all_of_it() -> None:
    pace = Pace(0.0)
    assert pace.due(5) == 0
    pace.rate = 250
    assert sum(pace.due(5 + n / 100) for n in range(1, 101)) == 250
    assert pace.due(20) == 250


async def test_probes_are_fired_whether_or_not_earlier_ones_came_through() -> None:
    done = []

    async def do() -> None:
        done.append(len(done))

    await steadily(10_000, 0.01, do)
    assert done == list(range(100))


def test_an_answer_tells_of_every_probe_up_to_its_version() -> None:
    watch = Watch()
    watch.waiting.extend([Waiting(5, 1.0), Waiting(6, 1.5), Waiting(9, 2.0)])
    watch.answered(4, 2.5)
    assert watch.times.seen == []
    watch.answered(8, 3.0)
    assert (watch.times.seen, len(watch.waiting)) == ([2.0, 1.5], 1)
    with pytest.raises(RuntimeError, match="not seen"):
        watch.answered(8, 90.0)


def test_targets_and_notes_are_told() -> None:
    part = freshness.Part("half load", 1_000.0, Times([0.005] * 10, [0.12] * 10, [0.002]), {"worker": 0.5})
    idle = freshness.Part("idle", 0.0, Times([0.005] * 10, [0.02] * 10, [0.002]), {"worker": 0.1})
    found = freshness.outcome(Found(2_000, 2_150, [(2_000, True), (2_150, False)]), [part, idle], 1.1)
    assert [one.met for one in found.targets] == [False, True]
    assert "2,000 events/s" in found.tables[0].note
    assert "Too few probes for p99.9 (half load, idle)" in found.tables[0].note
    assert found.figures["highest_rate"] == 2_000
