"""What the commands of `moodstream dead` do, apart from their flags."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from moodstream.cli.asking import confirm
from moodstream.cli.dead import screen
from moodstream.cli.dead.asked import moment
from moodstream.cli.output import messages, write_json
from moodstream.cli.output import screen as results
from moodstream.cli.progress import bar
from moodstream.schemas.errors import InvalidUsage
from moodstream.streams import dead_purge
from moodstream.streams.dead_box import DeadBox, Selection
from moodstream.streams.dead_letters import LetterName
from moodstream.streams.dead_replay import LetterReplay, Replayed
from moodstream.streams.settings import StreamSettings


class How(NamedTuple):
    """How a replay is to go about it."""

    again: bool
    dry_run: bool
    yes: bool
    as_json: bool


@dataclass(frozen=True)
class Oldest:
    """How far to purge: before a time (ms), up to a letter, or everything."""

    before_ms: int | None
    upto: LetterName | None
    partition: int | None

    @classmethod
    def of(cls, before: str | None, upto: str | None, *, everything: bool, partition: int | None) -> Oldest:
        """Read the flags. Raises `InvalidUsage` unless one of them says how far."""
        if [before is not None, upto is not None, everything].count(True) != 1:
            raise InvalidUsage("how far is not said", hint="Give one of --before, --upto and --all.")
        if upto is not None and partition is not None:
            raise InvalidUsage("a letter names its partition itself", hint="Leave out --partition.")
        return cls(moment(before, "--before"), None if upto is None else LetterName.parse(upto), partition)


async def list_letters(settings: StreamSettings, asked: Selection, limit: int, *, as_json: bool) -> None:
    """List the newest letters of a selection."""
    survey = await DeadBox(settings).survey(asked, limit)
    if as_json:
        for letter in survey.newest:
            write_json(screen.as_object(letter, replayed=letter.name in survey.replayed))
        write_json({"letters": survey.selected, "reasons": dict(survey.codes)})
        return
    screen.show_list(results(), survey)


async def show(settings: StreamSettings, name: str, *, raw: bool, as_json: bool) -> None:
    """Show one letter. Raises `NotFound`."""
    letter, replayed = await DeadBox(settings).letter(LetterName.parse(name))
    if raw:
        sys.stdout.buffer.write(letter.value or b"")
        sys.stdout.buffer.flush()
    elif as_json:
        write_json(screen.whole_object(letter, replayed=replayed))
    else:
        screen.show_letter(results(), letter, replayed=replayed)


async def replay(settings: StreamSettings, asked: Selection, how: How) -> int:
    """Replay a selection after asking; give the exit code."""
    box = DeadBox(settings)
    survey = await box.survey(asked, 0)
    run = LetterReplay(box, survey, asked, again=how.again)
    if not survey.selected:
        found = Replayed()
    elif how.dry_run:
        found = await run.run(dry_run=True)
    else:
        confirm(f"{screen.counted(survey)}. Replay them?", yes=how.yes, as_json=how.as_json)
        with bar(messages(), "replay", survey.selected) as done:
            found = await run.run(done=done)
    missing = sorted((asked.names or frozenset()) - survey.found)
    if how.as_json:
        write_json(screen.replay_object(found, missing, dry_run=how.dry_run))
    else:
        screen.show_replay(results(), found, missing, dry_run=how.dry_run)
    return int(asked.names is not None and bool(found.impossible or missing))


async def purge(settings: StreamSettings, asked: Oldest, *, yes: bool, as_json: bool) -> None:
    """Delete letters after showing which, and asking."""
    box = DeadBox(settings)
    planned = await dead_purge.plan(box, partition=asked.partition, before_ms=asked.before_ms, upto=asked.upto)
    if planned.ends:
        await dead_purge.check_broker(box)
        look = partial(screen.show_purge, messages(), planned)
        confirm("Delete them for good?", yes=yes, as_json=as_json, show=look)
        await dead_purge.purge(box, planned)
    if as_json:
        write_json(
            {"purged": planned.total, "partitions": {str(each): count for each, count in planned.letters.items()}}
        )
    else:
        results().print(f"{planned.total:,} letters deleted")
