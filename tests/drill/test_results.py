"""Results: what counts as a failure, how they add up, and how a run goes on where another one stopped."""

import json
from pathlib import Path

import pytest

from drill.memory import Memory, OtherDrillError
from drill.options import parsed
from drill.pace import Pace
from drill.report import kinds_table, line, rounds_table
from drill.results import FAULTY, Result, summed_up

ME = {"seed": 1, "faults": ["redis-kill"], "workers": 2, "rate": 200.0, "plant": None}


def result(number: int, *kinds: str, **values: object) -> Result:
    return Result(number, "one", list(kinds), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FAULTY)
def test_a_finding_fails_a_round(name: str) -> None:
    one = result(0)
    assert one.ok
    one.note(name, [f"finding {number}" for number in range(9)])
    assert not one.ok
    assert getattr(one, name) == 9
    assert len(one.problems) == 5


def test_a_round_that_broke_down_has_failed() -> None:
    assert not result(0, problems=["TimeoutError: the end of the log"]).ok


def test_faults_are_counted_by_kind_with_their_longest_pauses() -> None:
    rounds = [result(0, "a", pause=2.0), result(1, "a", "b", pause=5.0), result(2, "b", pause=1.0, lost=3)]
    found = summed_up(rounds)
    assert found["faults"] == {"a": 2, "b": 2}
    assert found["pauses"] == {"a": {"longest": 5.0, "alone": 2.0}, "b": {"longest": 5.0, "alone": 1.0}}
    assert (found["lost"], found["failed"], found["rounds"]) == (3, [2], 3)


def test_nothing_adds_up_to_nothing() -> None:
    assert summed_up([])["rounds"] == 0


def test_tables_have_a_line_for_each() -> None:
    rounds = [result(0, "a", pause=2.0), result(1, "b", lost=1)]
    assert rounds_table(rounds).row_count == 2
    assert kinds_table(summed_up(rounds)).row_count == 2


def test_a_round_is_told_in_a_line() -> None:
    told = line(result(3, "a", "b", events=7, pause=1.25, phases={"start": 2.0}, lost=1))
    assert told == "round 3: a, b: FAILED, 7 events, pause 1.2 s, start 2 s"


def test_many_rounds_are_shown_in_part_and_failed_ones_always() -> None:
    rounds = [result(number, "a", lost=int(number == 3)) for number in range(100)]
    assert rounds_table(rounds).row_count == 41


def test_a_run_goes_on_where_another_one_stopped(tmp_path: Path) -> None:
    path = tmp_path / "results" / "drill.json"
    first = Memory.opened(ME, path)
    assert first.missing(3) == [0, 1, 2]
    first.add(result(0, "redis-kill", events=7))
    first.add(result(2, "redis-kill", events=5, troubles={"late": 2}))
    second = Memory.opened(ME, path)
    assert second.missing(4) == [1, 3]
    second.add(result(1, "redis-kill", events=1))
    found = json.loads(path.read_text())
    assert [each["number"] for each in found["rounds"]] == [0, 1, 2]
    assert found["totals"]["events"] == 13
    assert second.results[2] == first.results[2]


def test_rounds_of_another_drill_are_not_added(tmp_path: Path) -> None:
    path = tmp_path / "drill.json"
    Memory.opened(ME, path).add(result(0))
    with pytest.raises(OtherDrillError, match="seed"):
        Memory.opened({**ME, "seed": 2}, path)


def test_what_options_say_is_what_a_file_is_known_by(tmp_path: Path) -> None:
    path, options = tmp_path / "drill.json", parsed(["--seed", "4"])
    Memory.opened(options.identity, path).add(result(0))
    assert Memory.opened(parsed(["--seed", "4", "--rounds", "99"]).identity, path).missing(2) == [1]


def test_the_pause_is_the_longest_time_without_progress_where_there_was_something_to_read() -> None:
    pace = Pace()
    for now, end, source in [(0, 5, 5), (10, 6, 5), (11, 8, 5), (12, 9, 7), (13, 9, 7), (16, 9, 9), (50, 9, 9)]:
        pace.look(now, {0: end}, {0: source})
    assert pace.longest == 1
    pace.look(51, {0: 10}, {0: 9})
    pace.look(55, {0: 12}, {})
    assert pace.longest == 4


def test_a_redis_that_has_gone_back_makes_no_progress_until_it_is_beyond() -> None:
    pace = Pace()
    for now, source in [(0, 5), (1, 0), (2, 3), (3, 5), (4, 6)]:
        pace.look(now, {0: 9}, {0: source})
    assert pace.longest == 3


def test_one_partition_that_stands_still_is_seen_beside_others_that_move() -> None:
    pace = Pace()
    for now in range(6):
        pace.look(now, {0: 100, 1: 100}, {0: now * 10, 1: 0})
    assert pace.longest == 5


def test_a_fault_that_could_not_be_done_is_told_from_a_finding() -> None:
    undone = "RuntimeError: slots-moved: TimeoutError: nodes that agree did not come about within 30 s"
    assert Result(1, "cluster", ["slots-moved"], problems=[undone]).undone
    assert not Result(1, "cluster", ["slots-moved"], problems=[undone, "lost: one"]).undone
    assert not Result(
        1, "cluster", ["slots-moved"], problems=["RuntimeError: worker-term: TimeoutError: an end"]
    ).undone
    assert not Result(1, "cluster", ["slots-moved"]).undone
