"""What trends cost: folding an engagement report into its two rows, and deriving what is said of a row.

Rows are read from their bytes and packed again, as a worker does it that has none of them in memory; it has most, so
these are the worst figures. Rows at their limit hold 64 turns with all six signals. In a chunk a row is read and packed
once: how often it is met decides what an event costs. Run it by `scripts/bench trends`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench.outcome import Cell, Outcome, Table, Target
from bench.process import machine_seconds
from moodstream.affect.bulk import look_all
from moodstream.affect.signals import SIGNALS, turn_key, values_of
from moodstream.affect.statistics import summary
from moodstream.affect.trends import TrendRow, report_of
from moodstream.schemas.events import Engagement
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_ms
from moodstream.schemas.profile import DEFAULT_PROFILE
from moodstream.state.rows import Kind, pack_row, unpack_row

KEPT = 64
_BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_STAMP = bytes(8)

Rows = dict[bytes, bytes]
"""Stored rows by name."""


@dataclass(frozen=True)
class Task:
    """One thing to be measured: `run` does it for `items` events or rows."""

    name: str
    per: str
    items: int
    target_us: float | None
    run: Callable[[], object]


@dataclass(frozen=True)
class Result:
    """A task's time per event or row in microseconds: the median of the rounds, and the best and worst of them."""

    name: str
    per: str
    median_us: float
    best_us: float
    worst_us: float
    target_us: float | None


def main() -> None:
    """Read the options, measure, print."""
    options = parsed(sys.argv[1:])
    load = machine_seconds() - time.process_time()
    began = time.perf_counter()
    results = measured(list(tasks(options.seed)), options.rounds)
    foreign = (machine_seconds() - time.process_time() - load) / (time.perf_counter() - began)
    outcome(results, foreign).report(as_json=options.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench trends", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how often each is measured")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser.parse_args(arguments)


def measured(each: Sequence[Task], rounds: int) -> list[Result]:
    """Run all tasks in turns, so that a slow minute of the machine meets all of them; the first turn does not count."""
    times: list[list[float]] = [[] for _ in each]
    for number in range(rounds + 1):
        for task, found in zip(each, times, strict=True):
            began = time.perf_counter()
            task.run()
            if number:
                found.append((time.perf_counter() - began) / task.items * 1e6)
    return [
        Result(task.name, task.per, statistics.median(found), min(found), max(found), task.target_us)
        for task, found in zip(each, times, strict=True)
    ]


# --- What is measured


def tasks(seed: int) -> Iterator[Task]:
    """Give what is measured."""
    rng = random.Random(seed)  # noqa: S311 - a workload has to be the same each time
    yield alone("one event, both rows at their limit", rng, pair_turns=KEPT)
    yield alone("one event, the pair at 16 turns", rng, pair_turns=16)
    yield chunk("4,000 events of 100 agents, 2,000 pairs", rng, agents=100)
    yield chunk("4,000 events of 1,000 agents, 3,600 pairs", rng, agents=1_000)
    rows = [read(stored(rng, KEPT)) for _ in range(256)]
    yield Task("labels of one row", "row", 200, 100.0, lambda: [look_all(rows[n : n + 1]) for n in range(200)])
    yield Task("labels of 10 rows together", "row", 250, None, lambda: [look_all(rows[n : n + 10]) for n in _TENS])
    yield Task("labels of 256 rows together", "row", 256, 30.0, lambda: look_all(rows))
    yield Task("everything that is said of one row", "row", 20, None, lambda: [said(row) for row in rows[:20]])


_TENS = range(0, 250, 10)


def alone(name: str, rng: random.Random, pair_turns: int) -> Task:
    """Events that each meet rows of their own, all read and written for it alone."""
    kept = {b"agent": stored(rng, KEPT, others=4), b"pair": stored(rng, pair_turns)}
    events = [event(rng, KEPT + n, "peer-0") for n in range(500)]
    return Task(name, "event", len(events), 40.0, lambda: [fold(kept, [(b"agent", b"pair", one)]) for one in events])


def chunk(name: str, rng: random.Random, agents: int) -> Task:
    """A worker's largest chunk, of agents that talk to 20 others each: each row is read and written once."""
    kept: Rows = {}
    changes = []
    for number in range(4_000):
        agent, other = rng.randrange(agents), rng.randrange(20)
        of_agent, of_pair = b"%d" % agent, b"%d/%d" % (agent, other)
        if of_agent not in kept:
            kept[of_agent] = stored(rng, KEPT, others=20)
        if of_pair not in kept:
            kept[of_pair] = stored(rng, 16)
        changes.append((of_agent, of_pair, event(rng, KEPT + number, f"peer-{other}")))
    return Task(name, "event", len(changes), 15.0, lambda: fold(kept, changes))


def fold(kept: Rows, changes: Sequence[tuple[bytes, bytes, Engagement]]) -> Rows:
    """Read the rows, fold the events, pack the rows."""
    rules, rows = DEFAULT_PROFILE.rules, {}
    for of_agent, of_pair, one in changes:
        key = turn_key(one.other_agent_id, one.turn_id)
        found = report_of(key, hash_id(one.event_id), to_ms(one.occurred_at), values_of(one, rules))
        for name in (of_agent, of_pair):
            row = rows.get(name)
            if row is None:
                row = rows[name] = read(kept[name])
            row.enter(found)
    return {name: pack_row(Kind.TRENDS, 1, row.pack(), _STAMP) for name, row in rows.items()}


def read(data: bytes) -> TrendRow:
    """Decode a stored row."""
    return TrendRow.unpack(unpack_row(data).body)


def said(row: TrendRow) -> object:
    """Derive everything, signal by signal, as a read over HTTP does."""
    return [summary(row, signal, to_ms(_BEGIN)) for signal in SIGNALS]


# --- The rows and events


def stored(rng: random.Random, turns: int, others: int = 1) -> bytes:
    """Make a row of so many turns, one after the other, as it is stored."""
    kept = {b"": pack_row(Kind.TRENDS, 0, TrendRow().pack(), _STAMP)}
    events = [event(rng, n, f"peer-{n % others}") for n in range(turns)]
    return fold(kept, [(b"", b"", one) for one in events])[b""]


def event(rng: random.Random, turn: int, other: str) -> Engagement:
    """Make a report with all six signals."""
    return Engagement(
        tenant_id="bench",
        agent_id="agent",
        event_id=f"event-{turn:06}-{other}",
        occurred_at=_BEGIN + turn * timedelta(minutes=10),
        description="how an answer landed",
        other_agent_id=other,
        turn_id=f"turn-{turn:06}",
        responded=rng.random() < 0.8,
        response_time_ms=int(rng.lognormvariate(10, 1.5)),
        response_length=rng.randrange(1, 800),
        sentiment_shift=round(rng.uniform(-1, 1), 3),
        reaction_count=rng.randrange(6),
        continued=rng.random() < 0.5,
    )


# --- What comes out


def outcome(results: Sequence[Result], foreign: float) -> Outcome:
    """The table, and the targets that were set."""
    columns = ["what", "µs", "per", "best", "worst", "target", ""]
    rows: list[list[Cell]] = [
        [
            one.name,
            *(rounded(one)[key] for key in ("median_us", "per", "best_us", "worst_us", "target_us")),
            verdict(one),
        ]
        for one in results
    ]
    note = f"Medians of the rounds; meanwhile others took {foreign:.2f} cores."
    targets = [
        Target(one.name, f"at most {one.target_us:g} µs", f"{one.median_us:.1f} µs", one.median_us <= one.target_us)
        for one in results
        if one.target_us is not None
    ]
    figures = {"foreign_cores": round(foreign, 2), "results": [*map(rounded, results)]}
    return Outcome("trends", [Table("Folding and labelling", columns, rows, note)], targets, {}, figures)


def verdict(one: Result) -> str:
    """Say whether the target was met."""
    if one.target_us is None:
        return ""
    return "met" if one.median_us <= one.target_us else f"missed by {one.median_us / one.target_us - 1:.0%}"


def rounded(one: Result) -> dict[str, Cell]:
    """Give a result as it is written."""
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in vars(one).items()}


if __name__ == "__main__":
    main()
