"""How fast the worker gets through a backlog in real Kafka, beside the same folds in a stock Faust agent.

Both are measured in turns in one run, for the speed of a machine changes with time. Run it by `scripts/bench pipeline`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.places import pids, published, say, servers
from bench.run import Result, measure
from bench.subjects import ours, stock_faust
from bench.workload import Workload
from moodstream.streams.settings import StreamSettings
from support.platforms import Platform

FLOOR = 8.0


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        results = asyncio.run(rounds(platform, folder, options))
    report(results, as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench pipeline", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="events of the backlog")
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--stock-events", type=int, default=30_000, help="events of the stock agent's backlog")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def rounds(platform: Platform, folder: Path, options: argparse.Namespace) -> list[tuple[Result, Result]]:
    """Fill the logs once, then measure the stock agent and our worker in turns."""
    whole = Workload(options.events, options.agents)
    # As many events an agent, so that its rows grow as large, of fewer agents: it would take minutes otherwise.
    part = Workload(options.stock_events, max(options.agents * options.stock_events // options.events, 1))
    mine, stock = await filled(platform, whole), await filled(platform, part)
    own = pids(platform)
    results = []
    for number in range(1, options.rounds + 1):
        async with AsyncExitStack() as stack:
            pair = (
                await stock_faust(platform, stock, part.events, folder, stack),
                await ours(platform, mine, whole.events, stack),
            )
            say(f"round {number} of {options.rounds}")
            results.append((await measure(pair[0], own, folder), await measure(pair[1], own, folder)))
    return results


async def filled(platform: Platform, workload: Workload) -> StreamSettings:
    """Make the topics of a deployment and publish a workload to it."""
    say(f"publishing {workload.events:,} events of {workload.agents:,} agents")
    return await published(platform, workload)


def report(results: list[tuple[Result, Result]], *, as_json: bool) -> None:
    """Print the table, the ratio, and on request the object."""
    table = Table("subject", "events", "events/s", "CPU s / million", "peak RSS MB", "foreign cores", "ratio")
    for stock, mine in results:
        for result, ratio in ((stock, 1.0), (mine, mine.events_per_s / stock.events_per_s)):
            table.add_row(*map(_shown, result.rounded().values()), f"{ratio:.1f} x")
    console = Console(width=110)
    console.print(table)
    summary = summed_up(results)
    console.print(
        f"moodstream {summary['moodstream']:,.0f} events/s, stock Faust {summary['stock_faust']:,.0f} events/s: "
        f"{summary['ratios']['stock_faust']:.1f} x (median of the rounds; the floor is {FLOOR:g} x); "
        f"CPU per event {summary['cpu_ratios']['stock_faust']:.1f} x less"
    )
    if as_json:
        print(json.dumps({**summary, "runs": [each.rounded() for pair in results for each in pair]}))


def summed_up(results: list[tuple[Result, Result]]) -> dict:
    """Take medians; ratios are of runs that stood side by side."""
    ratio = statistics.median(mine.events_per_s / stock.events_per_s for stock, mine in results)
    cpu = statistics.median(stock.cpu_s_per_million / mine.cpu_s_per_million for stock, mine in results)
    return {
        "benchmark": "pipeline",
        "moodstream": round(statistics.median(mine.events_per_s for _, mine in results)),
        "stock_faust": round(statistics.median(stock.events_per_s for stock, _ in results)),
        "ratios": {"stock_faust": round(ratio, 2)},
        "cpu_ratios": {"stock_faust": round(cpu, 2)},
    }


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    main()
