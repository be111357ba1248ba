"""For tests of publishers: a bus that needs no broker.

>>> import asyncio
>>> async def report() -> str:
...     sender = MemorySender()
...     async with Bus(sender=sender) as bus:
...         await bus.agent("acme", "support-1").outcome("success", event_id="e1")
...     return sender.records[0].key.decode()
>>> asyncio.run(report())
'acme/support-1'
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from moodstream.streams.bus import Bus
from moodstream.streams.sender import Record

__all__ = ["Bus", "MemorySender", "Written"]


@dataclass(frozen=True, slots=True)
class Written:
    """The answer to one record: its offset in its partition."""

    offset: int


@dataclass
class MemorySender:
    """Keeps what is sent. `refuse` may give an error for a record, which is then not kept.

    With `held` set, records stay unanswered until `release` is called, as with a slow broker. `patience` is how long
    closing would have waited.
    """

    partitions: int = 4
    idempotent: bool = False
    refuse: Callable[[Record], Exception | None] = lambda _: None
    held: bool = False
    records: list[Record] = field(default_factory=list)
    closed: bool = False
    patience: float | None = None
    _offsets: Counter[int] = field(default_factory=Counter)
    _open: list[tuple[Record, asyncio.Future[Any]]] = field(default_factory=list)

    async def start(self) -> None:
        """Nothing to connect to."""

    async def post(self, record: Record) -> asyncio.Future[Any]:
        """Keep one record and answer it, at once unless `held`."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open.append((record, answer))
        if not self.held:
            self.release()
        return answer

    def release(self) -> None:
        """Answer everything that waits."""
        waiting, self._open = self._open, []
        for record, answer in waiting:
            self._answer(record, answer)

    def _answer(self, record: Record, answer: asyncio.Future[Any]) -> None:
        if answer.done():
            return
        error = self.refuse(record)
        if error is not None:
            answer.set_exception(error)
            return
        self.records.append(record)
        answer.set_result(Written(self._offsets[record.partition]))
        self._offsets[record.partition] += 1

    async def close(self, seconds: float) -> None:
        """Answer what waits."""
        self.patience = seconds
        self.release()
        self.closed = True
