"""`scripts/drill`: read the options, run the rounds, print what came out. Exit code 1: something was found."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from drill.memory import Memory, OtherDrillError
from drill.options import Options, parsed
from drill.report import line, show
from drill.run import running
from support import commands

FOUND, CANNOT, TOLD_TO_STOP = 1, 2, 143
"""Exit codes."""


def main() -> None:
    """Run the command; 2 is the code of what is not a finding."""
    options = parsed(sys.argv[1:])
    for name in ("aiokafka", "kafka", "httpx", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they complain of what is done to them on purpose
    try:
        problem = commands.fetch_kafka()
        if problem:
            raise RuntimeError(problem)
        memory = Memory.opened(options.identity, options.resume)
        asyncio.run(drill(options, memory))
    except asyncio.CancelledError:
        sys.exit(TOLD_TO_STOP)
    except (OSError, OtherDrillError, RuntimeError, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(CANNOT)
    sys.exit(report(options, memory))


async def drill(options: Options, memory: Memory) -> None:
    """Run the rounds that are missing."""
    me = asyncio.current_task()
    if me is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)
    numbers = memory.missing(options.rounds) if options.only is None else [options.only]
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("drill", total=len(numbers))
        async with running(options, lambda text: bar.console.print(text, soft_wrap=True, markup=False)) as run:
            for number in numbers:
                result = await run.play(number)
                if result.undone:  # not a finding: the fault has not been; once more, and then it counts
                    result = await run.play(number)
                memory.add(result)
                if not console.is_terminal:
                    console.print(line(result), soft_wrap=True, markup=False)
                bar.update(
                    task, advance=1, description=f"drill, {sum(not r.ok for r in memory.results.values())} failed"
                )
                if options.stop_early and not result.ok:
                    return


def report(options: Options, memory: Memory) -> int:
    """Print everything; give the exit code."""
    found = memory.as_json()
    results = [memory.results[number] for number in sorted(memory.results)]
    show(Console(highlight=False, width=120), results, found["totals"])
    if options.json:
        print(json.dumps({**found["drill"], **found["totals"]}))
    return FOUND if found["totals"]["failed"] else 0


if __name__ == "__main__":
    main()
