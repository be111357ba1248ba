"""What the command shows: a table of rounds, one of kinds, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from drill.results import FAULTY, Result

_MOST_ROUNDS = 40


def show(console: Console, results: Sequence[Result], totals: dict[str, Any]) -> None:
    """Print everything; of many rounds the last ones and all that failed."""
    console.print(rounds_table(results))
    console.print(kinds_table(totals))
    numbers = ", ".join(f"{totals[name]:,} {name.replace('_', ' ')}" for name in FAULTY)
    console.print(f"{totals['rounds']:,} rounds, {totals['events']:,} events, {totals['answers']:,} answers: {numbers}")
    colour = "red" if totals["failed"] else "green"
    failed = f"failed: rounds {', '.join(map(str, totals['failed']))}" if totals["failed"] else "all as the log says"
    console.print(f"[bold {colour}]{failed}[/bold {colour}]")


def line(result: Result) -> str:
    """Tell of a round where no bar is seen."""
    verdict = "ok" if result.ok else "FAILED"
    told = f"round {result.number}: {', '.join(result.kinds)}: {verdict}, {result.events} events"
    phases = [f"{name} {seconds:.0f} s" for name, seconds in result.phases.items()]
    return ", ".join([told, f"pause {result.pause:.1f} s", *phases])


def rounds_table(results: Sequence[Result]) -> Table:
    """A line for each round."""
    table = Table("round", "faults", "events", "answers", "differences", "pause s", "seconds", "", box=None)
    shown = [result for place, result in enumerate(results) if not result.ok or place >= len(results) - _MOST_ROUNDS]
    for result in shown:
        wrong = sum(getattr(result, name) for name in FAULTY)
        cells = (result.number, ", ".join(result.kinds), result.events, result.answers, wrong)
        verdict = "ok" if result.ok else "[red]failed[/red]"
        table.add_row(*map(str, cells), f"{result.pause:.1f}", f"{result.seconds:.0f}", verdict)
    return table


def kinds_table(totals: dict[str, Any]) -> Table:
    """A line for each kind of fault: how often, and the longest pause of progress."""
    table = Table("fault", "times", "longest pause s", "alone s", box=None)
    for kind, times in totals["faults"].items():
        pauses = totals["pauses"][kind]
        alone = "-" if pauses["alone"] is None else f"{pauses['alone']:.1f}"
        table.add_row(kind, str(times), f"{pauses['longest']:.1f}", alone)
    return table
