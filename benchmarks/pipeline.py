"""How fast the worker gets through a backlog in real Kafka, beside Faust, Quix Streams and Kafka Streams.

All are measured in turns in one run, for the speed of a machine changes with time. What they gave out is checked
against an oracle, and the command exits with 1 where anything is wrong. Run it by `scripts/bench pipeline`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from bench.contest import backlog, contest
from bench.outcome import Outcome
from bench.places import say, servers
from bench.profiling import profile
from bench.run import Load, started, watch
from bench.standing import outcome, unsound
from bench.subjects import ours
from bench.terms import Contest, Terms
from bench.window import Span
from support.platforms import Platform

PICTURE = Path(__file__).resolve().parents[1] / ".cache" / "bench" / "pipeline.svg"


def main() -> None:
    """Read the options, start the servers, measure, print."""
    options = parsed(sys.argv[1:])
    if options.profile:
        options.profile.parent.mkdir(parents=True, exist_ok=True)
    terms = Terms(options.seconds, options.warmup, options.rounds, not options.skip_peers)
    with servers() as (platform, folder):
        if options.profile:
            report = asyncio.run(profiled(platform, folder, options.agents[0], terms, options.profile))
            contests: list[Contest] = []
        else:
            contests = [asyncio.run(contest(platform, folder, agents, terms)) for agents in options.agents]
            report = outcome(contests)
    report.report(as_json=options.json)
    faults = unsound(contests)
    for fault in faults:
        say(f"wrong: {fault}")
    sys.exit(bool(faults))


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench pipeline", description=__doc__)
    parser.add_argument(
        "--agents", type=numbers, default=[1_000], metavar="N,...", help="one log for each; default 1000"
    )
    parser.add_argument("--seconds", type=float, default=45.0, help="how long each is measured")
    parser.add_argument(
        "--warmup", type=float, default=10.0, help="seconds of the JVM before that; at most 3 of others"
    )
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured")
    parser.add_argument("--skip-peers", action="store_true", help="measure moodstream alone")
    parser.add_argument(
        "--profile",
        type=Path,
        nargs="?",
        const=PICTURE,
        metavar="FILE",
        help="draw a flame graph of our worker, only that",
    )
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


def numbers(text: str) -> list[int]:
    """Numbers with commas between them."""
    return [int(word) for word in text.split(",")]


async def profiled(platform: Platform, folder: Path, agents: int, terms: Terms, picture: Path) -> Outcome:
    """Let our worker consume, and look into it."""
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(backlog(platform, agents, terms.backlog([], agents)))
        subject = await ours(platform, log.topics, log.events, stack)
        warm = Span(terms.span(jit=False).warmup, 0)
        with started(subject, folder) as process:
            await watch(subject, process, Load([], []), warm.over, folder)
            table = await profile(process.pid, terms.seconds, picture)
            if await subject.progress() >= log.events:
                say("the worker ran out of events: the profile shows its idling too")
    say(f"flame graph: {picture}")
    return Outcome("pipeline", [table], figures={"profile": str(picture)})


if __name__ == "__main__":
    main()
