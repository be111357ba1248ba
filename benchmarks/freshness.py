"""How old an answer of the query service is: from `fire` until an event's effect can be read over HTTP.

Broker, Redis, a worker, the query service and a publisher of load all run. First the highest rate is searched at which
the worker's lag stays flat; then events come at half of that rate, and probes are fired in between; then probes alone.
Run it by `scripts/bench freshness`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientSession

from bench.latency import Latency
from bench.loading import Load, load
from bench.outcome import Cell, Outcome, Table, Target
from bench.places import say, servers
from bench.probing import PAUSE_SECONDS, Prober, Times
from bench.process import cpu_seconds
from bench.searching import Found, Search, flat
from bench.whole import Whole, whole
from moodstream.streams.bus import Bus
from support.platforms import Platform
from support.waiting import eventually

HALF_MS, IDLE_MS = 100.0, 30.0
"""What p99 may be."""
HALF_PROBES, IDLE_PROBES = 35.0, 10.0
"""Probes a second: so many that a minute at half load gives p99.9."""
_LOOK_SECONDS = 0.25
_SETTLE_SECONDS = 1.5
_WARM_SECONDS = 3.0


@dataclass
class Part:
    """Probes under one condition."""

    name: str
    rate: float
    """Events/s of load, as they were published."""
    times: Times
    cores: dict[str, float] = field(default_factory=dict)
    """Cores in use, by part."""


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    with servers() as (platform, folder):
        found, parts = asyncio.run(measured(platform, folder, options))
    outcome(found, parts, options.resolution).report(as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench freshness", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long probes are fired, under load and idle")
    parser.add_argument("--agents", type=int, default=1_000, help="agents of the load")
    parser.add_argument("--start-rate", type=float, default=2_000, help="events/s at which the search begins")
    parser.add_argument("--step-seconds", type=float, default=8, help="how long each rate is tried")
    parser.add_argument("--resolution", type=float, default=1.1, help="lowest rate too high to highest borne")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


async def measured(platform: Platform, folder: Path, options: argparse.Namespace) -> tuple[Found, list[Part]]:
    """Search, then probe at half of the rate, then without load."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(whole(platform, folder))
        bus = await stack.enter_async_context(Bus(one.deployment.streams))
        session = await stack.enter_async_context(ClientSession())  # comes with Faust; costs a third of httpx
        publisher = await stack.enter_async_context(load(one.deployment.streams, options.agents))
        prober = Prober(bus, session, one.url)
        await prober.run(IDLE_PROBES, _WARM_SECONDS)
        found = await searched(one, publisher, prober, options)
        parts = [
            await probed("half load", found.good / 2, HALF_PROBES, options.seconds, (one, publisher, prober)),
            await probed("idle", 0, IDLE_PROBES, options.seconds, (one, publisher, prober)),
        ]
        await checked(one)
        return found, parts


# --- The search


async def searched(one: Whole, publisher: Load, prober: Prober, options: argparse.Namespace) -> Found:
    """Find the highest rate at which the lag stays flat, while the query service is asked."""

    async def holds(rate: float) -> bool:
        await publisher.at(rate)
        async with prober.asking():
            samples = await looked(one, options.step_seconds)
        borne = flat(samples, rate)
        say(f"{rate:,.0f} events/s: lag {samples[0][1]:,.0f} to {samples[-1][1]:,.0f}, {'flat' if borne else 'grows'}")
        if not borne:
            await drained(one, publisher)
        return borne

    return await Search(options.start_rate, resolution=options.resolution).highest(holds)


async def looked(one: Whole, seconds: float) -> list[tuple[float, float]]:
    """Samples of the lag: time in s, events. What lies before the first ones is left out, for a rate sets in slowly."""
    await asyncio.sleep(min(_SETTLE_SECONDS, seconds / 3))
    end, samples = time.monotonic() + seconds - min(_SETTLE_SECONDS, seconds / 3), list[tuple[float, float]]()
    while time.monotonic() < end or len(samples) < 2:
        samples.append((time.monotonic(), await one.lag()))
        await asyncio.sleep(_LOOK_SECONDS)
    return samples


async def drained(one: Whole, publisher: Load) -> None:
    """Stop the load, and wait until the worker has read everything."""
    await publisher.at(0)

    async def is_empty() -> bool:
        return await one.lag() == 0

    await eventually(is_empty, seconds=120, what="the end of the lag")


# --- The probes


async def probed(name: str, rate: float, probes: float, seconds: float, at: tuple[Whole, Load, Prober]) -> Part:
    """Fire probes beside a load; before it counts, both run for some seconds."""
    one, publisher, prober = at
    say(f"{name}: {seconds:g} s of {probes:g} probes/s beside {rate:,.0f} events/s")
    await drained(one, publisher)
    await publisher.at(rate)
    await prober.run(probes, _WARM_SECONDS)
    before, begun, began = cpu(one, publisher), (await one.counts())["accepted"], time.monotonic()
    times = await prober.run(probes, seconds)
    took, after = time.monotonic() - began, cpu(one, publisher)
    done = (await one.counts())["accepted"] - begun - len(times.seen)
    return Part(name, done / took, times, {key: (after[key] - before[key]) / took for key in after})


def cpu(one: Whole, publisher: Load) -> dict[str, float]:
    """CPU seconds by part; `others` is what nobody here has used."""
    used = one.cpu()
    used |= {"publisher of load": cpu_seconds([publisher.pid]), "probes": cpu_seconds([os.getpid()])}
    machine = used.pop("machine")
    return {**used, "others": machine - sum(used.values())}


async def checked(one: Whole) -> None:
    """RuntimeError where the load was not what it should be: refused records and duplicates cost other times."""
    counts = await one.counts()
    if counts["dead"] or counts["duplicate"]:
        raise RuntimeError(f"not all of the load was accepted: {counts}")


# --- What comes out


def outcome(found: Found, parts: list[Part], resolution: float) -> Outcome:
    """Tables, targets and figures."""
    seen = {part.name: Latency.of(part.times.seen) for part in parts}
    limits = {"half load": HALF_MS, "idle": IDLE_MS}
    targets = [
        Target(
            f"p99 from fire to the answer, {name}",
            f"under {limits[name]:g} ms",
            f"{one.p99:g} ms",
            one.p99 < limits[name],
        )
        for name, one in seen.items()
    ]
    figures = {
        "highest_rate": round(found.good),
        "not_borne": None if found.bad == float("inf") else round(found.bad),
        "tried": [[round(rate), borne] for rate, borne in found.tried],
        "pause_ms": PAUSE_SECONDS * 1000,
    }
    return Outcome("freshness", [times_of(parts, found, resolution), cores_of(parts)], targets, {}, figures)


def times_of(parts: list[Part], found: Found, resolution: float) -> Table:
    """Times, one row for what the publisher waits for, and one for what the reader sees."""
    rows: list[list[Cell]] = []
    for part in parts:
        kinds = {"the broker has it": part.times.taken, "the query service shows it": part.times.seen}
        kinds["(one answer, from its question)"] = part.times.questions
        rows += [[part.name, round(part.rate), what, *Latency.of(times).cells()] for what, times in kinds.items()]
    return Table(
        "From fire to an answer that shows the event",
        ["when", "events/s of load", "until", "probes", "median ms", "p99 ms", "p99.9 ms", "max ms"],
        rows,
        note_of(parts, found, resolution),
    )


def note_of(parts: list[Part], found: Found, resolution: float) -> str:
    """How to read the table."""
    few = [part.name for part in parts if not Latency.of(part.times.seen).enough]
    lines = [
        f"The lag stayed flat at {found.good:,.0f} events/s at most, with all parts on this machine, and grew at "
        f"{found.bad:,.0f} (searched down to a ratio of {resolution:g}).",
        f"The mood is asked for all the time, one question after the other, {PAUSE_SECONDS * 1000:g} ms in between: "
        "times are up to a pause and an answer too long, never too short.",
    ]
    if few:
        lines.append(f"Too few probes for p99.9 ({', '.join(few)}): it says no more than the maximum.")
    return " ".join(lines)


def cores_of(parts: list[Part]) -> Table:
    """Who used how many cores meanwhile."""
    names = list(parts[0].cores)
    rows: list[list[Cell]] = [[name, *(round(part.cores[name], 2) for part in parts)] for name in names]
    return Table("Cores in use meanwhile", ["who", *(part.name for part in parts)], rows)


if __name__ == "__main__":
    main()
