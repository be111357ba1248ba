"""What the SDK costs a publisher, beside a bare aiokafka producer that sends the same bytes with the same settings.

The SDK gets events: it checks, encodes and places them, and gives receipts. The bare producer gets keys, values and
partitions. All ways are measured in turns, in one process, against one broker. Run it by `scripts/bench publish`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from bench.outcome import Cell, Outcome, Table
from bench.places import pids, say, servers
from bench.process import cpu_seconds, machine_seconds
from bench.publishing import Way, bare_producer, ways
from bench.workload import Workload
from moodstream.schemas.codec import decode
from moodstream.schemas.limits import DEFAULT_LIMITS
from moodstream.streams.bus import Bus
from moodstream.streams.topics import create
from support.deployments import Deployment
from support.platforms import Platform

NOTE = (
    "Medians of the rounds; ratio: to the bare producer of the same round, above 1 the SDK is faster. CPU of the "
    "publisher's process. One by one, each event waits for the linger of 2 ms and for the broker."
)


@dataclass(frozen=True)
class Run:
    """One way in one round."""

    way: str
    peer: str | None
    events_per_s: float
    cpu_s_per_million: float
    other_cores: float


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, _):
        rounds = asyncio.run(measured(platform, options))
    outcome(rounds).report(as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench publish", description=__doc__)
    parser.add_argument("--events", type=int, default=50_000, help="events of each way, each round")
    parser.add_argument("--singles", type=int, default=300, help="events where they are sent one by one")
    parser.add_argument("--rounds", type=int, default=5, help="how often each way is measured")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def measured(platform: Platform, options: argparse.Namespace) -> list[list[Run]]:
    """Make the events once, then publish them in all ways, round by round."""
    settings = Deployment(platform, f"publish-{uuid.uuid4().hex[:8]}").streams
    await create(settings)
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(Bus(settings))
        producer = await bare_producer(settings, idempotent=bus.idempotent)
        stack.push_async_callback(producer.stop)
        records = Workload(options.events, 1_000)
        events = [decode(key, value, [], limits=DEFAULT_LIMITS, timestamp_ms=None).event for key, value in records]
        checked = [bus.check(event) for event in events]
        each, own = ways(bus, producer, settings.topics.events), pids(platform)
        rounds = []
        for number in range(options.rounds + 1):  # the first one warms up
            say(f"round {number} of {options.rounds}")
            found = []
            for way in each:
                given: Sequence[Any] = checked if way.bare else events
                found.append(await one_run(way, given[: options.singles] if way.single else given, own))
            rounds.append(found)
        return rounds[1:]


async def one_run(way: Way, given: Sequence[Any], own: list[int]) -> Run:
    """Publish all, until the broker has answered for each."""
    servers_before, machine = cpu_seconds(own), machine_seconds()
    began, cpu = time.perf_counter(), time.process_time()
    await way.publish(given)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    foreign = machine_seconds() - machine - cpu - (cpu_seconds(own) - servers_before)
    count = len(given)
    return Run(way.name, way.peer, count / seconds, cpu / count * 1e6, max(foreign, 0) / seconds)


def outcome(rounds: list[list[Run]]) -> Outcome:
    """The table; ratios are of runs that stood side by side."""
    rows: list[list[Cell]] = []
    ratios: dict[str, float] = {}
    for index, run in enumerate(rounds[0]):
        runs = [each[index] for each in rounds]
        ratio = ratio_of(rounds, run)
        rate, cpu, foreign = (
            statistics.median(getattr(one, name) for one in runs)
            for name in ("events_per_s", "cpu_s_per_million", "other_cores")
        )
        rows.append([run.way, round(rate), round(cpu, 1), round(foreign, 2), ratio])
        if ratio is not None:
            ratios[run.way] = ratio
    columns = ["way", "events/s", "CPU s / million", "foreign cores", "ratio"]
    figures = {"rounds": [[vars(run) for run in each] for each in rounds]}
    return Outcome("publish", [Table("Publishing", columns, rows, NOTE)], [], ratios, figures)


def ratio_of(rounds: list[list[Run]], run: Run) -> float | None:
    """Rate to that of the peer, the median over the rounds; None for a bare way."""
    if run.peer is None:
        return None
    rates = [{one.way: one.events_per_s for one in each} for each in rounds]
    return round(statistics.median(each[run.way] / each[run.peer] for each in rates), 2)


if __name__ == "__main__":
    main()
