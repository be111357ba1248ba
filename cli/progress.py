"""A progress bar with rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class RateColumn(ProgressColumn):
    """Events a second."""

    def render(self, task: Task) -> Text:
        """Show the rate of late, or of all once it is over."""
        speed = task.finished_speed or task.speed
        return Text("-/s" if speed is None else f"{speed:,.0f}/s")


@contextmanager
def bar(console: Console, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs; it gives a function that takes the number done so far."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), RateColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)
