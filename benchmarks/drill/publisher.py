"""Publishes a story at a given rate, and keeps its own list of what the broker has acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from drill.names import PARTITIONS, Names
from drill.story import Raw
from drill.waiting import end
from moodstream.schemas.errors import MoodstreamError
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.streams.bus import Bus

STEP_SECONDS = 0.1
BATCH = 250
_REQUEST_MS = 5_000

Item = InputEvent | Raw


@dataclass(frozen=True)
class Sent:
    """One item, and where the broker says that it lies."""

    item: Item
    partition: int
    offset: int


@dataclass
class Publisher:
    """Sends items; what is not acknowledged is sent again until it is, as a careful publisher does."""

    names: Names
    sent: list[Sent] = field(default_factory=list)
    todo: list[Item] = field(default_factory=list)
    """What is due and not acknowledged."""
    again: int = 0
    """How often something had to be sent again."""
    _bus: Bus | None = None
    _producer: Any = None

    async def run(self, items: Sequence[Item], rate: float) -> None:
        """Send all items, so many a second; after a time without broker, what has gathered as fast as it goes."""
        offering = asyncio.ensure_future(self._offer(items, rate))
        try:
            while self.todo or not offering.done():
                batch = self.todo[:BATCH]
                self.todo[: len(batch)] = await self._send(batch)
                await asyncio.sleep(STEP_SECONDS)
        finally:
            await end([offering])

    async def _offer(self, items: Sequence[Item], rate: float) -> None:
        """Let items become due, whether or not the broker takes any."""
        given, begin = 0, time.monotonic()
        while given < len(items):
            due = min(int((time.monotonic() - begin) * rate) + 1, len(items))
            self.todo += items[given:due]
            given = due
            await asyncio.sleep(STEP_SECONDS)

    def expected_ends(self) -> dict[int, int]:
        """Where each partition would end if the broker took all that is due."""
        found: dict[int, int] = {}
        for one in self.sent:
            found[one.partition] = max(found.get(one.partition, 0), one.offset + 1)
        for item in self.todo:
            partition = _partition(item)
            found[partition] = found.get(partition, 0) + 1
        return found

    async def close(self) -> None:
        """Disconnect."""
        if self._bus is not None:
            await self._bus.close(1.0)
        await self._drop_producer()

    async def _send(self, items: Sequence[Item]) -> list[Item]:
        """Send some; give those that have to be sent again."""
        events = [item for item in items if not isinstance(item, Raw)]
        raws = [item for item in items if isinstance(item, Raw)]
        left: list[Item] = [*await self._fire(events), *await self._post(raws)]
        self.again += len(left)
        return left

    async def _fire(self, events: Sequence[InputEvent]) -> list[InputEvent]:
        if not events:
            return []
        try:
            bus = await self._open_bus()
            report = await bus.fire_all(events, mode="part")
        except MoodstreamError:
            return list(events)
        failed = {failure.index for failure in report.failures}
        fired = [event for index, event in enumerate(events) if index not in failed]
        for event, receipt in zip(fired, report.receipts, strict=True):
            self.sent.append(Sent(event, receipt.partition, receipt.offset))
        return [event for index, event in enumerate(events) if index in failed]

    async def _open_bus(self) -> Bus:
        if self._bus is None:
            bus = Bus(self.names.streams)
            await bus.start()
            self._bus = bus
        return self._bus

    async def _post(self, raws: Sequence[Raw]) -> list[Raw]:
        """Send what the bus would refuse."""
        left = list(raws)
        try:
            while left:
                producer = await self._open_producer()
                raw, topic = left[0], self.names.streams.topics.events
                sending = producer.send_and_wait(topic, raw.value, key=raw.key, partition=raw.partition)
                answer = await asyncio.wait_for(sending, _REQUEST_MS / 1000)
                self.sent.append(Sent(raw, answer.partition, answer.offset))
                del left[0]
        except (KafkaError, TimeoutError):
            await self._drop_producer()
        return left

    async def _open_producer(self) -> Any:  # noqa: ANN401 - aiokafka has no types
        if self._producer is None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.names.bootstrap, acks="all", request_timeout_ms=_REQUEST_MS
            )
            await producer.start()
            self._producer = producer
        return self._producer

    async def _drop_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            stopping = asyncio.ensure_future(producer.stop())
            await asyncio.wait([stopping], timeout=1.0)
            stopping.cancel()


def _partition(item: Item) -> int:
    if isinstance(item, Raw):
        return item.partition
    return partition_of(agent_key(item.tenant_id, item.agent_id), PARTITIONS)
