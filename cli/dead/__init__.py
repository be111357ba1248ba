"""`moodstream dead`: what could not be accepted. List it, look at it, replay it, delete it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from moodstream.cli.options import Bootstrap, Json
from moodstream.cli.settings import load

Topic = Annotated[str | None, typer.Option("--topic", help="Only records that were read from this topic.")]
Reason = Annotated[
    str | None, typer.Option("--reason", metavar="CODE", help='Only this reason, such as "unknown_type".')
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help='Refused not before this time, or so long ago: "2h", "7d".'),
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Refused before this time, or so long ago.")]
Partition = Annotated[int | None, typer.Option("--partition", min=0, help="Only this partition of the dead letters.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Letter = Annotated[str, typer.Argument(metavar="LETTER", help="Name of a letter, partition:offset, such as 0:17.")]
Letters = Annotated[
    list[str] | None, typer.Argument(metavar="[LETTER]...", help="Names of letters; without any, the flags select.")
]


def register(app: typer.Typer) -> None:
    """Add the group `dead`."""
    group = typer.Typer(help="Records that could not be accepted.", no_args_is_help=True)
    group.command("list")(list_letters)
    group.command()(show)
    group.command()(replay)
    group.command()(purge)
    app.add_typer(group, name="dead")


def list_letters(
    topic: Topic = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    partition: Partition = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="At most so many, the newest ones.")] = 50,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """List dead letters, the newest last, and count them by reason.

    With --json one object a letter, and the counts last.
    """
    from moodstream.cli.dead import commands
    from moodstream.cli.dead.asked import selection

    asked = selection(topic=topic, code=reason, since=since, until=until, partition=partition)
    settings = load(streams={"bootstrap": bootstrap}).streams
    asyncio.run(commands.list_letters(settings, asked, limit, as_json=json))


def show(
    letter: Letter,
    raw: Annotated[bool, typer.Option("--raw", help="Write the bytes of the value, and nothing else.")] = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Show all of one letter: why it was refused, where it came from, its headers, its value."""
    from moodstream.cli.dead import commands

    settings = load(streams={"bootstrap": bootstrap}).streams
    asyncio.run(commands.show(settings, letter, raw=raw, as_json=json))


def replay(
    letters: Letters = None,
    topic: Topic = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    partition: Partition = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also letters that were replayed before, or failed again.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing; say what would be sent.")] = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Publish letters again, each with its own key, value, headers and time; an event counts once all the same.

    A letter that is refused again becomes a new letter, which says so. Replayed letters are left out the next time.

    Exit code 1: a letter that was named cannot be replayed.
    """
    from moodstream.cli.dead import commands
    from moodstream.cli.dead.asked import selection

    asked = selection(letters, topic=topic, code=reason, since=since, until=until, partition=partition)
    settings = load(streams={"bootstrap": bootstrap}).streams
    how = commands.How(again=again, dry_run=dry_run, yes=yes, as_json=json)
    raise typer.Exit(asyncio.run(commands.replay(settings, asked, how)))


def purge(
    before: Annotated[
        str | None, typer.Option("--before", metavar="TIME", help='Those refused before this time, or "30d" ago.')
    ] = None,
    upto: Annotated[
        str | None, typer.Option("--upto", metavar="LETTER", help="Those of a partition up to this letter, with it.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All letters.")] = False,
    partition: Partition = None,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Delete the oldest letters for good. Kafka deletes from the front of a partition only, so no filter by reason.

    Say how far: --before, --upto or --all.
    """
    from moodstream.cli.dead import commands

    asked = commands.Oldest.of(before, upto, everything=everything, partition=partition)
    settings = load(streams={"bootstrap": bootstrap}).streams
    asyncio.run(commands.purge(settings, asked, yes=yes, as_json=json))
