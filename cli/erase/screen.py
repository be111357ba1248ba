"""How an erasure is shown to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moodstream.cli.erase.found import Result, Target
from moodstream.cli.erase.traces import Traces
from moodstream.schemas.instants import iso

_SHOWN = 100


def show_targets(console: Console, targets: Sequence[Target]) -> None:
    """Write what would go, a line an agent."""
    if not targets:
        console.print("There is nothing of it.")
        return
    table = Table("tenant", "agent", "what", "memories", "shifts", "pairs", "rows", box=None)
    for target in targets[:_SHOWN]:
        numbers = (f"{count:,}" for count in asdict(target.taken).values())
        event = target.event
        what = "everything" if target.of is None else f"{event.scope.replace('_', ' ')} {target.of}"
        table.add_row(*map(Text, (event.tenant_id, event.agent_id, what, *numbers)))
    console.print(table)
    if len(targets) > _SHOWN:
        console.print(f"… and {len(targets) - _SHOWN:,} agents more")
    for target in targets:
        if not target.known:
            console.print("There is no such agent now. What comes of it late would be dropped.")


def show(console: Console, result: Result) -> None:
    """Write what was done, and how long copies last."""
    if not result.receipts:
        show_targets(console, result.targets)
        return
    if result.applied:
        console.print(f"[green]Erased:[/green] {counted(result.removed)}.")
    else:
        console.print("[yellow]Published, but no worker has come so far yet.[/yellow] It is done as soon as one has.")
    _show_copies(console, result)


def counted(taken: Traces) -> str:
    """What goes, in words."""
    words = {"memories": "memories", "shifts": "shifts of the mood", "pairs": "pairs", "rows": "other rows"}
    return ", ".join(f"{count:,} {words[name]}" for name, count in asdict(taken).items())


def _show_copies(console: Console, result: Result) -> None:
    console.print("Copies in the topics go by age. The last one is gone:")
    table = Table("topic", "at the latest", box=None)
    for copies in result.copies:
        at = result.gone_by(copies)
        when = f"never. {copies.cure}" if at is None else iso(at.replace(microsecond=0))
        table.add_row(Text(copies.topic), Text(when))
    console.print(table)
    console.print("Backups of Redis and of the broker are yours to delete.")
