"""Delete the oldest dead letters from the broker."""

from __future__ import annotations

from dataclasses import dataclass, field

from aiokafka.admin import RecordsToDelete
from aiokafka.structs import TopicPartition

from moodstream.schemas.errors import UnsupportedBroker
from moodstream.streams.broker import connected, is_idempotent, reported
from moodstream.streams.dead_box import Bounds, DeadBox, Selection
from moodstream.streams.dead_letters import LetterName


@dataclass
class Purge:
    """What a purge deletes: by partition everything before an offset, and how many letters those are."""

    ends: dict[int, int] = field(default_factory=dict)
    letters: dict[int, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Letters in all partitions."""
        return sum(self.letters.values())


async def plan(
    box: DeadBox, *, partition: int | None = None, before_ms: int | None = None, upto: LetterName | None = None
) -> Purge:
    """Find what lies before a time, or up to and with a letter: always the oldest of a partition, without holes.

    With neither it is everything. Raises `BrokerUnavailable`, `TopicMissing`, `NotFound`.
    """
    selection = Selection(partition=upto.partition if upto else partition)
    bounds = await box.bounds(selection)
    if upto is not None:
        first, last = bounds[upto.partition]
        bounds = {upto.partition: (first, min(last, upto.offset + 1))}
    found = Purge()
    for number, (first, last) in bounds.items():
        end, count = await _oldest(box, {number: (first, last)}, before_ms)
        if end > first:
            found.ends[number], found.letters[number] = end, count
    return found


async def _oldest(box: DeadBox, bounds: Bounds, before_ms: int | None) -> tuple[int, int]:
    """Where the letters before a time end in one partition, and how many they are."""
    (_, last), count = next(iter(bounds.values())), 0
    async for letters in box.letters(bounds):
        for letter in letters:
            if before_ms is not None and letter.refused_ms >= before_ms:
                return letter.name.offset, count
            count += 1
    return last, count


async def check_broker(box: DeadBox) -> None:
    """Raise `UnsupportedBroker` on the embedded broker, which breaks when it is asked to delete records."""
    async with connected(box.settings) as admin, reported(box.settings):
        if not await is_idempotent(admin):
            raise UnsupportedBroker(
                "the embedded broker cannot delete records",
                hint="It keeps them in memory: they are gone when it restarts. Apache Kafka can delete them.",
            )


async def purge(box: DeadBox, planned: Purge) -> None:
    """Delete it; `check_broker` comes first."""
    async with connected(box.settings) as admin, reported(box.settings):
        ends = {TopicPartition(box.topic, number): RecordsToDelete(end) for number, end in planned.ends.items()}
        await admin.delete_records(ends)
