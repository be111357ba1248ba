"""What the benchmarks make of their runs: medians, ratios of runs side by side, targets met or not."""

from __future__ import annotations

import json

import pytest

import flood
import restart
import restore
import trends
from bench.run import Result


def run(name: str, rate: float, cpu: float = 80) -> Result:
    return Result(name, 1_000, rate, cpu, 200.0, 0.1)


def test_a_flood_is_compared_with_the_valid_log_beside_it() -> None:
    pairs = [(run("valid", 10_000), run("flood", 20_000, 40)), (run("valid", 3_000), run("flood", 1_000, 160))]
    found = flood.outcome([*pairs, pairs[1]])
    assert found.figures["time_ratio"] == 3
    assert found.figures["cpu_ratio"] == 2
    assert [one.met for one in found.targets] == [False]
    assert found.tables[0].rows[1][-1] == "0.50 x"
    assert flood.outcome(pairs[:1]).targets[0].met


def test_restarts_are_compared_in_pairs() -> None:
    runs = [
        restart.Run(agents, ready, ready + 0.1, 4, 100.0, 0.5)
        for agents, ready in ((1_000, 1.0), (5_000, 2.0), (1_000, 4.0), (5_000, 4.0), (1_000, 2.0), (5_000, 2.0))
    ]
    found = restart.outcome(runs)
    assert found.figures["agents_ratios"]["ready"] == 1
    assert found.figures["medians"][1] == {"agents": 5_000, "ready_s": 2.0, "visible_s": 2.1}
    assert [one.met for one in found.targets] == [True, True]
    assert "5,000 agents to 1,000" in found.targets[0].name


def test_each_log_has_to_be_restored_fast_enough() -> None:
    runs = [
        restore.Run(log, 1_000, 280, 1.0, rate, 8.0, 200.0, 5.0, 0.5)
        for log, rate in (("as written", 90_000.0), ("compacted", 49_999.0))
    ]
    found = restore.outcome(runs)
    assert found.figures["rows_per_s"] == {"as written": 90_000, "compacted": 49_999}
    assert [one.met for one in found.targets] == [True, False]


def test_trends_without_a_target_have_none() -> None:
    results = [trends.Result("a", "row", 31.04, 30.0, 32.0, 30.0), trends.Result("b", "row", 9.0, 8.0, 10.0, None)]
    found = trends.outcome(results, 0.5)
    assert [(one.name, one.met) for one in found.targets] == [("a", False)]
    assert found.tables[0].rows[0] == ["a", 31.0, "row", 30.0, 32.0, 30.0, "missed by 3%"]
    assert found.tables[0].rows[1][-2:] == [None, ""]


@pytest.mark.parametrize("found", [flood.outcome([(run("valid", 1.0), run("flood", 1.0))]), trends.outcome([], 0.0)])
def test_outcomes_are_one_line_of_json(found: flood.Outcome) -> None:
    text = found.as_json()
    assert "\n" not in text
    assert {"benchmark", "tables", "targets", "ratios", "figures", "environment"} == set(json.loads(text))
