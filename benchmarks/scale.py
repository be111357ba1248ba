"""How the worker's throughput changes with workers, partitions and the size of memories.

Each is measured on a backlog in real Kafka, for some seconds. Run it by `scripts/bench scale`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from bench.outcome import Cell, Outcome, Table
from bench.places import pids, say, servers
from bench.sized import Sized, row_bytes
from bench.workers import Backlog, Run, run
from bench.workload import Workload, publish
from moodstream.streams.topics import create
from support.deployments import Deployment
from support.platforms import Platform

AGENTS = 1_000
NOTE = (
    "Rates over the middle 20 to 95 % of what was read in the time; all workers share this machine's cores with broker "
    "and Redis, so two workers show what sharing costs more than what a second machine would bring."
)


@dataclass(frozen=True)
class Case:
    """One measurement; `description` in bytes, 0 for the workload's own, which makes the smallest rows."""

    workers: int = 1
    partitions: int = 4
    description: int = 0


CASES = (
    Case(),
    Case(workers=2),
    Case(partitions=16),
    Case(partitions=64),
    Case(description=700),
    Case(description=3_700),
)


@dataclass(frozen=True)
class Result:
    """A case, the mean size of its memory rows in bytes, and how it went."""

    case: Case
    row_bytes: int
    run: Run


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        results = asyncio.run(measured(platform, folder, options))
    outcome(results).report(as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench scale", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="how long each case reads at most")
    parser.add_argument("--most-rate", type=int, default=16_000, help="events/s that the backlogs are made for")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def measured(platform: Platform, folder: Path, options: argparse.Namespace) -> list[Result]:
    """Case by case; those with the same log share it."""
    logs: dict[Case, Backlog] = {}
    results = []
    for case in CASES:
        log = replace(case, workers=1)
        if log not in logs:
            logs[log] = await backlog(platform, case, int(options.seconds * rate_of(case, options.most_rate)))
        say(f"{case.workers} worker(s) on {case.partitions} partitions")
        found = await run(platform, logs[log], case.workers, options.seconds, pids(platform), folder)
        results.append(Result(case, await row_bytes(case.description), found))
    return results


def rate_of(case: Case, most: int) -> float:
    """Events/s that the backlog of a case has to hold out against: larger ones are read more slowly."""
    return most / (1 + case.description / 1_500)


async def backlog(platform: Platform, case: Case, events: int) -> Backlog:
    """Make the topics of a case, and publish to them."""
    deployment = Deployment(platform, f"scale-{uuid.uuid4().hex[:8]}")
    topics = deployment.streams.model_copy(update={"partitions": case.partitions})
    await create(topics)
    say(f"publishing {events:,} events, descriptions of {case.description or 'a few'} bytes")
    await publish(Sized(Workload(events, AGENTS), case.description), platform.bootstrap, topics.topics.events)
    return Backlog(topics, events)


def outcome(results: list[Result]) -> Outcome:
    """Three tables: each begins with the same case."""
    base = results[0].case
    kinds = {
        "workers": [one for one in results if one.case == replace(base, workers=one.case.workers)],
        "partitions": [one for one in results if one.case == replace(base, partitions=one.case.partitions)],
        "size of memories": [one for one in results if one.case == replace(base, description=one.case.description)],
    }
    columns = ["workers", "partitions", "row bytes", "events/s", "CPU s / million", "peak RSS MB", "foreign cores"]
    notes = {"size of memories": NOTE}
    tables = [Table(f"By {name}", columns, list(map(cells, each)), notes.get(name, "")) for name, each in kinds.items()]
    figures = {"runs": [{**vars(one.case), "row_bytes": one.row_bytes, **vars(one.run)} for one in results]}
    return Outcome("scale", tables, [], {}, figures)


def cells(one: Result) -> list[Cell]:
    """A row; the peak of each worker."""
    run, case = one.run, one.case
    peaks = ", ".join(f"{peak:.0f}" for peak in run.rss_mb)
    rates: list[Cell] = [round(run.events_per_s), round(run.cpu_s_per_million, 1), peaks, round(run.other_cores, 2)]
    return [case.workers, case.partitions, one.row_bytes, *rates]


if __name__ == "__main__":
    main()
