"""Running all benchmarks: what is run again, what a failure or the end of the time does, what the page becomes."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.outcome import Outcome, Table, Target, environment
from bench.page import BEGIN, END, generated, replaced
from bench.suite import PLAN, Found, Planned, Results, Suite, executed, last_object

everything = importlib.import_module("all")
A, B, C = (Planned(name, f"About {name}") for name in "abc")
HERE = "1234567"


def result(name: str, commit: str = HERE, met: bool = True) -> Found:
    table = Table("Times", ["what", "ms"], [["one", 1.5], ["two", None]], "Medians.")
    outcome = Outcome(name, [table], [Target("speed", "under 2 ms", "1.5 ms", met)])
    return {**json.loads(outcome.as_json()), "environment": {**environment(), "commit": commit}}


def stub(code: str) -> list[str]:
    return [sys.executable, "-c", code]


class Stage:
    """A suite whose benchmarks are stubs that take a minute each by its clock."""

    def __init__(self, folder: Path, minutes: float = 75, broken: Callable[[Planned], str | None] = lambda _: None):
        self.results, self.began = Results(folder / "results"), list[str]()
        self._now, self._broken = 0.0, broken
        self.suite = Suite(self.results, HERE, minutes * 60, self.words, lambda: self._now)

    def words(self, one: Planned) -> list[str]:
        self.began.append(one.name)
        self._now += 60
        return stub(self._broken(one) or f"print('a table'); print({json.dumps(result(one.name))!r})")

    def run(self, *, again: bool = False) -> Suite:
        self.suite.run([A, B, C], again=again)
        return self.suite


def test_each_result_is_kept_and_not_measured_again(tmp_path: Path) -> None:
    first = Stage(tmp_path)
    first.run()
    assert first.began == ["a", "b", "c"]
    assert [first.results.load(name) == result(name) for name in "abc"] == [True] * 3
    first.results.save("b", result("b", "of before"))
    first.results.save("c", result("c", f"{HERE}-dirty"))
    second = Stage(tmp_path)
    second.run()
    assert second.began == ["b"]
    third = Stage(tmp_path)
    third.run(again=True)
    assert third.began == ["a", "b", "c"]


def test_a_failure_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, broken=lambda one: "import sys; print('no object'); sys.exit(3)" if one is A else None)
    suite = stage.run()
    assert (suite.failed, suite.missing, stage.began) == (["a"], [], ["a", "b", "c"])
    assert stage.results.load("a") is None
    assert (stage.results.folder / "a.log").read_text() == "no object\n"


def test_a_benchmark_that_ends_with_1_may_have_a_result(tmp_path: Path) -> None:
    text = json.dumps(result("a", met=False))
    stage = Stage(tmp_path, broken=lambda one: f"import sys; print({text!r}); sys.exit(1)" if one is A else None)
    assert stage.run().failed == ["a"]
    assert stage.results.load("a") == result("a", met=False)


def test_when_the_time_is_up_no_other_is_begun(tmp_path: Path) -> None:
    stage = Stage(tmp_path, minutes=1.5)
    suite = stage.run()
    assert (stage.began, suite.missing, suite.failed) == (["a", "b"], ["c"], [])


def test_a_result_that_is_there_costs_no_time(tmp_path: Path) -> None:
    stage = Stage(tmp_path, minutes=0)
    stage.results.folder.mkdir()
    stage.results.save("c", result("c"))
    assert stage.run().missing == ["a", "b"]


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    code, found = executed(stub("import time; time.sleep(60)"), tmp_path / "log", limit=0.2)
    assert code
    assert found is None


@pytest.mark.parametrize("text", ["", "a table", "[1]", "{}", '{"environment": 1', '{"environment": {}}\nmore'])
def test_what_is_no_result_is_none(text: str) -> None:
    assert last_object(text) is None


PAGE = f"# Benchmarks\n\nBy hand.\n\n{BEGIN}\n\nold\n\n{END}\n\n## By hand too\n\nstays\n"


def test_only_what_is_between_the_markers_changes() -> None:
    page = replaced(PAGE, "new\n")
    assert page == PAGE.replace("old", "new")
    assert replaced(page, "new") == page


@pytest.mark.parametrize("page", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_page_without_its_markers_is_left_alone(page: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        replaced(page, "new")


def test_the_page_has_targets_first_then_each_benchmark_with_its_command() -> None:
    found = generated([(A, result("a")), (B, result("b", "7654321", met=False))], ["c"])
    lines = [line for line in found.splitlines() if line]
    assert f"at commit {HERE} and 7654321:" in lines[0]
    assert lines[1] == "### Targets"
    assert "| a | speed | under 2 ms | 1.5 ms | yes |" in lines
    assert "| b | speed | under 2 ms | 1.5 ms | **no** |" in lines
    assert lines.index("Not measured: c.") < lines.index("## About a") < lines.index("## About b")
    at = lines.index("## About b")
    table = ["### Times", "| what | ms |", "| --- | --- |", "| one | 1.5 |", "| two | - |", "Medians."]
    assert lines[at + 1 : at + 8] == ["    scripts/bench b", *table]


def test_without_results_the_page_says_how_to_get_them() -> None:
    assert "`scripts/bench all`" in generated([], ["a"])


def test_stored_results_are_written_into_a_page(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", Results(tmp_path)
    page.write_text(PAGE)
    results.save("trends", result("trends"))
    everything.write(page, results)
    assert "    scripts/bench trends\n" in page.read_text()
    assert "Not measured: pipeline, " in page.read_text()
    assert page.read_text().endswith("stays\n")


def test_names_are_checked_and_put_in_order() -> None:
    assert [one.name for one in everything.chosen("flood,publish")] == ["publish", "flood"]
    with pytest.raises(argparse.ArgumentTypeError, match="no such benchmark: nonsense"):
        everything.chosen("flood,nonsense")


def test_every_planned_benchmark_is_there_and_the_page_can_be_written() -> None:
    root = Path(everything.__file__).parents[1]
    assert all((root / "benchmarks" / f"{one.name}.py").exists() for one in PLAN)
    assert replaced((root / "docs/benchmarks.md").read_text(), "new")
