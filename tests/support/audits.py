"""A deployment made of lists and dicts, for tests of audit: its worker is the oracle, its faults are made by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from moodstream.cli.audit.fold import judge_for
from moodstream.cli.audit.report import Report
from moodstream.cli.audit.run import audit
from moodstream.cli.audit.sources import Folds, Meta, Record, Rows
from moodstream.cli.oracle import OracleAgent
from moodstream.cli.oracle.layout import MARKERS, marker_key
from moodstream.cli.oracle.profile import STANDARD
from moodstream.schemas.codec import encode
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.instants import to_ms
from moodstream.schemas.limits import DEFAULT_LIMITS
from support import logs

NO_COUNTS = {"accepted": 0, "duplicate": 0, "erased": 0, "dead": 0}

ADA, BEA = "ada", "bea"


@dataclass
class FakePartition:
    """One partition: its log, and the rows where a worker has put them."""

    log: list[Record] = field(default_factory=list)
    start: int = 0
    next: int = 0
    redis: Rows = field(default_factory=dict)
    changelog: Rows = field(default_factory=dict)
    source: int | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict(NO_COUNTS))


class FakeLog:
    """A log that is read once."""

    def __init__(self, partition: FakePartition) -> None:
        self._partition = partition
        self._read = partition.start
        self.start = partition.start
        self.end = partition.next
        self.reads = 0

    async def read(self, position: int) -> AsyncIterator[list[Record]]:
        """Batches of two, up to the position or to the end of the log."""
        self.reads += 1
        self.end = self._partition.next
        todo = [one for one in self._partition.log if self._read <= one.offset < position]
        self._read = max(self._read, position)
        for place in range(0, len(todo), 2):
            yield todo[place : place + 2]


class FakeDeployment:
    """Two partitions. `steps` are called after the parts of an audit of the same name, once each."""

    def __init__(self, partitions: int = 2) -> None:
        self.partitions = partitions
        self.parts = [FakePartition() for _ in range(partitions)]
        self.steps: dict[str, object] = {}
        self._oracles: dict[bytes, OracleAgent] = {}

    # -- what a publisher and a worker do

    def part(self, event: InputEvent) -> FakePartition:
        """The partition of an event's agent."""
        return self.parts[partition_of(agent_key(event.tenant_id, event.agent_id), self.partitions)]

    def publish(self, *events: InputEvent, gap: int = 1) -> None:
        """Append events to the log, `gap` offsets apart."""
        for event in events:
            wire = encode(event)
            self.append(self.part(event), wire.key, wire.value, to_ms(event.occurred_at), gap=gap)

    def append(self, part: FakePartition, key: bytes | None, value: bytes | None, ms: int = 0, gap: int = 1) -> None:
        """Append a raw record."""
        part.log.append(Record(part.next, ms, key, value))
        part.next += gap

    def work(self, *, flush: bool = True) -> None:
        """Fold what is new into the changelog and, unless the worker dies there, into Redis."""
        for number, part in enumerate(self.parts):
            self._fold(number, part)
            part.changelog = self._rows(number)
            if flush:
                part.redis = dict(part.changelog)

    def _fold(self, number: int, part: FakePartition) -> None:
        judge = judge_for(number, self.partitions, DEFAULT_LIMITS)
        done = part.source or 0
        for record in part.log:
            if record.offset >= done:
                event = judge(record)
                verdict = "dead" if event is None else self._accept(record.offset, event)
                part.counts["duplicate" if verdict == "conflict" else verdict] += 1
        part.source = part.next

    def _accept(self, offset: int, event: InputEvent) -> str:
        key = agent_key(event.tenant_id, event.agent_id)
        oracle = self._oracles.setdefault(key, OracleAgent(event.tenant_id, event.agent_id))
        return oracle.apply(offset, event)

    def _rows(self, number: int) -> Rows:
        rows = {b"\0owner": b"claim", b"\0position": b"{}"}
        for key, oracle in self._oracles.items():
            if partition_of(key, self.partitions) == number:
                rows |= oracle.rows()
        return rows

    # -- what an audit asks

    async def folds(self) -> Folds:
        """The rules of this worker."""
        return Folds(STANDARD, {STANDARD.stamp: STANDARD})

    @asynccontextmanager
    async def open_log(self, partition: int) -> AsyncIterator[FakeLog]:
        """The log of a partition."""
        yield FakeLog(self.parts[partition])

    async def meta(self, partition: int) -> Meta | None:
        """Position and counts."""
        part = self.parts[partition]
        answer = None if part.source is None else Meta(part.source, dict(part.counts))
        self._step("meta")
        return answer

    async def redis(self, partition: int) -> AsyncIterator[tuple[bytes, Rows]]:
        """Agents that have a row, each read when its turn comes."""
        part = self.parts[partition]
        for key in sorted({key.partition(b"\0")[0] for key in part.redis} - {b""}):
            mine = (key + b"\0", marker_key(key))
            yield key, {row_key: row for row_key, row in part.redis.items() if row_key.startswith(mine)}
            self._step("agent")

    async def markers(self, partition: int) -> Rows:
        """The marker rows."""
        self._step("markers")
        return {key: row for key, row in self.parts[partition].redis.items() if key.startswith(MARKERS)}

    async def changelog(self, partition: int) -> Rows:
        """What a restore would give."""
        answer = dict(self.parts[partition].changelog)
        self._step("changelog")
        return answer

    def _step(self, name: str) -> None:
        step = self.steps.pop(name, None)
        if callable(step):
            step()


async def audited(deployment: FakeDeployment, shown: int = 10) -> Report:
    """Audit a deployment."""
    report = Report(shown=shown)
    await audit(deployment, DEFAULT_LIMITS, report)
    return report


def story() -> list[InputEvent]:
    """Two agents, every kind of row, a shift that has become final."""
    mine = [
        logs.outcome("o1", 0),
        logs.push("p1", 10),
        logs.profile("pr1", 20, tau_hours=2.0),
        logs.engagement("g1", 30, responded=True, response_time_ms=1200),
        logs.push("p2", 4_000, delta=-0.25),
    ]
    hers = [logs.outcome("o1", 5, "failed", agent_id=BEA), logs.outcome("o2", 6, agent_id=BEA)]
    return [*mine, *hers]


def deployed(*events: InputEvent) -> FakeDeployment:
    """A deployment whose worker has folded these events."""
    made = FakeDeployment()
    made.publish(*(events or story()))
    made.work()
    return made


def part_with(made: FakeDeployment, agent: str = ADA) -> FakePartition:
    """The partition that has an agent's rows."""
    return next(part for part in made.parts if f"acme/{agent}\0agent".encode() in part.redis)


def key_of(part: FakePartition, word: str, agent: str = ADA) -> bytes:
    """The first row of a kind."""
    return next(key for key in sorted(part.redis) if key.startswith(f"acme/{agent}\0{word}".encode()))


def flipped(row: bytes, place: int = -1) -> bytes:
    """A row with one bit changed."""
    changed = bytearray(row)
    changed[place] ^= 1
    return bytes(changed)
