"""Faust's Kafka transport, delivering a chunk of records of one partition as one event.

What Faust does record by record (tasks, queues, acks: about 60 µs each) is paid once a chunk. Delivery also becomes
stricter than Faust's: chunks carry the positions that they span, what was dropped blocks its partition until the next
seek, nothing is delivered between a seek and the resumption of the flow, and positions are committed only as the
longest prefix of chunks that the fold has confirmed. The private names of Faust in use here are checked at start
(`faust_names`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import faust
from aiokafka.structs import ConsumerRecord
from faust.transport.consumer import ensure_TP
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import ConsumerMessage

from moodstream.schemas.errors import SourceGap

SCHEME = "moodstream"
"""Scheme of the broker URL that selects this transport."""

_POLL_SECONDS = 0.25
_GATHER_SECONDS = 0.01
_PATIENCE_SECONDS = 5.0
"""How long a rebalance or a shutdown waits for the chunk in hand at most: a chunk that is cut off is read again."""
_PATIENCE_SHARE = 3
"""Of the time that the broker gives a member to join again: committing and waiting may take one share each."""


class Chunk(NamedTuple):
    """Records of one partition, in order, and the positions that they span: all offsets from start up to end."""

    partition: int
    start: int
    end: int
    records: list[ConsumerRecord]

    @classmethod
    def joined(cls, chunks: Sequence[Chunk]) -> Chunk:
        """One chunk of several that follow each other; the first where it is the only one."""
        if len(chunks) == 1:
            return chunks[0]
        records = [record for chunk in chunks for record in chunk.records]
        return cls(chunks[0].partition, chunks[0].start, chunks[-1].end, records)


class ChunkMessage(ConsumerMessage):  # type: ignore[misc]
    """A chunk as Faust's message: its offset is that of the last record. `seeks` tells readings of it apart."""

    def __init__(self, tp: TP, chunk: Chunk, generation_id: int, seeks: int = 0) -> None:
        self.seeks = seeks
        last = chunk.records[-1]
        super().__init__(
            tp.topic,
            tp.partition,
            last.offset,
            last.timestamp / 1000.0,
            last.timestamp_type,
            None,
            None,
            chunk,
            None,
            0,
            0,
            tp,
            generation_id=generation_id,
        )


class ChunkSchema(faust.Schema):  # type: ignore[misc]
    """Marks a topic whose events are chunks, and passes them on as they are."""

    def compile(self, app: Any, **_: object) -> Any:  # noqa: ANN401 - Faust's types
        """Give the decoder of Faust's conductor."""

        async def decode(message: Any, **_: object) -> Any:  # noqa: ANN401 - Faust's types
            return app.create_event(None, message.value, None, message)

        return decode


class ChunkThread(driver.AIOKafkaConsumerThread):  # type: ignore[misc]
    """The consumer's thread, with a fetch that does not wait 1.5 s for the rare record."""

    def _create_worker_consumer(self, transport: Any) -> Any:  # noqa: ANN401 - Faust's types
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = self.app.conf.fetch_wait_ms
        return consumer

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit what is still assigned: to commit nothing is an error for the client, and a crash for Faust."""
        mine = {tp: offset for tp, offset in offsets.items() if tp in self.assignment()}
        return bool(mine) and bool(await super()._commit(mine))


class ChunkConsumer(driver.Consumer):  # type: ignore[misc]
    """Delivers chunks; see the module's text."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's
        self._delivered: dict[TP, deque[int]] = defaultdict(deque)
        self._next: dict[TP, int] = {}
        self._never_read: dict[TP, int] = {}
        """Where the state stands that has read nothing yet of a log that begins later."""
        self._known: dict[TP, int] = {}
        """Where the state stands, for partitions that are read again from before that."""
        self._seeks = 0
        self._rebalances = 0
        self._held = True
        self._polling = asyncio.Lock()
        super().__init__(*args, **kwargs)

    def _new_consumer_thread(self) -> ChunkThread:
        return ChunkThread(self, loop=self.loop, beacon=self.beacon)

    # -- delivery

    async def _drain_messages(self, fetcher: Any) -> None:  # noqa: ANN401 - Faust's types
        """Faust's reading loop, replaced."""
        try:
            while not (self._stopped.is_set() or fetcher._stopped.is_set()):
                if self._held or not self.flow_active:
                    await asyncio.sleep(0.005)
                else:
                    await self._deliver_next()
        except (asyncio.CancelledError, *self.consumer_stopped_errors):
            if not self.transport.app.should_stop:
                raise
        except SourceGap as gap:
            await self.app.crash(gap)

    async def _deliver_next(self) -> None:
        seeks, generation = self._seeks, self.app.consumer_generation_id
        async with self._polling:
            records, _ = await self._wait_next_records(_POLL_SECONDS)
        await self._check_gaps(records or {})
        if seeks != self._seeks:
            return  # fetched before the seek: will come again
        self._check_order(records or {})
        for tp, chunk in self._chunks(records or {}):
            if not await self._deliver(tp, chunk, seeks, generation):
                if seeks == self._seeks:
                    self._hold()  # what is dropped here must be read again
                return
        # A poll costs as much as folding ten records: while chunks are in hand, further records may gather.
        await asyncio.sleep(_GATHER_SECONDS if self._is_busy() else 0)

    def _is_busy(self) -> bool:
        """Whether a chunk that was delivered is not acknowledged yet."""
        return any(pending and pending[-1] not in self._acked_index[tp] for tp, pending in self._delivered.items())

    async def _check_gaps(self, records: Mapping[Any, list[ConsumerRecord]]) -> None:
        """Offsets may be missing in a log (control records), but not because it was cut before we had read it."""
        for key, found in records.items():
            tp = ensure_TP(key)
            expected = self._next.get(tp)
            if expected is not None and found[0].offset > expected:
                beginning = (await self.earliest_offsets(tp)).get(tp) or 0
                if beginning > expected:
                    raise source_gap(tp, expected, beginning)
            await self._check_known(tp, found[-1].offset + 1)

    async def _check_known(self, tp: TP, read: int) -> None:
        """What the state has read must be there: else what comes now has offsets of old, and would pass for known."""
        known = self._known.get(tp, 0)
        if read >= known:
            self._known.pop(tp, None)
        elif (self.highwater(tp) or 0) < known:  # as the fetch has said; a new leader may know better than it has
            end = max(self.highwater(tp) or 0, (await self.highwaters(tp)).get(tp) or 0)
            if end < known:
                raise source_lost(tp, known, f"ends at {end}")

    def _check_order(self, records: Mapping[Any, list[ConsumerRecord]]) -> None:
        """A log never goes back, but the client does, to its beginning, where a log ends before the position sought."""
        for key, found in records.items():
            tp = ensure_TP(key)
            expected = self._next.get(tp)
            if expected is not None and found[0].offset < expected:
                raise source_lost(tp, expected, f"goes on at {found[0].offset}")

    def _chunks(self, records: Mapping[Any, list[ConsumerRecord]]) -> list[tuple[TP, Chunk]]:
        """Cut what was fetched into chunks, round robin over the partitions."""
        size = self.app.conf.chunk
        cut = [
            [(ensure_TP(key), self._chunk(ensure_TP(key), found[i : i + size])) for i in range(0, len(found), size)]
            for key, found in records.items()
            if ensure_TP(key) in self._next
        ]
        return [one[i] for i in range(max(map(len, cut), default=0)) for one in cut if i < len(one)]

    def _chunk(self, tp: TP, records: list[ConsumerRecord]) -> Chunk:
        start, end = self._never_read.pop(tp, self._next[tp]), records[-1].offset + 1
        self._next[tp] = end
        return Chunk(tp.partition, start, end, records)

    async def _deliver(self, tp: TP, chunk: Chunk, seeks: int, generation: int) -> bool:
        """Hand a chunk to the stream; False when a rebalance or a seek came in between."""
        if self._held or seeks != self._seeks or not self.flow_active or generation != self.app.consumer_generation_id:
            return False
        message = ChunkMessage(tp, chunk, generation, seeks)
        self._delivered[tp].append(message.offset)
        handing = asyncio.ensure_future(self.callback(message))
        suspended = asyncio.ensure_future(self.suspend_flow.wait())
        await asyncio.wait((handing, suspended), return_when=asyncio.FIRST_COMPLETED)
        suspended.cancel()
        if not handing.done():
            handing.cancel()
            return False
        handing.result()
        return True

    def on_buffer_full(self, tp: TP) -> None:
        """Nothing: `_deliver` waits for room. Faust would leave the partition out, and sleep when all are left out."""

    def on_buffer_drop(self, tp: TP) -> None:
        """Nothing: no partition was left out."""

    # -- seeks

    async def perform_seek(self) -> None:
        """Go to where the state stands, or to the last position whose outputs are out, whichever is earlier.

        Waits for a fetch under way: records that it took from the client before the seek are dropped with it, and none
        that come after the seek are.
        """
        self._held = True
        self._seeks += 1
        rebalances = self._rebalances
        async with self._polling:
            self._hold()
            self._delivered.clear()
            for tp in self._sources():
                await self._seek_source(tp)
            if rebalances != self._rebalances:
                self._hold()  # these partitions are being taken away: the next seek counts

    def _hold(self) -> None:
        """Deliver nothing more before the next seek, whoever resumes the flow."""
        self._held = True
        self._next.clear()
        self._known.clear()
        self._never_read.clear()

    async def _seek_source(self, tp: TP) -> None:
        position = self.app.source_position(tp.partition)
        committed = await self._committed(tp)
        start = min(position.source, max(committed, position.announced))
        beginning = (await self.earliest_offsets(tp)).get(tp) or 0
        if position.source and beginning > position.source:
            raise source_gap(tp, position.source, beginning)
        start = max(start, beginning)
        await self._seek(tp, start)
        self._next[tp] = start
        if start < position.source:
            self._known[tp] = position.source
        if not position.source:
            self._never_read[tp] = 0
        self._read_offset[tp] = start or None
        self._committed_offset[tp] = min(committed, start) or None  # or acks below it would not count

    async def _committed(self, tp: TP) -> int:
        thread = self._thread
        found: int | None = await thread.call_thread(thread._ensure_consumer().committed, driver.ensure_aiokafka_TP(tp))
        return found if found is not None and found > 0 else 0

    def _sources(self) -> list[TP]:
        return [tp for tp in map(ensure_TP, self.assignment()) if not self._is_changelog_tp(tp)]

    def resume_flow(self) -> None:
        """Deliver again: recovery is over and the seek has been made."""
        super().resume_flow()
        self._held = not self._next

    # -- commits

    def ack(self, message: ChunkMessage) -> bool:
        """Note that a chunk is done; not one of before a seek, for its records have been, or will be, read again."""
        if message.seeks != self._seeks:
            self._unacked_messages.discard(message)
            return False
        acked: bool = super().ack(message)
        return acked

    def _new_offset(self, tp: TP) -> int | None:
        """Commit position: behind the longest prefix of delivered chunks that are acknowledged."""
        acked, pending = self._acked_index[tp], self._delivered[tp]
        position = None
        while pending and pending[0] in acked:
            last = pending.popleft()
            acked.discard(last)
            position = last + 1
        if position is not None:
            self._acked[tp][:] = [offset for offset in self._acked[tp] if offset in acked]
        return position

    async def on_partitions_revoked(self, revoked: Iterable[TP]) -> None:
        """Deliver no more before the next seek, and commit before Faust forgets what was acknowledged."""
        self._rebalances += 1
        self._hold()
        if not await self._in_time(self.commit()):
            self.log.warning("could not commit before the rebalance: the records will be read again")
        await super().on_partitions_revoked(set(revoked))

    async def wait_empty(self) -> None:
        """Wait for the chunks in hand, but not for ever: with Redis or the broker away they never end."""
        if not await self._in_time(super().wait_empty()):
            self.log.warning("chunks cut off: they will be read again")
            self._unacked_messages.clear()

    async def _in_time(self, work: Coroutine[Any, Any, object]) -> bool:
        """Do something that Faust may go on with when it is cancelled: leave it behind then. False if it failed."""
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        patience = min(_PATIENCE_SECONDS, self.app.conf.broker_rebalance_timeout / _PATIENCE_SHARE)
        try:
            await asyncio.wait({task}, timeout=patience)
        finally:
            task.cancel()
        return task.done() and not task.cancelled() and task.exception() is None


def source_gap(tp: TP, expected: int, beginning: int) -> SourceGap:
    """Records were deleted before they were read."""
    return SourceGap(
        f"{tp.topic}-{tp.partition} begins at {beginning}, but the state goes on at {expected}: "
        f"{beginning - expected} records were deleted before they were read",
        partition=tp.partition,
        expected=expected,
        beginning=beginning,
    )


def source_lost(tp: TP, expected: int, found: str) -> SourceGap:
    """The log no longer has what was read of it."""
    return SourceGap(
        f"{tp.topic}-{tp.partition} was read up to {expected} and now {found}: it was cut or made anew",
        partition=tp.partition,
        expected=expected,
    )


class Transport(driver.Transport):  # type: ignore[misc]
    """Faust's aiokafka transport with the consumer of chunks."""

    Consumer = ChunkConsumer
