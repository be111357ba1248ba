"""`moodstream topics`: make the topics of a deployment, or check them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from moodstream.cli.options import Bootstrap, Json
from moodstream.cli.output import screen, write_json
from moodstream.cli.settings import load

if TYPE_CHECKING:
    from moodstream.streams.topics import TopicStatus

Partitions = Annotated[
    int | None, typer.Option("--partitions", help="Partitions of every topic. They never change afterwards.")
]
Replication = Annotated[int | None, typer.Option("--replication", help="Replicas of every topic.")]


def register(app: typer.Typer) -> None:
    """Add the group `topics`."""
    group = typer.Typer(help="Make or check the topics.", no_args_is_help=True)
    group.command()(create)
    group.command()(check)
    app.add_typer(group, name="topics")


def create(
    bootstrap: Bootstrap = None,
    partitions: Partitions = None,
    replication: Replication = None,
    json: Json = False,
) -> None:
    """Make the topics that are missing and check the others; safe to repeat."""
    from moodstream.streams import topics

    settings = load(streams={"bootstrap": bootstrap, "partitions": partitions, "replication": replication})
    _show(asyncio.run(topics.create(settings.streams)), json)


def check(
    bootstrap: Bootstrap = None,
    partitions: Partitions = None,
    replication: Replication = None,
    json: Json = False,
) -> None:
    """Compare the topics with the settings; a difference is an error that says what to do."""
    from moodstream.streams import topics

    settings = load(streams={"bootstrap": bootstrap, "partitions": partitions, "replication": replication})
    _show(asyncio.run(topics.check(settings.streams)), json)


def _show(found: Sequence[TopicStatus], json: bool) -> None:
    if json:
        write_json({"topics": [asdict(one) for one in found]})
        return
    console = screen()
    for one in found:
        state = "created" if one.created else "there"
        console.print(f"{one.name}: {state}, {one.partitions} partitions, {one.replication} replicas", soft_wrap=True)
