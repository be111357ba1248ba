"""What a flood of records that cannot be accepted costs: 100 k among 100 k valid events beside 200 k valid ones.

Both are measured in turns in one run, for the speed of a machine changes with time. Run it by `scripts/bench flood`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.flooding import Flood
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
    summary = report(results, as_json=options.json)
    sys.exit(int(summary["time_ratio"] > CEILING))


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


def report(results: list[tuple[Result, Result]], *, as_json: bool) -> dict:
    """Print the table, the ratio, and on request the object."""
    table = Table("log", "records", "records/s", "CPU s / million", "peak RSS MB", "foreign cores", "time")
    for valid, flood in results:
        for result, ratio in ((valid, 1.0), (flood, valid.events_per_s / flood.events_per_s)):
            table.add_row(*map(_shown, result.rounded().values()), f"{ratio:.2f} x")
    console = Console(width=110)
    console.print(table)
    summary = summed_up(results)
    console.print(
        f"a flood takes {summary['time_ratio']:.2f} x the time and {summary['cpu_ratio']:.2f} x the CPU of as many "
        f"valid events (median of the rounds; the ceiling is {CEILING:g} x the time)"
    )
    if as_json:
        print(json.dumps({**summary, "runs": [each.rounded() for pair in results for each in pair]}))
    return summary


def summed_up(results: list[tuple[Result, Result]]) -> dict:
    """Take medians; ratios are of runs that stood side by side."""
    time = statistics.median(valid.events_per_s / flood.events_per_s for valid, flood in results)
    cpu = statistics.median(flood.cpu_s_per_million / valid.cpu_s_per_million for valid, flood in results)
    return {
        "benchmark": "flood",
        "valid": round(statistics.median(valid.events_per_s for valid, _ in results)),
        "flood": round(statistics.median(flood.events_per_s for _, flood in results)),
        "time_ratio": round(time, 2),
        "cpu_ratio": round(cpu, 2),
    }


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    main()
