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
        console.print(f"Not compared, as no worker has folded them yet: {report.pending:,} records.")
    console.print(verdict(report))


def show_difference(console: Console, one: Difference) -> None:
    """One row that differs, field by field."""
    console.print(f"[red]{escape(key_text(one.key))}[/red] in {', '.join(one.places)}", soft_wrap=True)
    table = Table("field", "expected", "found", box=None, padding=(0, 2))
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
    tail = rest.hex() if word in (b"memory", b"shift", b"erased") else rest.decode("utf-8", errors="replace")
    return f"{agent.decode('ascii', errors='replace')} {word.decode('ascii', errors='replace')}{slash.decode()}{tail}"


def count_text(fault: CountFault) -> str:
    """A count that differs, in words."""
    return f"{fault.name}: {fault.expected:,} by the log, {fault.found:,} in Redis"


def verdict(report: Report) -> str:
    """The result in one line."""
    if report.differences:
        return f"[bold red]Different: {report.differences:,} rows or counts are not what the log says.[/bold red]"
    if report.exit_code == EXIT_PARTLY:
        partly = report.agents - report.covered
        return f"[yellow]No difference, but {partly:,} agents are older than the log: partly covered.[/yellow]"
    return f"[green]Equal: {report.rows:,} rows of {report.agents:,} agents, each folded again from the log.[/green]"
