"""`moodstream rebuild`: have rows made anew from the log, by the workers, while everything goes on."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from moodstream.cli.extras import needs
from moodstream.cli.options import Bootstrap, Json
from moodstream.cli.settings import load
from moodstream.schemas.errors import InvalidUsage


def register(app: typer.Typer) -> None:
    """Add the command `rebuild`."""
    app.command()(rebuild)


def rebuild(
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="Whose rows.", show_default=False)] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", help="Whose agent; with --all, only this tenant's agents.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All agents that Redis knows.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Also agents whose first events the log no longer has: they lose those.")
    ] = False,
    from_offset: Annotated[
        int | None,
        typer.Option("--from-offset", min=0, help="Read the log from here on only; nothing of the agent lies before."),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for the workers; 0 does not wait.")
    ] = 600.0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = None,
    redis: Annotated[str | None, typer.Option("--redis", metavar="URL", help="Address of Redis.")] = None,
    json: Json = False,
) -> None:
    """Have the rows of an agent, or of all, made anew from the log, such as after damage in Redis.

    It sends an event for each agent; whoever owns the partition makes the rows and swaps them in one step. A row that
    is right stays as it is.

    Exit code 1: the workers have not come so far in time. 3: the log does not cover some agents; they were left alone.
    """
    if (agent is None) is not everything:
        raise InvalidUsage("name one agent, or say --all")
    if agent is not None and tenant is None:
        raise InvalidUsage("the agent's tenant is not given", hint="Add --tenant.")
    if everything and from_offset is not None:
        raise InvalidUsage("--from-offset is for one agent: each partition has its own offsets")
    with needs("worker"):
        from moodstream.cli.rebuild.run import How, run
    settings = load(streams={"bootstrap": bootstrap}, state={"url": redis})
    how = How(partial, from_offset, wait, yes, json)
    code = asyncio.run(run(settings, tenant, agent, how))
    raise typer.Exit(code)
