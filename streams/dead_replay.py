"""Publish dead letters again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from aiokafka import AIOKafkaProducer

from moodstream.schemas.identity import partition_of
from moodstream.streams.broker import reported
from moodstream.streams.dead_box import DeadBox, Selection, Survey
from moodstream.streams.dead_letters import DeadLetter, LetterName, receipt_message
from moodstream.streams.sender import stop_producer
from moodstream.streams.sending import open_producer, send_batches
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import retention_ms

_SENT_TOGETHER: Final = 500
"""Letters that are sent before the first answer is waited for, and that share a receipt."""
_STOP_SECONDS: Final = 5.0


@dataclass
class Replayed:
    """What a replay has sent, or would send, and what it has left out."""

    sent: int = 0
    already: int = 0
    """Left out: replayed before."""
    impossible: list[tuple[LetterName, str]] = field(default_factory=list)
    """Letters that cannot be replayed, and why."""


class LetterReplay:
    """One replay of a selection.

    Each letter is published with the key, the value, the headers and the Kafka timestamp that its record had, marked
    with its name. The timestamp is the old one because the rule on future events judges the publisher's clock by it:
    an event that was refused for its time must not become right by waiting. Letters of one partition keep their order;
    which partition, the key says.
    """

    def __init__(self, box: DeadBox, survey: Survey, selection: Selection, *, again: bool = False) -> None:
        self._box = box
        self._survey = survey
        self._selection = selection
        self._again = again
        self._oldest_ms = 0
        self.result = Replayed()

    async def run(self, *, dry_run: bool = False, done: Callable[[int], None] = lambda count: None) -> Replayed:
        """Send what can be sent and write receipts; `done` hears how many letters are behind it.

        Raises `BrokerUnavailable`. What has no receipt then may be in the log: it counts once, however often it is
        sent.
        """
        settings = self._box.settings
        keep_ms = await retention_ms(settings, settings.topics.events)
        self._oldest_ms = time.time_ns() // 1_000_000 - keep_ms if keep_ms >= 0 else 0
        producer = None if dry_run else await open_producer(settings)
        try:
            async for letters in self._box.letters(self._survey.bounds):
                fit = [letter for letter in letters if self._selection.fits(letter) and self._may_go(letter)]
                for i in range(0, len(fit), _SENT_TOGETHER):
                    part = fit[i : i + _SENT_TOGETHER]
                    if producer is not None:
                        await self._send(producer, part)
                    self.result.sent += len(part)
                    done(self._behind)
                done(self._behind)
        finally:
            if producer is not None:
                await stop_producer(producer, _STOP_SECONDS)
        return self.result

    @property
    def _behind(self) -> int:
        return self.result.sent + self.result.already + len(self.result.impossible)

    def _may_go(self, letter: DeadLetter) -> bool:
        """Whether to send a letter; counts why not."""
        obstacle = self._obstacle(letter)
        if obstacle is not None:
            self.result.impossible.append((letter.name, obstacle))
        elif self._was_sent(letter):
            self.result.already += 1
        else:
            return True
        return False

    def _obstacle(self, letter: DeadLetter) -> str | None:
        if letter.obstacle is not None:
            return letter.obstacle
        if letter.topic != self._box.settings.topics.events:
            return f"its record was not read from {self._box.settings.topics.events}"
        if 0 <= letter.timestamp_ms < self._oldest_ms:
            return "its record is older than the log keeps records"
        return None

    def _was_sent(self, letter: DeadLetter) -> bool:
        """Whether a letter is left out because it has been replayed, or because a newer letter stands for it."""
        survey, named = self._survey, self._selection.names is not None
        if self._again:
            return not named and letter.name in survey.superseded
        return letter.name in survey.replayed or (not named and letter.replays > 0)

    async def _send(self, producer: AIOKafkaProducer, letters: Sequence[DeadLetter]) -> None:
        settings = self._box.settings
        async with reported(settings):
            sent = [await _post(producer, settings, letter) for letter in letters]
            await asyncio.gather(*sent)
            for partition, some in groupby(letters, key=lambda letter: letter.name.partition):
                receipt = receipt_message(letter.name for letter in some)
                await send_batches(producer, settings.topics.dead, partition, [receipt])


async def _post(producer: AIOKafkaProducer, settings: StreamSettings, letter: DeadLetter) -> asyncio.Future[object]:
    """Queue a letter's record: to the partition of its key, or where it was when it has none."""
    where = letter.partition if letter.key is None else partition_of(letter.key, settings.partitions)
    posted: asyncio.Future[object] = await producer.send(
        settings.topics.events,
        letter.value,
        key=letter.key,
        partition=where,
        timestamp_ms=letter.timestamp_ms if letter.timestamp_ms >= 0 else None,
        headers=letter.marked(),
    )
    return posted
