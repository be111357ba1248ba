"""All benchmarks in order, each in a process of its own; what has been found is kept, and not measured again."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.places import say

Found = dict[str, Any]
"""The object that a benchmark ends with."""

LIMIT_SECONDS = 2_400
"""A benchmark that takes longer hangs."""
_STOP_SECONDS = 60
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Planned:
    """One benchmark: its name, what its results are headed by, and its options."""

    name: str
    heading: str
    options: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """As one types it."""
        return " ".join(("scripts/bench", self.name, *self.options))


PLAN = (
    Planned("pipeline", "The worker beside others", ("--agents", "1000,100000,1000000")),
    Planned("freshness", "Freshness"),
    Planned("publish", "Publishing"),
    Planned("restore", "Restore"),
    Planned("restart", "Restart"),
    Planned("scale", "Scale"),
    Planned("floor", "The floor"),
    Planned("trends", "Trends"),
    Planned("flood", "A flood of records that cannot be accepted"),
)

Words = Callable[[Planned], Sequence[str]]
"""The command of a benchmark, as the system takes it."""


def words_of(one: Planned) -> list[str]:
    """The real command."""
    return [str(_ROOT / "scripts/bench"), one.name, *one.options, "--json"]


@dataclass(frozen=True)
class Results:
    """Where results are kept: NAME.json each, beside NAME.log with all that was printed."""

    folder: Path

    def load(self, name: str) -> Found | None:
        """What was found, if anything."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def save(self, name: str, found: Found) -> None:
        """Keep what was found, in place of what was found before."""
        part = self.folder / f"{name}.json.part"
        part.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        part.replace(self.folder / f"{name}.json")

    def of_commit(self, name: str, commit: str) -> bool:
        """Whether there is a result of this commit; changes that were not committed make no difference."""
        found = self.load(name)
        return found is not None and _clean(found["environment"]["commit"]) == _clean(commit)


def _clean(commit: str) -> str:
    return commit.removesuffix("-dirty")


@dataclass
class Suite:
    """A run through a plan, within a budget of seconds."""

    results: Results
    commit: str
    budget: float
    words: Words = words_of
    clock: Callable[[], float] = time.monotonic
    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def run(self, plan: Iterable[Planned], *, again: bool) -> None:
        """Run what has no result of this commit, one after the other; `again`: all. Fills `failed` and `missing`."""
        self.results.folder.mkdir(parents=True, exist_ok=True)
        begin, todo = self.clock(), list(plan)
        for number, one in enumerate(todo, 1):
            elapsed = self.clock() - begin
            if not again and self.results.of_commit(one.name, self.commit):
                say(f"{one.name}: there is a result of {self.commit}")
            elif elapsed >= self.budget:
                self.missing.append(one.name)
            else:
                say(f"== {number} of {len(todo)}: {one.command} ({_minutes(elapsed, self.budget)})")
                self._measure(one)

    def _measure(self, one: Planned) -> None:
        began = self.clock()
        code, found = executed(self.words(one), self.results.folder / f"{one.name}.log")
        if found is not None:
            self.results.save(one.name, found)
        if code or found is None:
            self.failed.append(one.name)
            say(f"{one.name} failed with code {code}{'' if found else ', without a result'}")
        say(f"{one.name} took {self.clock() - began:.0f} s")


def executed(words: Sequence[str], log: Path, limit: float = LIMIT_SECONDS) -> tuple[int, Found | None]:
    """Run a command, its standard output to a log; give its exit code, and the object on its last line, if any."""
    with log.open("w") as out, subprocess.Popen(list(words), stdin=subprocess.DEVNULL, stdout=out) as process:
        try:
            code = process.wait(limit)
        except BaseException as error:
            _stop(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            say(f"stopped after {limit:g} s")
            return process.returncode, None
    return code, last_object(log.read_text(errors="replace"))


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # it takes its servers with it
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_object(text: str) -> Found | None:
    """The JSON object on the last line; None where there is something else."""
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and "environment" in found else None


def _minutes(elapsed: float, budget: float) -> str:
    left = max(budget - elapsed, 0)
    return f"{elapsed / 60:.0f} min so far, {left / 60:.0f} left"
