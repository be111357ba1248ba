"""Fold one agent's part of the log with the oracle, stopping at positions to give the rows there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from moodstream.cli.audit.log import unpacked
from moodstream.cli.audit.sources import Record, Rows
from moodstream.cli.oracle import OracleAgent, OracleFold
from moodstream.schemas.codec import decode
from moodstream.schemas.errors import MoodstreamError
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import partition_of
from moodstream.schemas.limits import Limits

Judge = Callable[[Record], InputEvent | None]
"""Gives a record's event, or None for one that must become a dead letter."""


def judge_for(partition: int, partitions: int, limits: Limits) -> Judge:
    """The rule of the wire: what cannot be decoded, or lies in the wrong partition, is dead."""

    def judge(record: Record) -> InputEvent | None:
        key = record.key
        if key is None or partition_of(key, partitions) != partition:
            return None
        headers = list(record.headers)
        try:
            return decode(key, record.value, headers, limits=limits, timestamp_ms=record.timestamp).event
        except MoodstreamError:
            return None

    return judge


class AgentFold:
    """One agent's rows at growing positions of the log."""

    def __init__(self, records: list[bytes], judge: Judge, counted_to: int, rules: OracleFold) -> None:
        self._records = unpacked(records)
        self._judge = judge
        self._counted_to = counted_to
        self._rules = rules
        self._waiting: Record | None = None
        self._oracle: OracleAgent | None = None
        self.counts: Counter[str] = Counter()
        """How the records before the partition's position ended: accepted, duplicate, dead."""

    def rows_at(self, position: int) -> Rows:
        """The rows with every record before `position`; positions must not go back."""
        for record in self._before(position):
            self._apply(record)
        return self._oracle.rows() if self._oracle else {}

    def _before(self, position: int) -> Iterator[Record]:
        while True:
            record = self._waiting or next(self._records, None)
            self._waiting = record
            if record is None or record.offset >= position:
                return
            self._waiting = None
            yield record

    def _apply(self, record: Record) -> None:
        event = self._judge(record)
        verdict = "dead" if event is None else self._fold(record.offset, event)
        if record.offset < self._counted_to:
            self.counts["duplicate" if verdict == "conflict" else verdict] += 1

    def _fold(self, offset: int, event: InputEvent) -> str:
        if self._oracle is None:
            self._oracle = OracleAgent(event.tenant_id, event.agent_id, self._rules)
        return self._oracle.apply(offset, event)
