"""The results of rounds over several runs: a file that is written after each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from drill.results import Result, summed_up


class OtherDrillError(Exception):
    """The file holds the rounds of another drill."""


class Memory:
    """Results by round, kept in a file where one is given."""

    def __init__(self, identity: dict[str, Any], path: Path | None = None) -> None:
        self.results: dict[int, Result] = {}
        self._identity = identity
        self._path = path

    @classmethod
    def opened(cls, identity: dict[str, Any], path: Path | None) -> Memory:
        """Read the file, if there is one. Raises OtherDrillError where its rounds are not of this kind."""
        memory = cls(identity, path)
        if path is not None and path.exists():
            found = json.loads(path.read_text())
            if found["drill"] != identity:
                raise OtherDrillError(
                    f"{path} holds the rounds of {found['drill']}, this is {identity}: give another file"
                )
            memory.results = {each["number"]: Result.of(each) for each in found["rounds"]}
        return memory

    def add(self, result: Result) -> None:
        """Keep a result. The file is replaced at once, so that a stop in between leaves the old one."""
        self.results[result.number] = result
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_name(self._path.name + ".part")
            part.write_text(json.dumps(self.as_json(), indent=1))
            part.replace(self._path)

    def missing(self, rounds: int) -> list[int]:
        """The rounds that are still to be run."""
        return [number for number in range(rounds) if number not in self.results]

    def as_json(self) -> dict[str, Any]:
        """Identity, totals, and every round."""
        results = [self.results[number] for number in sorted(self.results)]
        return {
            "drill": self._identity,
            "totals": summed_up(results),
            "rounds": [result.as_json() for result in results],
        }
