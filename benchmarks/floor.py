"""How far the worker is from what its parts cost alone: reading, decoding, folding, changelog, Redis, outputs.

Each part does for a whole log what the worker does with it, in this process and with nothing beside it but the server
that it talks to; then the worker reads the same log. Run it by `scripts/bench floor`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench import parts
from bench.meter import Cost, Meter
from bench.outcome import Cell, Outcome, Table
from bench.places import pids, published, say, servers
from bench.recorded import Written, processed
from bench.run import Result, measure
from bench.subjects import ours
from bench.workload import Workload
from moodstream.streams.sending import open_producer
from moodstream.streams.settings import StreamSettings
from support.platforms import Platform

PIECES = ("poll", "poll and decode", "memory", "changelog", "Redis", "outputs")
NOTE = (
    "µs an event, medians of the rounds. Wall: one part alone, waiting for its server included; CPU: of the process. "
    "The worker does all parts in one process and overlaps the waiting of one partition with the work of another: its "
    "floor on one core is the CPU of all parts together."
)


@dataclass
class Found:
    """What was measured."""

    meter: Meter
    work: list[Written]
    event_bytes: int
    redis_bytes: float
    worker: Result


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        found = as_the_worker(measured(platform, folder, options))
    outcome(found).report(as_json=options.json)


def as_the_worker(work: Coroutine[None, None, Found]) -> Found:
    """Run with the loop and the collector's thresholds of `moodstream worker`."""
    gc.set_threshold(50_000, 20, 50)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench floor", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="events of the log")
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each part is measured")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def measured(platform: Platform, folder: Path, options: argparse.Namespace) -> Found:
    """Fill the log, take the parts in turns, then the worker."""
    say(f"publishing {options.events:,} events of {options.agents:,} agents")
    settings = await published(platform, Workload(options.events, options.agents))
    meter, redis_bytes = Meter(pids(platform), options.events), 0.0
    for number in range(1, options.rounds + 1):
        say(f"round {number} of {options.rounds}")
        records = await parts.poll(meter, settings, decoding=False)
        await parts.poll(meter, settings, decoding=True)
        work = await processed(meter, records, settings)
        redis_bytes = await written(meter, platform, settings, work)
    size = sum(parts.size_of((one.key, one.value) for one in some) for some in records.values())
    del records
    say("the worker")
    return Found(meter, work, size, redis_bytes, await whole_worker(platform, settings, options.events, folder))


async def written(meter: Meter, platform: Platform, settings: StreamSettings, work: list[Written]) -> float:
    """Write what the pipelines wrote to real servers; give the bytes that Redis was sent."""
    producer = await open_producer(settings)
    try:
        await parts.changelog(meter, settings, producer, work)
        await parts.outputs(meter, producer, work)
    finally:
        await producer.stop()
    return await parts.flush(meter, platform.redis_url, work)


async def whole_worker(platform: Platform, settings: StreamSettings, events: int, folder: Path) -> Result:
    """Let a worker read the log."""
    async with AsyncExitStack() as stack:
        return await measure(await ours(platform, settings, events, stack), pids(platform), folder)


# --- What comes out


def outcome(found: Found) -> Outcome:
    """Tables and figures."""
    costs = rows_of({name: found.meter.cost(name) for name in PIECES})
    worker = found.worker
    whole = Cost(1e6 / worker.events_per_s, worker.cpu_s_per_million, 0)
    figures = {
        "parts": {name: vars(cost) for name, cost in costs.items()},
        "worker": worker.rounded(),
        "worker_to_floor_cpu": round(whole.cpu / costs["all parts"].cpu, 2),
        "written": sizes(found),
    }
    return Outcome("floor", [cost_table(costs, whole), size_table(sizes(found))], [], {}, figures)


def rows_of(costs: dict[str, Cost]) -> dict[str, Cost]:
    """The parts, none of them in another, and their sum."""
    rows = {
        "poll: records from the client": costs["poll"],
        "decode": costs["poll and decode"] - costs["poll"],
        "fold and pack the rows": costs["memory"] - (costs["poll and decode"] - costs["poll"]),
        "changelog, acknowledged": costs["changelog"],
        "flush to Redis": costs["Redis"],
        "outputs, acknowledged": costs["outputs"],
    }
    return {**rows, "all parts": sum(rows.values(), Cost(0, 0, 0))}


def cost_table(costs: dict[str, Cost], whole: Cost) -> Table:
    """Parts, their sum, and the worker."""
    rows: list[list[Cell]] = [
        [name, *map(_tenths, (cost.wall, cost.cpu, cost.servers)), _rate(cost.wall), _rate(cost.cpu)]
        for name, cost in costs.items()
    ]
    rows.append(["the worker", _tenths(whole.wall), _tenths(whole.cpu), None, _rate(whole.wall), _rate(whole.cpu)])
    columns = ["part", "wall µs", "CPU µs", "CPU µs of the servers", "events/s", "events/s on a whole core"]
    return Table("The parts alone, and the worker", columns, rows, NOTE)


def sizes(found: Found) -> dict[str, dict[str, float]]:
    """Records and bytes per event, by where they are written."""
    events = found.meter.events
    appended = [one for work in found.work for _, records in work.appended for one in records]
    sent = [one for work in found.work for _, messages in work.sent for one in messages]
    counts = {
        "log of events": (events, found.event_bytes),
        "changelog": (len(appended), parts.size_of(appended)),
        "Redis": (len(appended), found.redis_bytes),
        "outputs": (len(sent), parts.size_of((one.key, one.value) for one in sent)),
    }
    return {name: {"records": records / events, "bytes": size / events} for name, (records, size) in counts.items()}


def size_table(found: dict[str, dict[str, float]]) -> Table:
    """Sizes as a table."""
    rows: list[list[Cell]] = [[name, round(one["records"], 2), round(one["bytes"])] for name, one in found.items()]
    note = "Bytes of keys and values; for Redis, all bytes of the calls as it received them."
    return Table("Per event", ["where", "records", "bytes"], rows, note)


def _tenths(value: float) -> float:
    return round(value, 1)


def _rate(us: float) -> int | None:
    return round(1e6 / us) if us > 0 else None


if __name__ == "__main__":
    main()
