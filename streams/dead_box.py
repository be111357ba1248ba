"""The topic of dead letters, read: which letters there are, and which of them have been replayed."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from aiokafka.structs import TopicPartition

from moodstream.schemas.errors import NotFound, TopicMissing
from moodstream.streams.broker import connected, list_topics, reported
from moodstream.streams.changelog import log_bounds, read_records, reading
from moodstream.streams.dead_letters import DeadLetter, LetterName, Receipt, parse
from moodstream.streams.settings import StreamSettings

Bounds = dict[int, tuple[int, int]]
"""By partition: the first offset, and the one behind the last."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters: all that fit every filter that is given. Times are when the letter was written, in ms."""

    names: frozenset[LetterName] | None = None
    topic: str | None = None
    """Topic that the record was read from."""
    code: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    partition: int | None = None

    def fits(self, letter: DeadLetter) -> bool:
        """Whether a letter is among them."""
        return (
            (self.names is None or letter.name in self.names)
            and (self.topic is None or letter.topic == self.topic)
            and (self.code is None or letter.code == self.code)
            and (self.since_ms is None or letter.refused_ms >= self.since_ms)
            and (self.until_ms is None or letter.refused_ms < self.until_ms)
        )

    def partitions(self, count: int) -> Sequence[int]:
        """The partitions to read, of so many."""
        if self.partition is not None:
            return [self.partition]
        if self.names is not None:
            return sorted({name.partition for name in self.names})
        return range(count)


@dataclass
class Survey:
    """What the topic holds of a selection: how many, why, and which have been replayed."""

    bounds: Bounds = field(default_factory=dict)
    selected: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    newest: list[DeadLetter] = field(default_factory=list)
    """The newest ones, newest last."""
    found: set[LetterName] = field(default_factory=set)
    """Names of all that were selected."""
    replayed: set[LetterName] = field(default_factory=set)
    """Letters that have been sent again, selected or not."""
    superseded: set[LetterName] = field(default_factory=set)
    """Letters that were sent again and refused again: a newer letter stands for them."""


class DeadBox:
    """The topic of dead letters of one deployment."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.topic = settings.topics.dead

    # -- read

    async def bounds(self, selection: Selection) -> Bounds:
        """Where the partitions begin and end now. Raises `BrokerUnavailable`, `TopicMissing`, `NotFound`."""
        count = await self._count()
        wanted = selection.partitions(count)
        if wanted and not 0 <= max(wanted) < count:
            raise NotFound(f"{self.topic} has no partition {max(wanted)}", hint=f"It has 0 to {count - 1}.")
        found: Bounds = {}
        async with reported(self.settings):
            for partition in wanted:
                at = TopicPartition(self.topic, partition)
                async with reading(self.settings, at) as consumer:
                    found[partition] = await log_bounds(consumer, at)
        return found

    async def _count(self) -> int:
        async with connected(self.settings) as admin, reported(self.settings):
            topic = (await list_topics(admin)).get(self.topic)
        if topic is None:
            raise TopicMissing(f"{self.topic} is not on the broker at {self.settings.bootstrap}", topics=[self.topic])
        return topic.partitions

    async def letters(self, bounds: Bounds, receipts: set[LetterName] | None = None) -> AsyncIterator[list[DeadLetter]]:
        """Give the letters between these bounds, partition by partition; what was replayed goes into `receipts`."""
        for partition, (first, last) in bounds.items():
            if first >= last:
                continue
            async with reported(self.settings):
                async for records in read_records(self.settings, self.topic, partition, first, last):
                    found = [parse(record) for record in records]
                    if receipts is not None:
                        receipts.update(*(one.letters for one in found if isinstance(one, Receipt)))
                    yield [one for one in found if isinstance(one, DeadLetter)]

    async def survey(self, selection: Selection, limit: int, read: Callable[[int], None] | None = None) -> Survey:
        """Count a selection and keep its newest letters, at most `limit`. `read` hears how far it has come."""
        survey = Survey(await self.bounds(selection))
        newest: list[tuple[tuple[int, LetterName], DeadLetter]] = []
        done = 0
        async for letters in self.letters(survey.bounds, survey.replayed):
            survey.superseded.update(one.replay_of for one in letters if one.replay_of)
            for letter in filter(selection.fits, letters):
                survey.selected += 1
                survey.codes[letter.code] += 1
                survey.found.add(letter.name)
                _keep(newest, letter, limit)
            done += len(letters)
            if read:
                read(done)
        survey.newest = [letter for _, letter in sorted(newest, key=lambda pair: pair[0])]
        return survey

    async def letter(self, name: LetterName) -> tuple[DeadLetter, bool]:
        """Give one letter, and whether it has been replayed. Raises `NotFound`."""
        selection = Selection(partition=name.partition)
        first, last = (await self.bounds(selection))[name.partition]
        receipts: set[LetterName] = set()
        letter = None
        if first <= name.offset < last:
            async for letters in self.letters({name.partition: (name.offset, last)}, receipts):
                letter = letter or next((one for one in letters if one.name == name), None)
        if letter is None:
            text = f"there is no letter {name}: partition {name.partition} has {first} to {last - 1}"
            raise NotFound(text, hint="`moodstream dead list` shows those that there are.")
        return letter, name in receipts


def _keep(newest: list[tuple[tuple[int, LetterName], DeadLetter]], letter: DeadLetter, limit: int) -> None:
    """Keep the newest in a heap of bounded size: values may be large."""
    entry = ((letter.refused_ms, letter.name), letter)
    if len(newest) < limit:
        heapq.heappush(newest, entry)
    elif limit:
        heapq.heappushpop(newest, entry)
