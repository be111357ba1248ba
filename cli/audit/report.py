"""What an audit found, as numbers, as an object and as an exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from moodstream.cli.audit.compare import Difference
from moodstream.cli.audit.digest import Digest
from moodstream.cli.audit.sources import Rows

EXIT_EQUAL, EXIT_DIFFERENT, EXIT_PARTLY = 0, 1, 3
ENDS = ("accepted", "duplicate", "erased", "dead")
"""How a record can end."""


@dataclass(frozen=True, slots=True)
class CountFault:
    """A count of a partition in Redis that is not what its log gives."""

    partition: int
    name: str
    expected: int
    found: int


@dataclass(slots=True)
class Report:
    """What an audit found. `shown` limits the differences that are kept, not those that are counted."""

    shown: int = 10
    agents: int = 0
    """Agents with a row in Redis, in the changelog or by the log."""
    rows: int = 0
    """Rows in Redis, notices left out."""
    covered: int = 0
    """Agents whose whole log is there, so that every row could be folded again."""
    differences: int = 0
    """Rows and counts that are not as they should be."""
    pending: int = 0
    """Records that no worker has folded yet."""
    counts: Counter[str] = field(default_factory=Counter)
    """How the records ended: by the oracle, or by the worker where the log does not reach back far enough."""
    digest: Digest = field(default_factory=Digest)
    kept: list[Difference] = field(default_factory=list)
    count_faults: list[CountFault] = field(default_factory=list)

    @property
    def events(self) -> int:
        """Records of the log before the positions in Redis."""
        return self.counts.total()

    @property
    def exit_code(self) -> int:
        """0 equal, 1 different, 3 equal as far as it could be compared, but not everything is covered."""
        if self.differences:
            return EXIT_DIFFERENT
        return EXIT_EQUAL if self.covered == self.agents else EXIT_PARTLY

    def add_agent(self, redis: Rows, covered: bool) -> None:
        """Count an agent and its rows in Redis."""
        self.agents += 1
        self.covered += covered
        self.rows += len(redis)
        for key, row in redis.items():
            self.digest.add(key, row)

    def add(self, differences: list[Difference]) -> None:
        """Count rows that differ, and keep the first of them."""
        self.differences += len(differences)
        self.kept += differences[: max(0, self.shown - len(self.kept))]

    def add_count_faults(self, faults: list[CountFault]) -> None:
        """Count the counts that differ, and keep them all: there are few."""
        self.count_faults += faults
        self.differences += len(faults)

    def as_json(self) -> dict[str, int | str]:
        """The object with which `--json` ends."""
        return {
            "agents": self.agents,
            "rows": self.rows,
            "events": self.events,
            **{name: self.counts[name] for name in ENDS},
            "covered": self.covered,
            "differences": self.differences,
            "digest": self.digest.hex(),
        }
