"""What a benchmark has found, in one shape: shown on the screen, as one JSON object, and as Markdown for the docs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Screen

Cell = str | int | float | None
_PACKAGES = ("faust-streaming", "aiokafka", "redis", "numpy", "msgspec", "pydantic", "uvloop")
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Table:
    """One table. Numbers are rounded by whoever makes it; `note` says how to read it."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    note: str = ""

    def markdown(self) -> str:
        """The table as the docs have it."""
        lines = [self.columns, ["---"] * len(self.columns), *[list(map(shown, row)) for row in self.rows]]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join(filter(None, (f"### {self.title}", table, self.note)))

    def show(self, console: Console) -> None:
        """Print it."""
        screen = Screen(*self.columns, title=self.title, title_justify="left")
        for row in self.rows:
            screen.add_row(*map(shown, row))
        console.print(screen)
        if self.note:
            console.print(self.note)


@dataclass(frozen=True)
class Target:
    """What was asked, what was found, and whether it is met."""

    name: str
    asked: str
    found: str
    met: bool


@dataclass(frozen=True)
class Outcome:
    """The result of one benchmark. `ratios`: ours to a peer's, above 1 = we are faster. `figures`: whatever else."""

    benchmark: str
    tables: list[Table]
    targets: list[Target] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        """One line, with the environment it was found in."""
        return json.dumps({**asdict(self), "environment": environment()})

    def report(self, *, as_json: bool) -> None:
        """Print tables and targets; on request end with the object."""
        console = Console(width=140)
        for table in [*self.tables, *targets_of(self.targets)]:
            table.show(console)
        if as_json:
            print(self.as_json(), flush=True)


def targets_of(targets: list[Target]) -> list[Table]:
    """The targets as a table, if there are any."""
    rows: list[list[Cell]] = [[one.name, one.asked, one.found, "yes" if one.met else "**no**"] for one in targets]
    return [Table("Targets", ["what", "asked", "found", "met"], rows)] if rows else []


def shown(value: Cell) -> str:
    """A cell as text."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,}"


def environment() -> dict[str, Any]:
    """Where this was measured: the machine, versions, and the commit."""
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
