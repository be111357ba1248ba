"""What audit shows: the numbers it found, and what differs in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from moodstream.cli.audit.compare import Difference, kind_of
from moodstream.cli.audit.explain import explain
from moodstream.cli.audit.report import EXIT_PARTLY, CountFault, Report


def show(console: Console, report: Report) -> None:
    """Write the numbers, the first differences, and the verdict."""
    table = Table(show_header=False, box=None)
    for name, value in report.as_json().items():
        table.add_row(name, str(value) if isinstance(value, str) else f"{value:,}")
    console.print(table)
    for fault in report.count_faults:
        console.print(f"[red]partition {fault.partition}: {count_text(fault)}[/red]")
    for one in report.kept:
        show_difference(console, one)
    hidden = report.differences - len(report.kept) - len(report.count_faults)
    if hidden:
        console.print(f"… and {hidden:,} more (--show)")
    if report.pending:
        console.print(f"{report.pending:,} records wait for a worker: they are not part of this comparison.")
    console.print(verdict(report))


def show_difference(console: Console, one: Difference) -> None:
    """One row that differs, field by field."""
    title = f"[red]{kind_of(one.key)}[/red] {escape(key_text(one.key))} in {', '.join(one.places)}"
    table = Table("field", "expected", "found", title=title, title_justify="left", box=None)
    for line in explain(one.expected, one.found):
        table.add_row(*(escape(text) for text in line))
    console.print(table)


def as_lines(report: Report) -> Iterator[dict[str, object]]:
    """The faults as objects, for machines."""
    for fault in report.count_faults:
        yield {"difference": "count", **asdict(fault)}
    for one in report.kept:
        fields = [
            dict(zip(("field", "expected", "found"), line, strict=True)) for line in explain(one.expected, one.found)
        ]
        yield {"difference": kind_of(one.key), "key": key_text(one.key), "places": one.places, "fields": fields}


def key_text(key: bytes) -> str:
    """A row's key for people: the agent, then the suffix with its binary part in hexadecimal."""
    agent, _, suffix = key.partition(b"\x00")
    word, slash, rest = suffix.partition(b"/")
    tail = rest.hex() if word in (b"memory", b"shift") else rest.decode("utf-8", errors="replace")
    return f"{agent.decode('ascii', errors='replace')} {word.decode('ascii', errors='replace')}{slash.decode()}{tail}"


def count_text(fault: CountFault) -> str:
    """A count that differs, in words."""
    return f"{fault.name}: {fault.expected:,} by the log, {fault.found:,} in Redis"


def verdict(report: Report) -> str:
    """The result in one line."""
    if report.differences:
        return f"[bold red]{report.differences:,} differences.[/bold red] `moodstream rebuild` folds rows anew."
    if report.exit_code == EXIT_PARTLY:
        partly = report.agents - report.covered
        return f"[yellow]No difference, but {partly:,} agents are older than the log: partly covered.[/yellow]"
    return f"[green]Equal: {report.rows:,} rows of {report.agents:,} agents, each folded again from the log.[/green]"
