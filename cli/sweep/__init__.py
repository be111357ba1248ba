"""`moodstream sweep`: let memories expire that are older than the settings keep them."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from moodstream.cli.extras import needs
from moodstream.cli.options import Bootstrap, Json
from moodstream.cli.settings import load


def register(app: typer.Typer) -> None:
    """Add the command `sweep`."""
    app.command()(sweep)


def sweep(
    once: Annotated[bool, typer.Option("--once", help="Look once, and end; else again and again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Publish nothing; say what would expire.")] = False,
    bootstrap: Bootstrap = None,
    redis: Annotated[str | None, typer.Option("--redis", metavar="URL", help="Address of Redis.")] = None,
    json: Json = False,
) -> None:
    """Publish an expiry for every agent that has memories older than the settings (sweep.*) keep them.

    With --json one object a look.
    """
    with needs("worker"):
        from moodstream.cli.sweep import run

    settings = load(streams={"bootstrap": bootstrap}, state={"url": redis})
    asyncio.run(run.run(settings, once=once, dry_run=dry_run, as_json=json))
