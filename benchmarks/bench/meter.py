"""What a piece of work costs per event: on the clock, in this process, and in the servers."""

from __future__ import annotations

import gc
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.process import cpu_seconds

_TIMES = 1e6


@dataclass(frozen=True)
class Cost:
    """Microseconds per event: `wall` by the clock, `cpu` of this process, `servers` of broker and Redis together."""

    wall: float
    cpu: float
    servers: float

    def __add__(self, other: Cost) -> Cost:
        """Both, one after the other."""
        return Cost(self.wall + other.wall, self.cpu + other.cpu, self.servers + other.servers)

    def __sub__(self, other: Cost) -> Cost:
        """What is left without a part of it."""
        return Cost(self.wall - other.wall, self.cpu - other.cpu, self.servers - other.servers)

    @classmethod
    def median(cls, costs: list[Cost]) -> Cost:
        """The median of the rounds, each value for itself."""
        return cls(*(statistics.median(getattr(one, name) for one in costs) for name in ("wall", "cpu", "servers")))


@dataclass
class Meter:
    """Takes the cost of named pieces of work on so many events, round by round."""

    servers: list[int]
    events: int
    taken: dict[str, list[Cost]] = field(default_factory=lambda: defaultdict(list))
    _outside: Cost = field(default_factory=lambda: Cost(0, 0, 0))

    def cost(self, name: str) -> Cost:
        """The median cost of a piece."""
        return Cost.median(self.taken[name])

    @contextmanager
    def piece(self, name: str) -> Iterator[None]:
        """Take the cost of a block, but for what is `outside` in it."""
        gc.collect()
        gc.freeze()  # what earlier pieces have left is not looked through in this one
        self._outside, before = Cost(0, 0, 0), self._now()
        yield
        self.taken[name].append(self._now() - before - self._outside)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave a part of a piece out: it is short, and the servers are not asked about it."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        spent = Cost(time.perf_counter() - wall, time.process_time() - cpu, 0)
        self._outside += self._per_event(spent)

    def _now(self) -> Cost:
        return self._per_event(Cost(time.perf_counter(), time.process_time(), cpu_seconds(self.servers)))

    def _per_event(self, seconds: Cost) -> Cost:
        scale = _TIMES / self.events
        return Cost(seconds.wall * scale, seconds.cpu * scale, seconds.servers * scale)
