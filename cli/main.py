"""The command `moodstream`: every command in one app, every error with a code and a next step."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from moodstream import __version__
from moodstream.cli import audit, dead, erase, publish, reads, rebuild, replay, serve, sweep, topics, up, worker
from moodstream.cli.output import write_error
from moodstream.cli.settings import CONFIG_VARIABLE
from moodstream.schemas.errors import InvalidUsage, MoodstreamError

ERROR = 2
"""Exit code of every error; `audit` has codes of its own for its findings."""

_UsageError: type[Any] = typer.BadParameter.__bases__[0]
"""What typer raises for a wrong call; by its own name it lies in other places in other releases."""

app = typer.Typer(
    name="moodstream",
    help="Moods and engagement trends of AI agents as durable state.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def start(
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="TOML file to read instead of ./moodstream.toml.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Moods and engagement trends of AI agents as durable state."""
    del version  # done by its callback
    # Our own errors say what is wrong; the commands that run for long set up their logs themselves.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    if config:
        # In the environment, so that the processes which `up` starts read the same file.
        os.environ[CONFIG_VARIABLE] = str(config.absolute())


for module in (up, worker, serve, topics, publish, replay, reads, audit, dead, rebuild, erase, sweep):
    module.register(app)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0, or 2 for an error, written on standard error."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    as_json = "--json" in given
    try:
        code = _run_for_program(given) if as_json else app(args=given, prog_name="moodstream")
    except MoodstreamError as error:
        write_error(error, as_json=as_json)
        sys.exit(ERROR)
    sys.exit(code)


def _run_for_program(given: list[str]) -> int | None:
    """Run for somebody who reads JSON. Raises `InvalidUsage` where people get the usage of the command."""
    try:
        return app(args=given, prog_name="moodstream", standalone_mode=False)  # type: ignore[no-any-return]
    except _UsageError as error:
        raise InvalidUsage(error.format_message()) from error
    except typer.Abort:
        return 1
