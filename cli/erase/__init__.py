"""`moodstream erase`: show what would go, ask, erase it, and say when the last copy is gone."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from moodstream.cli.extras import needs
from moodstream.cli.options import Bootstrap, Json
from moodstream.cli.settings import load


def register(app: typer.Typer) -> None:
    """Add the command `erase`."""
    app.command()(erase)


def erase(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Id of the agent.")],
    tenant: Annotated[str | None, typer.Option("--tenant", "-t", help="Whose agent.")] = None,
    domain: Annotated[
        str | None, typer.Option("--domain", help="Only its memories of this domain, and what was made of them.")
    ] = None,
    memory: Annotated[str | None, typer.Option("--memory", metavar="ID", help="Only this memory.")] = None,
    other: Annotated[
        str | None, typer.Option("--other", metavar="AGENT", help="Only the traces of this other agent in it.")
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="In all tenants: agents of this id, and its traces in all others.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    wait: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait until it is done.")] = 30.0,
    bootstrap: Bootstrap = None,
    redis: Annotated[str | None, typer.Option("--redis", metavar="URL", help="Address of Redis.")] = None,
    json: Json = False,
) -> None:
    """Erase an agent, or only a domain, one memory or the traces of another agent in it. Late events bring none back.

    Says what has gone, and when the last copy in log, outputs and dead letters will be.

    Exit code 1: it is published, and not done yet when the waiting is over.
    """
    with needs("worker"):
        from moodstream.cli.erase import run

    asked = run.Asked.of(agent, tenant, domain, memory, other, everywhere=everywhere)
    settings = load(streams={"bootstrap": bootstrap}, state={"url": redis})
    how = run.How(yes=yes, dry_run=dry_run, wait=wait, as_json=json)
    raise typer.Exit(asyncio.run(run.run(settings, asked, how)))
