"""Measures what the labels, moods and recalls are worth, and writes docs/evidence.md. Run it by `scripts/evidence`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from evidence import page
from evidence.jobs import Job, cores, run
from evidence.plan import FULL, QUICK, SEED, Results, real, synthetic
from evidence.promises import Promise, promises
from moodstream.cli.chatlog import read_messages
from moodstream.schemas.errors import BadFile

DATA_VARIABLE = "EVIDENCE_DATA"
ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str]) -> int:
    """Measure, write, tell; 2 for a wrong call. A promise that is missed is a result, not an error."""
    options = parsed(arguments)
    if options.data is not None and not readable(options.data):
        return 2
    size = QUICK if options.quick else FULL
    jobs = synthetic(options.seed, size)
    if options.data is not None:
        jobs = real(options.seed, size, options.data) + jobs
    found = measured(jobs, options.jobs).summed_up()
    made = promises(found)
    written = page.write(options.out, found, made, size, options.seed)
    tell(made, written, skipped=options.data is None)
    if options.json:
        print(json.dumps({"seed": options.seed, "promises": [each.as_json() for each in made], "results": found}))
    return 0


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/evidence", description=__doc__)
    given = os.environ.get(DATA_VARIABLE)
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(given) if given else None,
        help=f"a chat log (docs/replay.md; default: {DATA_VARIABLE}); without one, what needs it is left out",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where evidence.md and its plots go")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=cores(), help="processes (the numbers do not depend on it)")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the runs: shows that it works, no more")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


def readable(path: Path) -> bool:
    """Whether a chat log can be read; if not, say why."""
    try:
        read_messages(path, limit=100)
    except (OSError, BadFile) as error:
        say(f"error: {path.name}: {error}")
        return False
    return True


def measured(jobs: list[Job], workers: int) -> Results:
    """Run all pieces behind a progress bar."""
    results = Results()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("measuring", total=len(jobs))
        for job, result in run(jobs, workers):
            results.add(job, result)
            progress.update(task, advance=1, description=f"measuring {job.section:8}")
    return results


def tell(made: list[Promise], written: list[Path], *, skipped: bool) -> None:
    """Show the promises, and where the page is."""
    table = Table("promise", "limit", "measured", "verdict")
    for each in made:
        table.add_row(*page.promise_cells(each))
    Console(stderr=True, width=150).print(table)
    if skipped:
        say(f"no chat log was given (--data FILE or {DATA_VARIABLE}): the sections about one say so")
    say(f"wrote {len(written)} files; the page is {written[0].name}")


def say(text: str) -> None:
    """Tell on standard error."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # so that the other processes end too
    sys.exit(main(sys.argv[1:]))
