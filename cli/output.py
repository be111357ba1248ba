"""What commands write: results on standard output, errors and progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import typer
from rich.console import Console
from rich.text import Text

from moodstream.schemas.errors import MoodstreamError


def screen() -> Console:
    """Give the console for results."""
    return Console(highlight=False)


def messages() -> Console:
    """Give the console for progress and errors."""
    return Console(stderr=True, highlight=False)


def write_json(value: Mapping[str, object]) -> None:
    """Write one JSON object as one line on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, default=str))


def write_error(error: MoodstreamError, *, as_json: bool) -> None:
    """Write code, message and next step, or the problem object, on standard error."""
    if as_json:
        sys.stderr.write(json.dumps(error.to_problem(), ensure_ascii=False, default=str) + "\n")
        return
    text = Text.assemble((f"error {error.code}", "bold red"), f": {error.detail}\n", ("next: ", "bold"), error.hint)
    messages().print(text, soft_wrap=True)
