"""Ask before something is lost for good."""

from __future__ import annotations

from collections.abc import Callable

import typer

from moodstream.schemas.errors import InvalidUsage


def confirm(question: str, *, yes: bool, as_json: bool, show: Callable[[], None] = lambda: None) -> None:
    """Ask whether to go on, after `show` has shown what it is about; who says no ends the command with code 1.

    `yes`: it was said beforehand. Raises `InvalidUsage` where nobody is there to be asked.
    """
    if yes:
        return
    if as_json:
        raise InvalidUsage("nobody can be asked with --json", hint="Add --yes; --help says how to look first.")
    show()
    typer.confirm(question, abort=True, err=True)
