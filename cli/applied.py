"""Events by which a command has the workers do something: sent in batches, and waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from moodstream.schemas.events import InputEvent
from moodstream.state.reader import StateReader
from moodstream.streams.bus import Bus
from moodstream.streams.event_log import EventLog
from moodstream.streams.report import Receipt
from moodstream.streams.settings import StreamSettings

_POLL_SECONDS: Final = 0.1


async def send(streams: StreamSettings, events: Sequence[InputEvent]) -> list[Receipt]:
    """Send events in the order given. Raises the first failure, such as `BrokerUnavailable`."""
    receipts: list[Receipt] = []
    size = streams.limits.batch_events
    async with Bus(streams) as bus:
        for at in range(0, len(events), size):
            report = await bus.fire_all(events[at : at + size])
            report.raise_for_failures()
            receipts += report.receipts
    return receipts


async def wait_applied(
    streams: StreamSettings,
    reader: StateReader,
    receipts: Sequence[Receipt],
    seconds: float,
    show: Callable[[int], None] = lambda done: None,
) -> int:
    """Wait until the workers are behind all of these events, for so long; how many they are behind."""
    wanted: dict[int, list[int]] = {}
    for receipt in receipts:
        wanted.setdefault(receipt.partition, []).append(receipt.offset)
    for partition, offsets in wanted.items():
        if -1 in offsets:  # a write that was repeated: it lies before the end
            end = await EventLog(streams).end(partition)
            wanted[partition] = [end - 1 if offset < 0 else offset for offset in offsets]
    return await _until(reader, wanted, time.monotonic() + seconds, show)


async def _until(
    reader: StateReader, wanted: Mapping[int, Sequence[int]], deadline: float, show: Callable[[int], None]
) -> int:
    while True:
        done = 0
        for partition, offsets in wanted.items():
            meta = await reader.partition_meta(partition)
            source = 0 if meta is None else meta.source
            done += sum(offset < source for offset in offsets)
        show(done)
        if done == sum(map(len, wanted.values())) or time.monotonic() >= deadline:
            return done
        await asyncio.sleep(_POLL_SECONDS)
