"""How wrong is a mood when its events come late, in another order or twice? And a day in the life of one agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from evidence.jobs import rng_of
from evidence.talk import Life, chat
from moodstream.affect.appraisal import appraise
from moodstream.affect.dynamics import Dynamics, octant
from moodstream.affect.mood import mood_at
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_us
from moodstream.schemas.profile import DEFAULT_PROFILE

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
AXES: Final = ("pleasure", "arousal", "dominance")
EXACT: Final = 1e-9
_CANDIDATES = 300
_FADED_MS: Final = 30 * 4 * HOUR_MS
"""Thirty time constants: what is older has left nothing that 64 bits could hold."""

Triple = tuple[float, float, float]


class Moving(NamedTuple):
    """An event that moves the mood: when it happened, and by how much."""

    at: int
    delta: Triple
    event: InputEvent


class Arrival(NamedTuple):
    """One copy of an event that reaches the worker at `wall`, in ms."""

    wall: int
    number: int
    moving: Moving


Delay = Callable[[np.random.Generator, Sequence[int]], list[list[int]]]
"""From the times of events to the times at which copies of each arrive."""


def at_once(_: np.random.Generator, times: Sequence[int]) -> list[list[int]]:
    """Every event arrives as it happens."""
    return [[t] for t in times]


def twice(rng: np.random.Generator, times: Sequence[int]) -> list[list[int]]:
    """A second copy of each event comes half an hour later in the mean."""
    return [[t, t + int(rng.exponential(HOUR_MS / 2))] for t in times]


def shuffled(rng: np.random.Generator, times: Sequence[int]) -> list[list[int]]:
    """Every event is up to an hour late, each by itself, so that they come in another order."""
    return [[t + int(rng.uniform(0, HOUR_MS))] for t in times]


def delayed(rng: np.random.Generator, times: Sequence[int]) -> list[list[int]]:
    """Every event is six hours late in the mean, each by itself."""
    return [[t + int(rng.exponential(6 * HOUR_MS))] for t in times]


def backlog(_: np.random.Generator, times: Sequence[int]) -> list[list[int]]:
    """The worker runs once a day: what has happened since is folded at midnight, in order."""
    return [[t - t % DAY_MS + DAY_MS] for t in times]


def everything(rng: np.random.Generator, times: Sequence[int]) -> list[list[int]]:
    """Every event comes twice, six hours late in the mean, and only in the minute after midnight, in any order."""
    late = [[t + int(rng.exponential(6 * HOUR_MS)) for _ in range(2)] for t in times]
    return [[wall - wall % DAY_MS + DAY_MS + int(rng.uniform(0, 60_000)) for wall in copies] for copies in late]


SCENARIOS: Final[dict[str, tuple[str, Delay]]] = {
    "in order": ("in order, at once", at_once),
    "twice": ("each event twice", twice),
    "shuffled": ("shuffled, up to 1 h late", shuffled),
    "delayed": ("6 h late in the mean", delayed),
    "backlog": ("a day's backlog, in order", backlog),
    "everything": ("twice, late, in a shuffled backlog", everything),
}


@dataclass(slots=True)
class Usual:
    """The usual rule: on arrival add, then decay by the time on the clock since the last one; with its milder twin.

    `decays_first` is the twin: it decays before it adds, which is right as long as events arrive when they happen.
    """

    dynamics: Dynamics
    decays_first: bool
    x: Triple = (0.0, 0.0, 0.0)
    last: int | None = None

    def arrive(self, wall: int, delta: Triple) -> None:
        """Take in one copy of an event."""
        faded = self._factor(wall)
        if self.decays_first:
            self.x = self._limited([x * faded + d for x, d in zip(self.x, delta, strict=True)])
        else:
            added = self._limited([x + d for x, d in zip(self.x, delta, strict=True)])
            self.x = (added[0] * faded, added[1] * faded, added[2] * faded)
        self.last = wall

    def read(self, wall: int) -> Triple:
        """Return the displacement now."""
        faded = self._factor(wall)
        return self.x[0] * faded, self.x[1] * faded, self.x[2] * faded

    def _factor(self, wall: int) -> float:
        return 1.0 if self.last is None else exp(-(wall - self.last) / self.dynamics.tau_ms[0])

    def _limited(self, x: list[float]) -> Triple:
        p, a, d = (
            min(max(value, low), high)
            for value, low, high in zip(x, self.dynamics.low, self.dynamics.high, strict=True)
        )
        return p, a, d


@dataclass(slots=True)
class Errors:
    """Errors of one rule, an entry for each axis of each reading."""

    off: list[float] = field(default_factory=list)
    octants: int = 0
    silent: int = 0
    flagged: int = 0
    readings: int = 0

    def note(self, mood: Triple, truth: Triple, approximate: bool) -> None:
        """Compare one reading with the truth."""
        off = [abs(a - b) for a, b in zip(mood, truth, strict=True)]
        self.off += off
        self.readings += 1
        self.octants += octant(mood) != octant(truth) and max(off) > EXACT
        self.flagged += approximate
        self.silent += max(off) > EXACT and not approximate

    def summed_up(self) -> dict[str, float]:
        """Return mean, 95 % quantile and maximum of the error, and shares of readings."""
        off = np.array(self.off or [0.0])
        return {
            "mean": float(off.mean()),
            "q95": float(np.quantile(off, 0.95)),
            "max": float(off.max()),
            "exact": float((off <= EXACT).mean()),
            "octant": self.octants / max(self.readings, 1),
            "flagged": self.flagged / max(self.readings, 1),
            "silent": self.silent / max(self.readings, 1),
            "readings": self.readings,
        }


def dynamics() -> Dynamics:
    """Return those of the default profile."""
    return Dynamics.of(DEFAULT_PROFILE)


def moving(events: Sequence[InputEvent]) -> list[Moving]:
    """Return the events that move the mood, by the default rules, in order of time."""
    found = []
    for event in events:
        delta = appraise(event, DEFAULT_PROFILE.rules)
        if delta is not None:
            found.append(Moving(to_us(event.occurred_at) // 1000, delta, event))
    return found


def errors(
    path: Path, limit: int | None, seed: int, scenario: str, agents: int, readings: int
) -> dict[str, dict[str, float]]:
    """Let the events of the most moved agents arrive as the scenario says, and compare readings with the truth."""
    delay = SCENARIOS[scenario][1]
    found = {"ours": Errors(), "usual": Errors(), "milder": Errors()}
    for name, moved in most_moved(path, limit, agents):
        rng = rng_of(seed, "moods", scenario, name)
        read_one(rng, name, arrivals(rng, delay, moved), readings, found)
    return {rule: each.summed_up() for rule, each in found.items()}


def most_moved(path: Path, limit: int | None, agents: int) -> list[tuple[str, list[Moving]]]:
    """Return the agents with the most events that move them; those that nothing moves never count."""
    all_of = [(name, moving(events)) for name, events in chat(path, limit).events.items()]
    moved = [one for one in all_of if one[1]]
    return sorted(moved, key=lambda one: (-len(one[1]), one[0]))[:agents]


def arrivals(rng: np.random.Generator, delay: Delay, moved: list[Moving]) -> list[Arrival]:
    """Return all copies of the events in the order in which they arrive."""
    copies = delay(rng, [one.at for one in moved])
    each = [Arrival(wall, at, moved[at]) for at, walls in enumerate(copies) for wall in walls]
    return sorted(each, key=lambda one: (one.wall, one.number))


def read_one(
    rng: np.random.Generator, name: str, coming: list[Arrival], readings: int, found: dict[str, Errors]
) -> None:
    """Fold one agent by all rules at once, and read it at random times shortly after arrivals."""
    life, rules = Life(name), {"usual": Usual(dynamics(), False), "milder": Usual(dynamics(), True)}
    arrived: list[Moving] = []
    seen: set[int] = set()
    for one, reads in with_reads(rng, coming, readings):
        life.fold(one.moving.event)
        for rule in rules.values():
            rule.arrive(one.wall, one.moving.delta)
        if one.number not in seen:
            seen.add(one.number)
            arrived.append(one.moving)
        for wall in reads:
            right = truth(arrived, wall)
            ours = mood_at(life.rows.mood, wall, dynamics())
            found["ours"].note(ours.mood, right, ours.approximate)
            for rule_name, rule in rules.items():
                found[rule_name].note(rule.read(wall), right, False)


def with_reads(rng: np.random.Generator, coming: list[Arrival], readings: int) -> Iterator[tuple[Arrival, list[int]]]:
    """Give each arrival with the times at which somebody reads the mood before the next one."""
    walls = np.array([one.wall for one in coming])
    reads = np.sort(rng.choice(walls, readings) + rng.exponential(HOUR_MS, readings).astype(np.int64))
    bounds = np.searchsorted(reads, [*walls[1:], walls[-1] + _FADED_MS])
    first = 0
    for one, end in zip(coming, bounds.tolist(), strict=True):
        yield one, reads[first:end].tolist()
        first = end


def truth(known: Sequence[Moving], wall: int) -> Triple:
    """Return the displacement at `wall` by the definition: sort by time, then decay, add and clamp, one by one."""
    lately = sorted((one.at, hash_order(one), one.delta) for one in known if wall - _FADED_MS <= one.at <= wall)
    rule = dynamics()
    x, last = [0.0, 0.0, 0.0], wall - _FADED_MS
    for at, _, delta in lately:
        for axis in range(3):
            faded = x[axis] * exp(-(at - last) / rule.tau_ms[axis])
            x[axis] = min(max(faded + delta[axis], rule.low[axis]), rule.high[axis])
        last = at
    p, a, d = (x[axis] * exp(-(wall - last) / rule.tau_ms[axis]) for axis in range(3))
    return p, a, d


def hash_order(one: Moving) -> bytes:
    """Return what orders events of one time (docs/rows.md)."""
    return hash_id(one.event.event_id)


def day(path: Path, limit: int | None) -> dict[str, object]:
    """Return the mood of one agent every five minutes, and what moved it, on the day with the most moving events."""
    name, moved, start = busiest_day(path, limit)
    life, left = Life(name), [one for one in moved if one.at < start + 36 * HOUR_MS]
    times, moods = list(range(start, start + 36 * HOUR_MS + 1, 5 * 60_000)), []
    for t in times:
        while left and left[0].at <= t:
            life.fold(left.pop(0).event)
        moods.append(mood_at(life.rows.mood, t, dynamics()).mood)
    inside = [one for one in moved if start <= one.at <= times[-1]]
    return {
        "agent": name,
        "start_ms": start,
        "hours": [(t - start) / HOUR_MS for t in times],
        "moods": moods,
        "events": [((one.at - start) / HOUR_MS, one.delta[0]) for one in inside],
    }


def busiest_day(path: Path, limit: int | None) -> tuple[str, list[Moving], int]:
    """Return the agent, its moving events, and the start of the 24 hours in which it was moved in most hours."""
    best: tuple[tuple[int, int], str, list[Moving], int] = ((0, 0), "", [], 0)
    for name, moved in most_moved(path, limit, _CANDIDATES):
        at = np.array([one.at for one in moved])
        for first, end in enumerate(np.searchsorted(at, at + DAY_MS).tolist()):
            busy = len(np.unique(at[first:end] // HOUR_MS)), end - first
            if busy > best[0]:
                best = busy, name, moved, int(at[first] - at[first] % HOUR_MS)
    return best[1:]
