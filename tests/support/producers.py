"""A producer that keeps what it is sent, batch by batch, and can be hurt by topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from moodstream.streams.sending import Headers


class Sent(NamedTuple):
    """One record as the broker has it."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


class Answer(NamedTuple):
    """What the broker says of a batch."""

    offset: int


@dataclass
class Batch:
    """Takes records up to a number; the first always fits."""

    most: int
    records: list[tuple[bytes | None, bytes | None, Headers]] = field(default_factory=list)

    def append(
        self, *, key: bytes | None, value: bytes | None, timestamp: int | None, headers: Headers
    ) -> object | None:
        if len(self.records) >= self.most:
            return None
        self.records.append((key, value, headers))
        return self

    def record_count(self) -> int:
        return len(self.records)


Judge = Callable[[str, Batch], BaseException | None]


@dataclass
class FakeProducer:
    """`judge` may refuse a batch; `asked` hears of each topic before anything is kept."""

    most: int = 1_000_000
    judge: Judge = lambda topic, batch: None
    asked: Callable[[str], object] = lambda topic: None
    sent: list[Sent] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)

    def create_batch(self) -> Batch:
        return Batch(self.most)

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> asyncio.Future[Answer]:
        """Queue a batch: the answer is that of the broker, some turns of the loop later."""
        return asyncio.ensure_future(self._answer(batch, topic, partition))

    async def _answer(self, batch: Batch, topic: str, partition: int) -> Answer:
        self.asked(topic)
        await asyncio.sleep(0)
        error = self.judge(topic, batch)
        if error is not None:
            raise error
        offset = len(self.sent)
        self.batches.append(batch)
        self.sent += [Sent(topic, partition, key, value, dict(headers)) for key, value, headers in batch.records]
        return Answer(offset)

    def of(self, topic: str) -> list[Sent]:
        """The records of a topic."""
        return [one for one in self.sent if one.topic == topic]
