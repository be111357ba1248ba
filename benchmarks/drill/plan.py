"""What happens in a round, drawn from the seed: the same seed and round give the same plan, whoever asks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from typing import Any

from drill.kinds import BROKER_GONE, KINDS, ORDINARY, SLOTS_MOVED, Kind

MOST_FAULTS = 3
FIRST_SECONDS, LAST_SECONDS = 0.5, 3.0
"""When faults begin, seconds after the first event: close enough to overlap."""
ONE, TRIO, CLUSTER = "one", "trio", "cluster"
"""Setups: one broker and one Redis; three brokers; a Redis Cluster."""
_PERIOD = 10
_SPECIAL = {9: (TRIO, BROKER_GONE, ("worker", "redis")), 4: (CLUSTER, SLOTS_MOVED, ("worker", "kafka"))}
"""By place among ten rounds: setup, its fault, and what else may be hurt beside it."""


@dataclass(frozen=True)
class Fault:
    """One fault: what, when it begins (seconds after the first event), and for how long."""

    kind: str
    at: float
    seconds: float

    @property
    def end(self) -> float:
        """When it is over, as far as that is planned."""
        return self.at + self.seconds


@dataclass(frozen=True)
class Plan:
    """A round before it is run."""

    seed: int
    number: int
    setup: str
    faults: tuple[Fault, ...]

    @property
    def kinds(self) -> list[str]:
        """Names of the faults."""
        return [fault.kind for fault in self.faults]

    def rng(self, purpose: str) -> random.Random:
        """Give chance for one purpose: what one part draws does not change what another one does."""
        return random.Random(f"{self.seed}/{self.number}/{purpose}")

    def as_json(self) -> dict[str, Any]:
        """Give it as an object."""
        return asdict(self)


class Bag:
    """Deals kinds so that all come equally often: each of them once, in any order, before one comes again."""

    def __init__(self, rng: random.Random, kinds: Sequence[Kind]) -> None:
        self._rng = rng
        self._kinds = list(kinds)
        self._left: list[Kind] = []

    def take(self, count: int) -> list[Kind]:
        """Take so many different kinds, or all there are."""
        taken: list[Kind] = []
        while len(taken) < min(count, len(self._kinds)):
            fresh = [kind for kind in self._left if kind not in taken]
            if not fresh:
                self._left += self._rng.sample(self._kinds, len(self._kinds))
                continue
            taken.append(fresh[0])
            self._left.remove(fresh[0])
        return taken


def plans(seed: int, names: Sequence[str] = tuple(KINDS)) -> Iterator[Plan]:
    """Draw round after round, without end, of these kinds."""
    rng = random.Random(seed)
    wanted = [KINDS[name] for name in names]
    ordinary = [kind for kind in wanted if kind in ORDINARY]
    rare = [each for each in _SPECIAL.values() if each[1] in wanted]
    bag = Bag(rng, ordinary)
    for number in count():
        special = _SPECIAL.get(number % _PERIOD) if ordinary else rare[number % len(rare)]
        if special in rare:
            setup, kind, targets = special
            kinds = [kind, *_beside(rng, ordinary, targets)]
        else:
            setup, kinds = ONE, bag.take(rng.randint(1, MOST_FAULTS))
        faults = sorted((_fault(rng, kind) for kind in kinds), key=lambda fault: fault.at)
        yield Plan(seed, number, setup, tuple(faults))


def plan_of(seed: int, number: int, names: Sequence[str] = tuple(KINDS)) -> Plan:
    """Give the plan of one round."""
    return next(islice(plans(seed, names), number, None))


def _beside(rng: random.Random, ordinary: Sequence[Kind], targets: Sequence[str]) -> list[Kind]:
    """At most one fault beside a rare one."""
    others = [kind for kind in ordinary if kind.target in targets]
    return rng.sample(others, min(len(others), rng.randint(0, 1)))


def _fault(rng: random.Random, kind: Kind) -> Fault:
    at, seconds = rng.uniform(FIRST_SECONDS, LAST_SECONDS), rng.uniform(kind.least, kind.most)
    return Fault(kind.name, round(at, 2), round(seconds, 2))
