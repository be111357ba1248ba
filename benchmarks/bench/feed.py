"""Events without end: a workload over and over, each time with new ids and later times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from moodstream.schemas.identity import partition_of

By = dict[int, list[tuple[bytes, bytes]]]
"""Key and value of records, by partition."""


@dataclass(frozen=True)
class Pattern:
    """One event with holes for what changes from round to round."""

    partition: int
    key: bytes
    text: bytes
    occurred_at: datetime


def pattern(key: bytes, value: bytes, partitions: int) -> Pattern:
    """Cut the holes into an event."""
    event = json.loads(value)
    at = datetime.fromisoformat(event["occurred_at"])
    holes = {name: f"%({name})s" for name in ("event_id", "turn_id") if name in event}
    text = json.dumps({**event, **holes, "occurred_at": "%(at)s"}).replace("%", "%%")
    for name in (*holes, "at"):
        text = text.replace(f"%%({name})s", f"%({name})s")
    return Pattern(partition_of(key, partitions), key, text.encode(), at)


class Feed:
    """Gives the events of a workload again and again: no id comes twice, and time goes on from round to round."""

    def __init__(self, workload: Iterable[tuple[bytes, bytes]], partitions: int) -> None:
        """Hold the whole workload in memory."""
        self._patterns = [pattern(key, value, partitions) for key, value in workload]
        times = [one.occurred_at for one in self._patterns]
        self._span = max(times) - min(times) + timedelta(seconds=1)
        self._events = self._endless()

    def take(self, count: int) -> By:
        """The next events."""
        found: By = defaultdict(list)
        for partition, key, value in islice(self._events, count):
            found[partition].append((key, value))
        return found

    def _endless(self) -> Iterator[tuple[int, bytes, bytes]]:
        number, later = 0, timedelta()
        while True:
            for one in self._patterns:
                at = (one.occurred_at + later).isoformat().encode()
                ids = {b"event_id": b"live-%d" % number, b"turn_id": b"turn-%d" % number, b"at": at}
                yield one.partition, one.key, one.text % ids
                number += 1
            later += self._span
