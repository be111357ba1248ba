"""`moodstream publish`: JSON lines, an event each, into the log."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from moodstream.cli.lines import lines_of
from moodstream.cli.options import Annotate, Bootstrap, Json
from moodstream.cli.output import messages, screen, write_json
from moodstream.cli.settings import load
from moodstream.schemas.errors import BadFile, MoodstreamError

if TYPE_CHECKING:
    from moodstream.affect.annotate import Annotator
    from moodstream.schemas.events import InputEvent
    from moodstream.schemas.limits import Limits
    from moodstream.streams.report import Failure
    from moodstream.streams.settings import StreamSettings

_SHOWN = 20
"""Faults that are kept and shown; all are counted."""


class Fault(NamedTuple):
    """One line that was not published, and why."""

    line: int
    error: MoodstreamError

    def as_dict(self) -> dict[str, object]:
        """Give the fault for JSON."""
        return {"line": self.line, "code": self.error.code, "detail": self.error.detail}

    def __str__(self) -> str:
        return f"line {self.line}: {self.error.code}: {self.error.detail}"


@dataclass
class Result:
    """How a run went: how many events the broker has, how many lines failed, and the first of those."""

    sent: int = 0
    failed: int = 0
    faults: list[Fault] = field(default_factory=list)

    def add(self, line: int, error: MoodstreamError) -> None:
        """Count one line that failed."""
        self.failed += 1
        if len(self.faults) < _SHOWN:
            self.faults.append(Fault(line, error))


def register(app: typer.Typer) -> None:
    """Add the command `publish`."""
    app.command()(publish)


def publish(
    file: Annotated[
        Path | None, typer.Argument(help="JSON lines; standard input without it or with -.", show_default=False)
    ] = None,
    part: Annotated[
        bool, typer.Option("--part/--all", help="Publish the good lines, or nothing unless all are.")
    ] = False,
    annotate: Annotate = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Publish events: one JSON object a line, with a `type` such as "experience.outcome".

    With --all everything is read and checked before anything is sent; with --part lines are sent as they come.

    Exit code 1: some lines were not sent, and the report says which.
    """
    settings = load(streams={"bootstrap": bootstrap}).streams
    path = None if file is None or str(file) == "-" else file
    if path and not path.is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint="FILE")
    annotator = sentiment() if annotate else None
    result = asyncio.run((_publish_part if part else _publish_all)(settings, path, annotator))
    _report(result, json)
    if result.failed:
        raise typer.Exit(1)


def sentiment() -> Annotator:
    """Make the annotator of `--annotate`; `MissingExtra` where its package is not installed."""
    from moodstream.affect.annotate import Sentiment

    return Sentiment()


async def _publish_all(settings: StreamSettings, path: Path | None, annotate: Annotator | None) -> Result:
    """Read and check everything, then send."""
    result = Result()
    read = [found async for found in _events(path, settings.limits, annotate, result.add)]
    if result.faults:
        raise _nothing_sent(result)
    return await _send(settings, _replayed(read), result)


async def _publish_part(settings: StreamSettings, path: Path | None, annotate: Annotator | None) -> Result:
    """Send each line as it comes."""
    result = Result()
    return await _send(settings, _events(path, settings.limits, annotate, result.add), result)


async def _replayed(read: list[tuple[int, InputEvent]]) -> AsyncIterator[tuple[int, InputEvent]]:
    for found in read:
        yield found


async def _events(
    path: Path | None, limits: Limits, annotate: Annotator | None, bad: Callable[[int, MoodstreamError], None]
) -> AsyncIterator[tuple[int, InputEvent]]:
    """Give the events of the good lines with their line numbers; the others go to `bad`."""
    from moodstream.affect.annotate import annotated
    from moodstream.schemas.codec import parse
    from moodstream.streams.outgoing import check

    async for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            event = parse(line, limits=limits)
            event = event if annotate is None else annotated(event, annotate)
            check(event, 1, limits)
        except MoodstreamError as error:
            bad(number, error)
        else:
            yield number, event


async def _send(settings: StreamSettings, events: AsyncIterator[tuple[int, InputEvent]], result: Result) -> Result:
    from moodstream.streams.bus import Bus

    numbers = array("Q")  # line of each event sent: failures are told by line

    async def unnumbered() -> AsyncIterator[InputEvent]:
        async for number, event in events:
            numbers.append(number)
            yield event

    def failed(failure: Failure) -> None:
        result.add(numbers[failure.index], failure.error)

    async with Bus(settings) as bus:
        result.sent = await bus.stream(unnumbered(), failed=failed)
    return result


def _nothing_sent(result: Result) -> BadFile:
    """One error for all bad lines: its line and reason are those of the first, its text names them all."""
    first = result.faults[0]
    error = BadFile(first.line, f"{first.error.code}: {first.error.detail}")
    error.detail = "\n".join((*_told(result), "Nothing was sent."))
    error.hint = "Correct the lines, or publish the good ones with --part."
    error.fields["faults"] = [fault.as_dict() for fault in result.faults]
    return error


def _told(result: Result) -> Iterator[str]:
    yield from map(str, result.faults)
    if result.failed > len(result.faults):
        yield f"and {result.failed - len(result.faults)} more lines"


def _report(result: Result, json: bool) -> None:
    if json:
        faults = [fault.as_dict() for fault in result.faults]
        write_json({"sent": result.sent, "failed": result.failed, "faults": faults})
        return
    for line in _told(result):
        messages().print(line, markup=False, soft_wrap=True)
    failed = f", {result.failed:,} lines not sent" if result.failed else ""
    screen().print(f"{result.sent:,} events sent{failed}")
