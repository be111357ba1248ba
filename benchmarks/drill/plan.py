"""What happens in a round, drawn from the seed: the same seed and round give the same plan, whoever asks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from drill.kinds import BROKER_GONE, KINDS, ORDINARY, Kind

MOST_FAULTS = 3
FIRST_SECONDS, LAST_SECONDS = 0.5, 3.0
"""When faults begin, seconds after the first event: close enough to overlap."""
ONE, TRIO = "one", "trio"
"""Setups: one broker; three of them."""
_TRIO_ROUND, _PERIOD = 9, 10


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
    bag, number = Bag(rng, ordinary), 0
    while True:
        special = BROKER_GONE in wanted and (not ordinary or number % _PERIOD == _TRIO_ROUND)
        kinds = _beside_trio(rng, ordinary) if special else bag.take(rng.randint(1, MOST_FAULTS))
        faults = sorted((_fault(rng, kind) for kind in kinds), key=lambda fault: fault.at)
        yield Plan(seed, number, TRIO if special else ONE, tuple(faults))
        number += 1


def plan_of(seed: int, number: int, names: Sequence[str] = tuple(KINDS)) -> Plan:
    """Give the plan of one round."""
    return next(islice(plans(seed, names), number, None))


def _beside_trio(rng: random.Random, ordinary: Sequence[Kind]) -> list[Kind]:
    """One broker of three, and at most one fault that is not of the brokers."""
    others = [kind for kind in ordinary if kind.target in ("worker", "redis")]
    return [BROKER_GONE, *rng.sample(others, min(len(others), rng.randint(0, 1)))]


def _fault(rng: random.Random, kind: Kind) -> Fault:
    at, seconds = rng.uniform(FIRST_SECONDS, LAST_SECONDS), rng.uniform(kind.least, kind.most)
    return Fault(kind.name, round(at, 2), round(seconds, 2))
