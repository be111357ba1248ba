"""How fast a worker brings back an empty Redis from the changelog: as it was written, and after compaction.

The rows are those that a worker appended while it folded real events, written again under many names. The compacted
log has lost every row that was replaced, one agent in twenty has been deleted, and its offsets have gaps. Both are
restored in turns by `moodstream worker`. Run it by `scripts/bench restore`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from redis.asyncio import Redis

from bench.filling import Filled, Template, fold
from bench.outcome import Cell, Outcome, Table, Target
from bench.places import changelog_of, deployed, pids, say, servers
from bench.process import cpu_seconds, machine_seconds
from bench.worker import check_alive, ready, restored, used, worker
from bench.workload import Workload
from moodstream.cli.chat_events import Talk, plan, to_events
from moodstream.cli.chatlog import read_messages
from moodstream.schemas.codec import encode
from support.compaction import compacted
from support.deployments import Deployment
from support.platforms import Platform
from support.running import WorkerProcess
from support.waiting import eventually

FLOOR = 50_000
TEMPLATE_AGENTS = 500
EVENTS_PER_AGENT = 30
NOTE = (
    "Seconds: from the first partition that begins to the last that is done; to ready: from the start of the process."
)


@dataclass(frozen=True)
class Run:
    """One restore."""

    log: str
    rows: int
    mean_bytes: int
    seconds: float
    rows_per_s: float
    cpu_s_per_million: float
    rss_mb: float
    start_to_ready_s: float
    foreign_cores: float


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        runs = asyncio.run(rounds(platform, folder, options))
    outcome(runs).report(as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench restore", description=__doc__)
    parser.add_argument("--agents", type=int, default=4_000, help="agents in the changelog")
    parser.add_argument("--chat-log", type=Path, help="take the mix of rows from this chat log, as `replay` reads it")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def rounds(platform: Platform, folder: Path, options: argparse.Namespace) -> list[Run]:
    """Write both logs once, then restore from them in turns."""
    template = await fold(events(options.chat_log))
    say(f"{template.rows / template.agents:.0f} rows an agent; writing the changelogs of {options.agents:,} agents")
    logs = {
        "as written": await deployed(platform, "written", template, options.agents),
        "compacted": await cleaned(platform, template, options.agents),
    }
    runs = []
    async with Redis.from_url(platform.redis_url) as redis:
        for number in range(1, options.rounds + 1):
            say(f"round {number} of {options.rounds}")
            for name, (deployment, filled) in logs.items():
                runs.append(await one_run(name, deployment, filled, redis, folder / f"{name}-{number}.log"))
    return runs


def events(chat_log: Path | None) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of the events that the rows come from."""
    if chat_log is None:
        yield from Workload(TEMPLATE_AGENTS * EVENTS_PER_AGENT, TEMPLATE_AGENTS)
        return
    talk = Talk.of(read_messages(chat_log, None))
    for event in to_events(talk, plan(talk), "ubuntu"):
        wire = encode(event)
        yield wire.key, wire.value


async def one_run(name: str, deployment: Deployment, filled: Filled, redis: Redis, log: Path) -> Run:
    """Empty Redis, and let a worker restore it."""
    await redis.flushall()
    own = pids(deployment.platform)
    began, load = time.monotonic(), machine_seconds() - cpu_seconds(own)
    with worker(deployment, log) as process:
        await eventually(lambda: is_ready(redis, deployment, process), seconds=600, what="the restore")
        seconds, load = time.monotonic() - began, machine_seconds() - cpu_seconds(own) - load
        cpu, rss = used(process)
    found = restored(log)
    mean = round(filled.size / filled.rows)
    foreign = max(load - cpu, 0) / seconds
    return Run(name, found.rows, mean, found.seconds, found.rows_per_s, cpu / found.rows * 1e6, rss, seconds, foreign)


async def is_ready(redis: Redis, deployment: Deployment, process: WorkerProcess) -> bool:
    """Whether every partition is restored: before, there is nothing at all."""
    check_alive(process)
    return await ready(redis, deployment, [None] * deployment.streams.partitions)


async def cleaned(platform: Platform, template: Template, agents: int) -> tuple[Deployment, Filled]:
    """Write a log, delete one agent in twenty, and wait for the broker's cleaner."""
    deployment, filled = await deployed(platform, "compacted", template, agents, erased=20)
    async with changelog_of(deployment.streams) as log:
        await compacted(log, deployment.streams, filled.marks)
    return deployment, filled


def outcome(runs: list[Run]) -> Outcome:
    """The table, the floor of each log, and medians by log."""
    names = dict.fromkeys(run.log for run in runs)
    rates = {name: round(statistics.median(run.rows_per_s for run in runs if run.log == name)) for name in names}
    targets = [
        Target(f"restore, {name}", f"at least {FLOOR:,} rows/s", f"{rate:,} rows/s", rate >= FLOOR)
        for name, rate in rates.items()
    ]
    columns = ["log", "rows", "mean bytes", "s", "rows/s", "CPU s / million", "peak RSS MB", "to ready s", "foreign"]
    table = Table("Restores, in turns", columns, [list(rounded(run).values()) for run in runs], NOTE)
    return Outcome("restore", [table], targets, {}, {"rows_per_s": rates, "runs": [rounded(run) for run in runs]})


def rounded(run: Run) -> dict[str, Cell]:
    """Give the values as they are printed."""
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(run).items()}


if __name__ == "__main__":
    main()
