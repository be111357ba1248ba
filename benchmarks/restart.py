"""How long a worker takes to start again where Redis still has all: with few agents, and with very many.

Both deployments have the same topics; the changelog and Redis of one hold a thousand times the agents of the other. In
turns a worker is started on each, while an event is published: measured is the time from the start of the process until
every partition is ready, and until the event can be read in Redis. Run it by `scripts/bench restart`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from redis.asyncio import Redis

from bench.filling import Template, fold
from bench.outcome import Outcome, Table, Target
from bench.places import deployed, pids, say, servers
from bench.process import cpu_seconds, machine_seconds
from bench.worker import check_alive, epochs, ready, restored, used, worker
from bench.workload import Workload
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.state.layout import Layout
from moodstream.streams.bus import Bus
from support.deployments import Deployment
from support.events import T0_MS
from support.events import outcome as outcome_event
from support.platforms import Platform
from support.running import WorkerProcess
from support.waiting import eventually

MOST = 1.5
TEMPLATE_AGENTS = 1_000
FEW = 1_000
RESTORE_SECONDS = 3_600
NOTE = "From the start of the process. Records read: of the changelog, by all partitions together."


@dataclass(frozen=True)
class Run:
    """One restart; times in seconds from the start of the process."""

    agents: int
    ready_s: float
    visible_s: float
    records_read: int
    rss_mb: float
    foreign_cores: float


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        runs = asyncio.run(rounds(platform, folder, options))
    outcome(runs).report(as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench restart", description=__doc__)
    parser.add_argument("--agents", type=int, default=1_000_000, help="agents of the large deployment")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is started")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def rounds(platform: Platform, folder: Path, options: argparse.Namespace) -> list[Run]:
    """Fill both deployments, then start a worker on each in turns."""
    template = await fold(Workload(TEMPLATE_AGENTS, TEMPLATE_AGENTS))
    runs = []
    async with Redis.from_url(platform.redis_url) as redis:
        places = [await filled(platform, template, agents, redis, folder) for agents in (FEW, options.agents)]
        for number in range(1, options.rounds + 1):
            say(f"round {number} of {options.rounds}")
            for deployment, agents in places:
                log = folder / f"{agents}-{number}.log"
                runs.append(await one_run(deployment, agents, number, redis, log))
    return runs


async def filled(
    platform: Platform, template: Template, agents: int, redis: Redis, folder: Path
) -> tuple[Deployment, int]:
    """Write a changelog, and have a worker restore Redis from it."""
    began = time.monotonic()
    deployment, done = await deployed(platform, "restart", template, agents)
    with worker(deployment, folder / f"{agents}.log"):
        nobody = [None] * deployment.streams.partitions
        await eventually(lambda: ready(redis, deployment, nobody), seconds=RESTORE_SECONDS, what="the restore")
    say(f"{agents:,} agents, {done.rows:,} rows: written and restored in {time.monotonic() - began:.0f} s")
    return deployment, agents


async def one_run(deployment: Deployment, agents: int, number: int, redis: Redis, log: Path) -> Run:
    """Start a worker, and publish an event to each partition meanwhile."""
    before = await epochs(redis, deployment)
    events = probes(number, deployment.streams.partitions)
    own = pids(deployment.platform)
    async with Bus(deployment.streams) as bus:
        began, load = time.monotonic(), machine_seconds() - cpu_seconds(own)
        with worker(deployment, log) as process:
            await bus.fire_all(events)
            ready_s, visible_s = await asyncio.gather(
                taken(process, began, lambda: ready(redis, deployment, before)),
                taken(process, began, lambda: visible(redis, deployment, events)),
            )
            load = machine_seconds() - cpu_seconds(own) - load
            cpu, rss = used(process)
    return Run(agents, ready_s, visible_s, restored(log).rows, rss, max(load - cpu, 0) / max(ready_s, visible_s))


async def taken(process: WorkerProcess, began: float, condition: Callable[[], Awaitable[bool]]) -> float:
    """How long it took until a condition held."""

    async def holds() -> bool:
        check_alive(process)
        return await condition()

    await eventually(holds, seconds=120, what="the restart")
    return time.monotonic() - began


def probes(number: int, partitions: int) -> list[InputEvent]:
    """Events of agents that nobody knows yet, one in each partition."""
    found: dict[int, InputEvent] = {}
    serial = 0
    while len(found) < partitions:
        agent = f"probe-{number}-{serial}"
        found.setdefault(
            partition_of(agent_key("bench", agent), partitions), outcome_event("bench", agent, "probe", T0_MS)
        )
        serial += 1
    return list(found.values())


async def visible(redis: Redis, deployment: Deployment, events: Sequence[InputEvent]) -> bool:
    """Whether Redis has the agents of all events."""
    for event in events:
        key = agent_key(event.tenant_id, event.agent_id)
        layout = Layout(deployment.prefix, partition_of(key, deployment.streams.partitions))
        if not await redis.hexists(layout.agent(key), "agent"):
            return False
    return True


def outcome(runs: list[Run]) -> Outcome:
    """The table, what many agents may cost, and medians; ratios are of runs that stood side by side."""
    few, many = runs[::2], runs[1::2]
    large = max(run.agents for run in runs)
    found = {
        what: statistics.median(getattr(b, name) / getattr(a, name) for a, b in zip(few, many, strict=True))
        for what, name in (("ready", "ready_s"), ("visible", "visible_s"))
    }
    names = {"ready": "all partitions ready", "visible": "an event readable"}
    targets = [
        Target(f"{names[what]}: {large:,} agents to {FEW:,}", f"at most {MOST:g} x", f"{one:.2f} x", one <= MOST)
        for what, one in found.items()
    ]
    figures = {
        "medians": [medians(few), medians(many)],
        "agents_ratios": {what: round(one, 3) for what, one in found.items()},
        "runs": [rounded(run) for run in runs],
    }
    columns = ["agents", "ready s", "event visible s", "records read", "peak RSS MB", "foreign cores"]
    table = Table("Restarts, in turns", columns, [list(rounded(run).values()) for run in runs], NOTE)
    return Outcome("restart", [table], targets, {}, figures)


def medians(part: list[Run]) -> dict[str, float]:
    """Medians of the runs of one deployment."""
    return {
        "agents": part[0].agents,
        "ready_s": round(statistics.median(run.ready_s for run in part), 2),
        "visible_s": round(statistics.median(run.visible_s for run in part), 2),
    }


def rounded(run: Run) -> dict[str, float]:
    """Give the values as they are printed."""
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in asdict(run).items()}


if __name__ == "__main__":
    main()
