"""From samples of progress to rates, over the middle of a run: start and tail are left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

FIRST, LAST = 0.20, 0.95
"""The part of the events that counts."""


class Sample(NamedTuple):
    """One look: time in s, events done, CPU seconds of the subject, of the servers, and of the whole machine."""

    at: float
    done: float
    own: float
    servers: float
    machine: float


class Rates(NamedTuple):
    """What came out of one run; `other_cores` is the foreign load that may have disturbed it."""

    events_per_s: float
    cpu_s_per_million: float
    other_cores: float


def rates(samples: Sequence[Sample], total: int) -> Rates:
    """Work out the rates between 20 % and 95 % of `total` events; ValueError where the samples end before."""
    begin, end = (_at(samples, part * total) for part in (FIRST, LAST))
    seconds, events = end.at - begin.at, end.done - begin.done
    own, servers, machine = (end[i] - begin[i] for i in (2, 3, 4))
    return Rates(events / seconds, own / events * 1e6, max(machine - own - servers, 0.0) / seconds)


def _at(samples: Sequence[Sample], done: float) -> Sample:
    """Interpolate the sample at which `done` events were reached."""
    for before, after in pairwise(samples):
        if before.done < done <= after.done:
            part = (done - before.done) / (after.done - before.done)
            return Sample(*(a + part * (b - a) for a, b in zip(before, after, strict=True)))
    raise ValueError(f"no samples around {done:.0f} events; the last one saw {samples[-1].done:.0f}")
