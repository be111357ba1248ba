"""`moodstream audit`: fold every agent's log again with the oracle and compare the rows, beside live workers."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from moodstream.cli.extras import needs
from moodstream.cli.options import Bootstrap, Json
from moodstream.cli.settings import load


def register(app: typer.Typer) -> None:
    """Add the command `audit`."""
    app.command()(audit)


def audit(
    show: Annotated[int, typer.Option("--show", min=0, help="Differences to explain; all are counted.")] = 10,
    bootstrap: Bootstrap = None,
    redis: Annotated[str | None, typer.Option("--redis", metavar="URL", help="Address of Redis.")] = None,
    json: Json = False,
) -> None:
    """Fold the whole log again with a second, slow fold, and compare every row in Redis and in the changelog.

    Exit code 0: equal. 1: something differs. 3: equal as far as the log goes back, for some agents not far enough.

    With --json the last line is an object of numbers; lines before it are differences.
    """
    with needs("worker"):
        from moodstream.cli.audit import command

    settings = load(streams={"bootstrap": bootstrap}, state={"url": redis})
    code = asyncio.run(command.run(settings, as_json=json, shown=show))
    raise typer.Exit(code)
