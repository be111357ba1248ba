"""Our own outputs are checked by moodstream's audit: wholly where there are few, else for a sample of the agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from zlib import crc32

from redis.asyncio import Redis

from bench.reference import Checked
from moodstream.affect.settings import FoldSettings
from moodstream.cli.audit.live import LiveDeployment
from moodstream.cli.audit.report import Report
from moodstream.cli.audit.run import audit
from moodstream.cli.audit.sources import Deployment, Folds, Log, Meta, Record, Rows
from moodstream.state import scanning
from moodstream.state.connection import connect
from moodstream.state.layout import Layout
from moodstream.state.reader import StateReader
from moodstream.state.settings import StateSettings
from moodstream.streams.settings import StreamSettings

MODERATE = 50_000
"""Events that are folded again at most: 10 s where an agent has many, 25 s where each has one or two."""

_TOGETHER = 256


class Sample:
    """One agent in so many, chosen by its key."""

    def __init__(self, one_in: int) -> None:
        self.one_in = one_in

    def __contains__(self, key: bytes) -> bool:
        """Whether an agent is in the sample; keys of the partition itself, which are no agent's, always are."""
        agent = key.partition(b"\0")[0]
        return not agent or crc32(agent) % self.one_in == 0


Stored = Callable[[Sample], AsyncIterator[tuple[bytes, Rows]]]
"""Gives the agents of a sample that Redis knows, with all their rows."""


@dataclass
class Tally:
    """The position of the worker, and how many records of the sample are before it; all of them are valid."""

    source: int = 0
    counts: Counter[str] = field(default_factory=Counter)


class SampledLog:
    """A log in which there is nothing but the records of the sample."""

    def __init__(self, log: Log, sample: Sample, tally: Tally) -> None:
        self._log = log
        self._sample = sample
        self._tally = tally
        self.start = log.start

    @property
    def end(self) -> int:
        """Offset after the newest record."""
        return self._log.end

    async def read(self, position: int) -> AsyncIterator[list[Record]]:
        """The records of the sample up to a position."""
        async for page in self._log.read(position):
            some = [one for one in page if one.key in self._sample]
            self._tally.counts["accepted"] += sum(one.offset < self._tally.source for one in some)
            yield some


class Sampled:
    """A deployment of which an audit sees the first partition, and in it the agents of the sample."""

    partitions = 1

    def __init__(self, whole: Deployment, sample: Sample, stored: Stored) -> None:
        self._whole = whole
        self._sample = sample
        self._stored = stored
        self._tally = Tally()

    async def folds(self) -> Folds:
        """The folds that workers have declared."""
        return await self._whole.folds()

    @asynccontextmanager
    async def open_log(self, partition: int) -> AsyncIterator[SampledLog]:
        """The log of the partition."""
        async with self._whole.open_log(partition) as log:
            yield SampledLog(log, self._sample, self._tally)

    async def meta(self, partition: int) -> Meta | None:
        """The position of the worker. It counts all agents together: the counts here are those of the sample's log."""
        found = await self._whole.meta(partition)
        self._tally.source = found.source if found else 0
        return found and Meta(found.source, self._tally.counts)  # these grow while the log is read

    async def redis(self, partition: int) -> AsyncIterator[tuple[bytes, Rows]]:
        """The agents of the sample that Redis knows, with all their rows."""
        del partition  # there is one
        async for agent, rows in self._stored(self._sample):
            yield agent, rows

    async def markers(self, partition: int) -> Rows:
        """The marker rows: nobody was erased, so there should be none."""
        return await self._whole.markers(partition)

    async def changelog(self, partition: int) -> Rows:
        """What a restore would give of the sample."""
        rows = await self._whole.changelog(partition)
        return {key: row for key, row in rows.items() if key in self._sample}


async def audited(streams: StreamSettings, state: StateSettings, most: int = MODERATE) -> Checked:
    """Audit what a worker that has stopped has written; at most about so many events are folded again.

    The log has nothing but valid events, each once: that all of them were accepted is looked at in any case.
    """
    redis = connect(state)
    reader, report = StateReader(state, redis), Report()
    live = LiveDeployment(streams, reader, FoldSettings())
    try:
        metas = [meta for number in range(streams.partitions) if (meta := await live.meta(number))]
        if sum(meta.source for meta in metas) <= most:
            await audit(live, streams.limits, report)
            scope = f"all {report.agents:,} agents"
        else:
            stored = partial(_stored, redis, Layout(state.prefix, 0))
            await audit(Sampled(live, Sample(-(-metas[0].source // most)), stored), streams.limits, report)
            scope = f"{report.agents:,} agents of partition 0"
    finally:
        await reader.close()
    return Checked(report.rows, report.differences + unaccepted(metas), "rows", scope)


async def _stored(redis: Redis, layout: Layout, sample: Sample) -> AsyncIterator[tuple[bytes, Rows]]:
    """Read no rows but those of the sample: a partition may have millions."""
    async for keys in scanning.agent_keys(redis, layout, _TOGETHER):
        found = await scanning.every_row(redis, layout, [key for key in keys if key in sample])
        for agent, rows in found.items():
            yield agent, rows


def unaccepted(metas: list[Meta]) -> int:
    """Records before the workers' positions that were not accepted, or not counted."""
    return sum(abs(meta.source - meta.counts.get("accepted", 0)) for meta in metas)
