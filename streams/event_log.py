"""The log of events, read again: for whoever folds an agent anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from aiokafka.structs import ConsumerRecord, TopicPartition

from moodstream.schemas.errors import StateLost
from moodstream.streams.changelog import Page, log_bounds, read_until, reading

if TYPE_CHECKING:
    from moodstream.streams.settings import StreamSettings

_PAGE = Page(4 << 20, 2_000)
"""So many records are folded before anybody else gets a turn."""


class EventLog:
    """The topic of events of a deployment. Joins no group."""

    def __init__(self, settings: StreamSettings) -> None:
        self._settings = settings

    async def start(self, partition: int) -> int:
        """Offset of the oldest record that there still is."""
        at = self._at(partition)
        async with reading(self._settings, at, _PAGE) as consumer:
            return (await log_bounds(consumer, at))[0]

    async def end(self, partition: int) -> int:
        """Offset behind the newest record."""
        at = self._at(partition)
        async with reading(self._settings, at, _PAGE) as consumer:
            return (await log_bounds(consumer, at))[1]

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[ConsumerRecord]]:
        """Give the records at offsets from `start` up to, not including, `end`.

        Raises `StateLost` when the log ends before: what is made of a part of it would be wrong.
        """
        at = self._at(partition)
        async with reading(self._settings, at, _PAGE) as consumer:
            first, last = await log_bounds(consumer, at)
            if end > last:
                raise StateLost(f"the log of events ends at {last}, before {end}", partition=partition)
            position = max(first, start)
            consumer.seek(at, position)
            async for records in read_until(consumer, at, position, end, known_end=last, limit=_PAGE.records):
                yield records

    def _at(self, partition: int) -> TopicPartition:
        return TopicPartition(self._settings.topics.events, partition)
