"""A workload of which every second record cannot be accepted, each for another reason than the one before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.workload import Workload

_Broken = Callable[[bytes, bytes], tuple[bytes, bytes]]


@dataclass(frozen=True)
class Flood:
    """As many records as the valid workload; its odd ones are broken in place."""

    valid: Workload

    @property
    def events(self) -> int:
        """Number of records."""
        return self.valid.events

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Give key and value of each record."""
        for number, (key, value) in enumerate(self.valid):
            yield BROKEN[number // 2 % len(BROKEN)](key, value) if number % 2 else (key, value)


def _changed(**fields: object) -> _Broken:
    def broken(key: bytes, value: bytes) -> tuple[bytes, bytes]:
        return key, json.dumps({**json.loads(value), **fields}).encode()

    return broken


BROKEN: tuple[_Broken, ...] = (
    lambda key, value: (key, value[:-1]),
    lambda key, value: (key, value.replace(b'"', b"\xff", 1)),
    _changed(type="nonsense"),
    _changed(description="  "),
    _changed(importance=7, unknown="field"),
    _changed(occurred_at="2026-01-01T00:00:00"),
    _changed(occurred_at="9000-01-01T00:00:00Z"),
    _changed(agent_id="somebody-else"),
)
"""Each takes key and value of a valid record."""
