"""What came out: of a round, and of all rounds together."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

FAULTY = ("lost", "double", "differences", "false_reads", "unburied", "unannounced")
"""Numbers that have to be 0."""


@dataclass
class Result:
    """One round. Seconds, and numbers of what was found."""

    number: int
    setup: str
    kinds: list[str]
    events: int = 0
    """Records that the broker has acknowledged."""
    agents: int = 0
    answers: int = 0
    """Answers of the query service that were checked."""
    lost: int = 0
    double: int = 0
    differences: int = 0
    """Rows and counts that audit does not find as they should be."""
    false_reads: int = 0
    unburied: int = 0
    """Malformed records without a dead letter."""
    unannounced: int = 0
    """Agents whose last mood was not announced."""
    pause: float = 0.0
    """Longest time in which a partition did not move although it had something to read."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds of each part of the round."""
    seconds: float = 0.0
    ended: int = 0
    """Processes that ended by themselves and had to be started again."""
    troubles: dict[str, int] = field(default_factory=dict)
    """What was wrong with the input."""
    problems: list[str] = field(default_factory=list)
    """What went wrong, in words: the first of each kind."""
    began: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems and not any(getattr(self, name) for name in FAULTY)

    @property
    def undone(self) -> bool:
        """Whether the fault itself could not be done: a Redis Cluster of ours whose nodes do not agree in time."""
        return len(self.problems) == 1 and "slots-moved: TimeoutError: nodes that agree" in self.problems[0]

    def note(self, name: str, found: list[str]) -> None:
        """Count findings of a kind, and keep the first few in words."""
        setattr(self, name, getattr(self, name) + len(found))
        self.problems += [f"{name}: {text}" for text in found[:5]]

    def as_json(self) -> dict[str, Any]:
        """Give it as an object."""
        return {**asdict(self), "ok": self.ok}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Result:
        """Read what `as_json` gave."""
        names = {each.name for each in fields(cls)}
        return cls(**{name: each for name, each in value.items() if name in names})


def summed_up(results: Iterable[Result]) -> dict[str, Any]:
    """Totals over rounds, the faults by kind, and the longest pause of each kind."""
    found = list(results)
    faults = Counter(kind for result in found for kind in result.kinds)
    troubles = Counter(name for result in found for name, count in result.troubles.items() if count)
    return {
        "rounds": len(found),
        "failed": [result.number for result in found if not result.ok],
        "faults": dict(sorted(faults.items())),
        "input": dict(sorted(troubles.items())),
        "events": sum(result.events for result in found),
        "answers": sum(result.answers for result in found),
        **{name: sum(getattr(result, name) for result in found) for name in FAULTY},
        "longest_pause": max((result.pause for result in found), default=0.0),
        "pauses": {kind: _pauses(found, kind) for kind in sorted(faults)},
        "seconds": round(sum(result.seconds for result in found), 1),
        "seconds_per_round": round(statistics.median([result.seconds for result in found] or [0.0]), 1),
        "ended": sum(result.ended for result in found),
    }


def _pauses(results: list[Result], kind: str) -> dict[str, float | None]:
    """The longest pause of rounds with this fault, and of those with this fault alone (null: there were none)."""
    mine = [result for result in results if kind in result.kinds]
    alone = [result.pause for result in mine if len(result.kinds) == 1]
    return {"longest": max(result.pause for result in mine), "alone": max(alone) if alone else None}
