"""The audit itself: partition by partition, agent by agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from moodstream.cli.audit.compare import (
    Difference,
    against_changelog,
    against_oracle,
    from_before,
    merged,
    offset_of,
    version_of,
    without_notices,
)
from moodstream.cli.audit.fold import AgentFold, Judge, judge_for
from moodstream.cli.audit.log import GroupedLog
from moodstream.cli.audit.report import ENDS, CountFault, Report
from moodstream.cli.audit.sources import Deployment, Folds, Log, Meta, Rows
from moodstream.cli.oracle import OracleFold
from moodstream.cli.oracle.layout import MARKERS, marker_key
from moodstream.schemas.limits import Limits

Advance = Callable[[int], None]
"""Hears that so many more records were folded and compared."""


async def planned(deployment: Deployment) -> int:
    """How many records an audit has to fold, about."""
    metas = [await deployment.meta(number) for number in range(deployment.partitions)]
    return sum(meta.source for meta in metas if meta)


async def audit(
    deployment: Deployment, limits: Limits, report: Report, advance: Advance = lambda records: None
) -> None:
    """Audit every partition into `report`. May run beside live workers.

    Raises `Restoring` where a partition is being restored, `BrokerUnavailable`, `StoreUnavailable`.
    """
    folds = await deployment.folds()
    for number in range(deployment.partitions):
        judge = judge_for(number, deployment.partitions, limits)
        async with deployment.open_log(number) as log:
            await _audit_partition(deployment, number, log, judge, folds, report, advance)


async def _audit_partition(
    deployment: Deployment, number: int, log: Log, judge: Judge, folds: Folds, report: Report, advance: Advance
) -> None:
    """Compare every agent that Redis, the changelog or the log of one partition knows.

    The order of reading matters beside a live worker. The position is read first: whatever is before it is in the
    changelog and in Redis by the time these are read, and an agent's own version says how far beyond it they are.
    """
    meta = await deployment.meta(number)
    restored = await deployment.changelog(number)
    erased = {key: row for key, row in restored.items() if key.startswith(MARKERS)}
    changelog = _by_agent(restored)
    source = meta.source if meta else _position_after(changelog)
    grouped = GroupedLog(log)
    await grouped.read_to(source)
    partition = _Partition(grouped, source, judge, folds, report, advance)
    async for key, rows in deployment.redis(number):
        await partition.compare(key, rows, {**changelog.pop(key, {}), **_with_marker(key, erased)})
    left = await deployment.markers(number)
    await grouped.read_to(1 + max(map(offset_of, left.values()), default=-1))
    for key in sorted(changelog.keys() | grouped.keys()):
        await partition.compare(key, _with_marker(key, left), {**changelog.pop(key, {}), **_with_marker(key, erased)})
    for marker in sorted((left.keys() | erased.keys()) - partition.seen):  # of agents whom nobody else knows
        await partition.compare(marker, _only(marker, left), _only(marker, erased))
    report.pending += max(0, log.end - source)
    if meta is None or partition.all_covered:
        report.counts.update(partition.counts)
    else:  # only the worker has seen what came before, and known what was a duplicate
        report.counts.update({name: meta.counts.get(name, 0) for name in ENDS})
    if meta and partition.all_covered and log.start == 0:
        report.add_count_faults(count_faults(number, partition.counts, meta))


class _Partition:
    """One partition whose log has been read up to `source`, the position that Redis names."""

    def __init__(
        self, log: GroupedLog, source: int, judge: Judge, folds: Folds, report: Report, advance: Advance
    ) -> None:
        self._log = log
        self._source = source
        self._judge = judge
        self._folds = folds
        self._report = report
        self._advance = advance
        self.counts: Counter[str] = Counter()
        self.all_covered = True
        self.seen: set[bytes] = set()
        """Keys of the marker rows of agents that have been compared."""

    async def compare(self, key: bytes, redis: Rows, changelog: Rows) -> None:
        """Compare one agent at the places in its log at which Redis and the changelog stand."""
        redis, changelog = without_notices(redis), without_notices(changelog)
        self.seen.add(key if key.startswith(MARKERS) else marker_key(key))
        ends = [await self._end(key, redis), await self._end(key, changelog)]
        records = self._log.take(key)
        expected, counts = self._expected(records, ends, [self._folds.of(key, rows) for rows in (redis, changelog)])
        covered = self._log.reaches(self._source) and not any(
            from_before(key, rows, self._log.start) for rows in (redis, changelog)
        )
        if covered:
            found = [
                *against_oracle(expected[0], redis, "redis"),
                *against_oracle(expected[1], changelog, "changelog"),
            ]
        else:
            found = against_changelog(redis, changelog, ends[0] - 1, ends[1] - 1)
        self._tally(counts, covered, merged(found))
        if redis or changelog or expected[0]:
            self._report.add_agent(redis, covered)
        self._advance(len(records))

    def _expected(
        self, records: list[bytes], ends: list[int], rules: list[OracleFold]
    ) -> tuple[list[Rows], Counter[str]]:
        """The rows at each end by the rules there, and how the records before the position ended.

        Redis and the changelog follow other rules only in the moment in which a worker rebuilds the agent.
        """
        found: list[Rows] = [{}, {}]
        counts: Counter[str] = Counter()
        for rule in {each.stamp: each for each in rules}.values():
            fold = AgentFold(records, self._judge, self._source, rule)
            for place in sorted((0, 1), key=ends.__getitem__):
                if rules[place].stamp == rule.stamp:
                    found[place] = fold.rows_at(ends[place])
            counts = fold.counts
        return found, counts

    async def _end(self, key: bytes, rows: Rows) -> int:
        """The position that these rows contain: the partition's, or beyond it the agent's own; its log is read."""
        end = max(self._source, version_of(key, rows) + 1)
        await self._log.read_to(end)
        return max(self._source, min(end, self._log.position))

    def _tally(self, counts: Counter[str], covered: bool, differences: list[Difference]) -> None:
        self.counts.update(counts)
        self._report.add(differences)
        self.all_covered = self.all_covered and covered


def count_faults(partition: int, counts: Counter[str], meta: Meta) -> list[CountFault]:
    """The counts in Redis that are not what the log gives."""
    pairs = ((name, counts[name], meta.counts.get(name, 0)) for name in ENDS)
    return [CountFault(partition, name, expected, found) for name, expected, found in pairs if expected != found]


def _by_agent(rows: Rows) -> dict[bytes, Rows]:
    """Rows by agent; keys of the partition itself begin with a zero byte and are no agent's."""
    agents: dict[bytes, Rows] = {}
    for key, row in rows.items():
        agents.setdefault(key.partition(b"\x00")[0], {})[key] = row
    agents.pop(b"", None)
    return agents


def _with_marker(key: bytes, markers: Rows) -> Rows:
    """The marker row of an agent, if it has one."""
    return _only(marker_key(key), markers)


def _only(row_key: bytes, rows: Rows) -> Rows:
    return {row_key: rows[row_key]} if row_key in rows else {}


def _position_after(changelog: dict[bytes, Rows]) -> int:
    """Redis has lost the partition: all that the changelog holds is missing there, so it counts as expected."""
    return 1 + max((version_of(key, rows) for key, rows in changelog.items()), default=-1)
