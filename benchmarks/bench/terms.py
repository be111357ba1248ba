"""What a contest is about: for how long everybody is measured, and what is known afterwards."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from bench.contenders import OURS_PER_S, Peer
from bench.reference import Checked
from bench.run import Timed
from bench.window import Span

OURS = "moodstream"
WARM_SECONDS = 3.0
"""Of those that need not be compiled while they run."""
JVM_CORES = 1.3
"""What Kafka Streams uses while it warms up, where nobody else wants the cores."""

_SLACK_SECONDS = 2.0


@dataclass(frozen=True)
class Run:
    """One subject in one round. CPU seconds are per million events, memory is the peak in MB."""

    name: str
    agents: int
    events_per_s: float
    cpu_s_per_million: float
    rss_mb: float
    broker_cpu_s_per_million: float
    foreign_cores: float
    seconds: float
    """How long was measured, after the warm-up."""
    ran_out: bool
    checked: int
    wrong: int
    unit: str
    """What was checked, and of what: see `Checked`."""
    scope: str

    @classmethod
    def of(cls, name: str, agents: int, timed: Timed, found: Checked) -> Run:
        """Put together what was measured and what was checked."""
        rates = timed.rates
        cpu = (rates.cpu_s_per_million, timed.rss_mb, rates.broker_cpu_s_per_million)
        return cls(name, agents, rates.events_per_s, *cpu, rates.other_cores, rates.seconds, timed.ran_out, *found)

    @property
    def events_per_cpu_s(self) -> float:
        """Events that a second of CPU time is enough for."""
        return 1e6 / self.cpu_s_per_million

    def as_figures(self) -> dict[str, Any]:
        """The values with as many digits as mean something."""
        digits = {"events_per_s": 0, "rss_mb": 0, "foreign_cores": 2}
        return {name: _rounded(value, digits.get(name, 1)) for name, value in asdict(self).items()}


def _rounded(value: object, digits: int) -> object:
    return round(value, digits or None) if isinstance(value, float) else value


@dataclass
class Contest:
    """What was measured with one number of agents, round by round, and who was left out with the reason."""

    agents: int
    rounds: list[dict[str, Run]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Terms:
    """How it is measured: times in seconds."""

    seconds: float
    warmup: float
    """After the first progress, of those that are compiled while they run; the others have 3 s, or less."""
    rounds: int
    peers: bool

    def span(self, *, jit: bool) -> Span:
        """When a subject is measured."""
        if jit:
            return Span(self.warmup, self.seconds, cpu=JVM_CORES * self.warmup)
        return Span(min(self.warmup, WARM_SECONDS), self.seconds)

    def backlog(self, peers: list[Peer], agents: int) -> int:
        """Events that are more than any of them does meanwhile."""
        needs = [(OURS_PER_S, self.span(jit=False)), *((peer.pace(agents), self.span(jit=peer.jit)) for peer in peers)]
        return int(max(per_s * (span.warmup + span.seconds + _SLACK_SECONDS) for per_s, span in needs))
