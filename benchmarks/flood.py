"""What a flood of records that cannot be accepted costs: 100 k among 100 k valid events beside 200 k valid ones.

Both are measured in turns in one run, for the speed of a machine changes with time. Run it by `scripts/bench flood`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from bench.flooding import Flood
from bench.outcome import Cell, Outcome, Table, Target
from bench.places import pids, published, say, servers
from bench.run import Result, measure
from bench.subjects import ours
from bench.workload import Workload
from moodstream.streams.settings import StreamSettings
from support.platforms import Platform

CEILING = 2.0


def main() -> None:
    """Read the options, start the servers, measure, print; exit 1 when a flood costs more than it may."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        results = asyncio.run(rounds(platform, folder, options))
    found = outcome(results)
    found.report(as_json=options.json)
    sys.exit(int(not all(target.met for target in found.targets)))


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench flood", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="records of each log")
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def rounds(platform: Platform, folder: Path, options: argparse.Namespace) -> list[tuple[Result, Result]]:
    """Fill both logs once, then measure the worker on one and the other in turns."""
    valid = Workload(options.events, options.agents)
    logs = [await filled(platform, valid), await filled(platform, Flood(valid))]
    own = pids(platform)
    results = []
    for number in range(1, options.rounds + 1):
        say(f"round {number} of {options.rounds}")
        pair = []
        for name, topics in zip(("valid", "flood"), logs, strict=True):
            async with AsyncExitStack() as stack:
                subject = replace(await ours(platform, topics, options.events, stack), name=name)
                pair.append(await measure(subject, own, folder))
        results.append((pair[0], pair[1]))
    return results


async def filled(platform: Platform, workload: Workload | Flood) -> StreamSettings:
    """Make the topics of a deployment and publish a workload to it."""
    what = "half of them malformed" if isinstance(workload, Flood) else "valid"
    say(f"publishing {workload.events:,} records, {what}")
    return await published(platform, workload)


def outcome(results: list[tuple[Result, Result]]) -> Outcome:
    """The table, the ceiling, and medians; ratios are of runs that stood side by side."""
    time = statistics.median(valid.events_per_s / flood.events_per_s for valid, flood in results)
    cpu = statistics.median(flood.cpu_s_per_million / valid.cpu_s_per_million for valid, flood in results)
    figures = {
        "valid": round(statistics.median(valid.events_per_s for valid, _ in results)),
        "flood": round(statistics.median(flood.events_per_s for _, flood in results)),
        "time_ratio": round(time, 2),
        "cpu_ratio": round(cpu, 2),
        "runs": [each.rounded() for pair in results for each in pair],
    }
    target = Target(
        "time of a flood, to as many valid events", f"at most {CEILING:g} x", f"{time:.2f} x", time <= CEILING
    )
    return Outcome("flood", [table_of(results, cpu)], [target], {}, figures)


def table_of(results: list[tuple[Result, Result]], cpu: float) -> Table:
    """All runs; the time of a flood is put beside that of the valid events just before it."""
    rows: list[list[Cell]] = []
    for valid, flood in results:
        for result, ratio in ((valid, 1.0), (flood, valid.events_per_s / flood.events_per_s)):
            rows.append([*result.rounded().values(), f"{ratio:.2f} x"])
    return Table(
        "Valid events beside a flood",
        ["log", "records", "records/s", "CPU s / million", "peak RSS MB", "foreign cores", "time"],
        rows,
        f"A flood takes {cpu:.2f} x the CPU of as many valid events (median of the rounds).",
    )


if __name__ == "__main__":
    main()
