"""The publisher: fire events into the log, one by one, as a batch, or as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Any

from moodstream.affect.annotate import Annotator
from moodstream.schemas.errors import BrokerUnavailable, MoodstreamError
from moodstream.schemas.limits import check_batch
from moodstream.streams.emitter import AgentEmitter
from moodstream.streams.flight import Flight
from moodstream.streams.outgoing import Checked, Fireable, Mode, check, check_all
from moodstream.streams.report import Failure, FireReport, Receipt
from moodstream.streams.sender import KafkaSender, Record, Sender, failure, unanswered
from moodstream.streams.settings import StreamSettings
from moodstream.streams.stream import EventStream

_HURRIED = (BrokerUnavailable, asyncio.CancelledError, KeyboardInterrupt)
_HURRY_SECONDS = 5.0
"""How long leaving waits for a broker that has just failed to answer, or when told to stop."""


class Bus:
    """Publishes events. Open it with `async with`; leaving waits for what is in flight.

    Every event is checked before anything is sent; its partition is murmur2 of the agent's key, as the Java client
    computes it. What waits for the broker's answer is bounded (`max_flight_events`, `max_flight_bytes`): beyond that,
    calls wait for room.

    With `annotate` (say `moodstream.affect.annotate.Sentiment()`) an event without a `pad` gets the one that is found
    in its description; without it nothing is added, and a given `pad` is never touched.

    Example::

        async with Bus() as bus:
            receipt = await bus.agent("acme", "support-1").outcome("success")
    """

    def __init__(
        self,
        settings: StreamSettings | None = None,
        *,
        sender: Sender | None = None,
        annotate: Annotator | None = None,
    ) -> None:
        self.settings = settings or StreamSettings()
        self._annotate = annotate
        self._sender = sender or KafkaSender(self.settings)
        self._flight = Flight(self.settings.max_flight_events, self.settings.max_flight_bytes)

    async def __aenter__(self) -> Bus:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        hurried = kind is not None and issubclass(kind, _HURRIED)
        await self.close(min(_HURRY_SECONDS, self.settings.request_seconds) if hurried else None)

    async def start(self) -> None:
        """Connect. Raises `BrokerUnavailable` after `connect_seconds`, or `TopicMissing`."""
        await self._sender.start()

    async def close(self, seconds: float | None = None) -> None:
        """Wait for what is in flight, for `request_seconds` at most or as long as is said, and disconnect."""
        await self._sender.close(self.settings.request_seconds if seconds is None else seconds)

    @property
    def idempotent(self) -> bool:
        """Whether the broker drops writes that the client repeats (the embedded one does not).

        Without it a repeated event is still counted once, by its `event_id`.
        """
        return self._sender.idempotent

    @property
    def partitions(self) -> int:
        """Partitions of the log, as the broker has them."""
        return self._sender.partitions

    def agent(self, tenant: str, agent: str) -> AgentEmitter:
        """Give a publisher bound to one agent, with a method for each kind of event."""
        return AgentEmitter(self._fire, tenant, agent, self.settings.limits, self._annotate)

    async def fire(self, event: Fireable) -> Receipt:
        """Send one event and return when the broker has it.

        Raises `InvalidEvent`, `UnknownType` or `EventTooLarge` before anything is sent; `BrokerUnavailable` when the
        write is refused or not answered within `request_seconds`: firing the same event again is always safe.
        """
        return await self._fire(event, self._annotate)

    async def _fire(self, event: Fireable, annotate: Annotator | None = None) -> Receipt:
        checked = check(event, self.partitions, self.settings.limits, annotate)
        posted = await self.post(checked.record)
        await asyncio.wait([posted], timeout=self.settings.request_seconds)
        return self._receipt(checked, posted)

    async def fire_all(self, events: Sequence[Fireable], mode: Mode = "all") -> FireReport:
        """Send one batch, of `batch_events` events and `batch_bytes` bytes at most, in the order given.

        With `all` one bad event raises (its place is the field `index`) and nothing is sent; with `part` the good ones
        are sent. A batch over a limit raises `BatchTooLarge` and nothing is sent. What the broker refuses is in the
        report, event by event.
        """
        limits = self.settings.limits
        check_batch(len(events), 0, limits)
        good, failures = check_all(events, self.partitions, limits, mode, self._annotate)
        check_batch(len(good), sum(one.record.size for _, one in good), limits)
        sent = [(index, one, await self._attempt(one.record)) for index, one in good]
        if sent:
            await asyncio.wait([posted for _, _, posted in sent], timeout=self.settings.request_seconds)
        return self._report(sent, failures)

    async def stream(
        self,
        events: Iterable[Fireable] | AsyncIterable[Fireable],
        *,
        progress: Callable[[int], None] | None = None,
        failed: Callable[[Failure], None] | None = None,
    ) -> int:
        """Send any number of events in bounded memory; return how many the broker has.

        `progress` is called with that number as it grows. Each failure goes to `failed`; without it the first one is
        raised, after what was already on its way has been answered.
        """
        return await EventStream(self, progress, failed).run(events)

    def check(self, event: Fireable) -> Checked:
        """Check and encode one event; sends nothing."""
        return check(event, self.partitions, self.settings.limits, self._annotate)

    async def post(self, record: Record) -> asyncio.Future[Any]:
        """Queue one record as soon as there is room for it; the future is done when the broker has answered."""
        size = record.size
        if not self._flight.try_enter(size):
            await self._room(size)
        try:
            posted = await self._sender.post(record)
        except BaseException:
            self._flight.leave(size)
            raise
        posted.add_done_callback(lambda future: self._landed(future, size))
        return posted

    async def _room(self, size: int) -> None:
        try:
            await asyncio.wait_for(self._flight.enter(size), self.settings.request_seconds)
        except TimeoutError as error:
            raise unanswered(self.settings) from error

    def _landed(self, posted: asyncio.Future[Any], size: int) -> None:
        self._flight.leave(size)
        if not posted.cancelled():
            posted.exception()  # seen, also where nobody waits any more

    async def _attempt(self, record: Record) -> asyncio.Future[Any]:
        """Queue one record; a failure to do so becomes its answer."""
        try:
            return await self.post(record)
        except MoodstreamError as error:
            refused: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            refused.set_exception(error)
            return refused

    def _report(
        self, sent: Iterable[tuple[int, Checked, asyncio.Future[Any]]], failures: Iterable[Failure]
    ) -> FireReport:
        receipts: list[Receipt] = []
        failed = list(failures)
        for index, checked, posted in sent:
            try:
                receipts.append(self._receipt(checked, posted))
            except MoodstreamError as error:
                failed.append(Failure(index, checked.event_id, error))
        failed.sort(key=lambda one: one.index)
        return FireReport(tuple(receipts), tuple(failed))

    def _receipt(self, checked: Checked, posted: asyncio.Future[Any]) -> Receipt:
        if not posted.done():
            raise unanswered(self.settings)
        error = posted.exception()
        if error is not None:
            raise failure(error, self.settings) from error
        return Receipt(checked.event_id, checked.record.partition, posted.result().offset)
