"""From samples of progress to rates: over the middle of a run, or over a fixed time after a warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

FIRST, LAST = 0.20, 0.95
"""The part of the events that counts."""


class Sample(NamedTuple):
    """One look: time in s, events done, CPU seconds of the subject, of all servers, of the machine, of the broker."""

    at: float
    done: float
    own: float
    servers: float
    machine: float
    broker: float = 0.0


class Rates(NamedTuple):
    """What came out of one run; `other_cores` is the foreign load that may have disturbed it."""

    events_per_s: float
    cpu_s_per_million: float
    other_cores: float
    broker_cpu_s_per_million: float
    seconds: float
    """How long was measured."""


def rates(samples: Sequence[Sample], total: int) -> Rates:
    """Work out the rates between 20 % and 95 % of `total` events; ValueError where the samples end before."""
    begin, end = (_at(samples, part * total) for part in (FIRST, LAST))
    return _between(begin, end)


@dataclass(frozen=True)
class Span:
    """A fixed time, in seconds, that begins so long after the first progress."""

    warmup: float
    seconds: float
    cpu: float = 0.0
    """CPU seconds that have to be used before it begins, too; but it begins after three warm-ups at the latest.

    What a JVM needs until its code is compiled is work, and takes longer where others have the cores.
    """

    def over(self, samples: Sequence[Sample], total: int) -> bool:
        """Whether a run has been looked at for long enough, or has done all there is."""
        warm = self._warm(samples)
        return samples[-1].done >= total or (warm is not None and samples[-1].at >= warm.at + self.seconds)

    def rates(self, samples: Sequence[Sample], total: int) -> Rates:
        """The rates in this time; up to where the events ran out, if they did. ValueError where nothing was done."""
        begun, warm, end = _begun(samples), self._warm(samples), _last(samples, total)
        if begun is None or end.done <= begun.done:
            raise ValueError(f"no progress in {len(samples)} samples")
        return _between(warm if warm and warm.done < end.done else begun, end)

    def _warm(self, samples: Sequence[Sample]) -> Sample | None:
        """The sample with which the time begins."""
        begun = _begun(samples)
        later = [one for one in samples if begun and one.at >= begun.at + self.warmup]
        return next((one for one in later if begun and self._worked(begun, one)), None)

    def _worked(self, begun: Sample, one: Sample) -> bool:
        return one.own - begun.own >= self.cpu or one.at >= begun.at + 3 * self.warmup


def _begun(samples: Sequence[Sample]) -> Sample | None:
    return next((one for one in samples if one.done > 0), None)


def _last(samples: Sequence[Sample], total: int) -> Sample:
    """The first sample with everything done, else the last one."""
    return next((one for one in samples if one.done >= total), samples[-1])


def _between(begin: Sample, end: Sample) -> Rates:
    seconds, events = end.at - begin.at, end.done - begin.done
    own, servers, machine, broker = (end[i] - begin[i] for i in (2, 3, 4, 5))
    others = max(machine - own - servers, 0.0) / seconds
    return Rates(events / seconds, own / events * 1e6, others, broker / events * 1e6, seconds)


def _at(samples: Sequence[Sample], done: float) -> Sample:
    """Interpolate the sample at which `done` events were reached."""
    for before, after in pairwise(samples):
        if before.done < done <= after.done:
            part = (done - before.done) / (after.done - before.done)
            return Sample(*(a + part * (b - a) for a, b in zip(before, after, strict=True)))
    raise ValueError(f"no samples around {done:.0f} events; the last one saw {samples[-1].done:.0f}")
