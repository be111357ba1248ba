"""The stream worker: a Faust app whose agent hands each chunk to the pipeline of its partition."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from contextlib import suppress
from typing import Any, Final

import structlog

from moodstream.agents.cache import RowCache
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.agents.settings import WorkerSettings
from moodstream.schemas.errors import BrokerUnavailable, MoodstreamError, StoreUnavailable
from moodstream.state.connection import connect
from moodstream.state.deployment import check_deployment
from moodstream.state.ownership import Ownership
from moodstream.state.settings import StateSettings
from moodstream.state.table import RedisTableStore, register
from moodstream.state.workers import report, retract
from moodstream.streams.app import MoodApp, create_app, events_topic, state_table
from moodstream.streams.broker import connected
from moodstream.streams.changelog import KafkaChangelog
from moodstream.streams.sending import open_producer
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import check

log = structlog.get_logger(__name__)

_REPORT_SECONDS: Final = 2.0
_SIDE_BY_SIDE: Final = 2
"""Chunks processed at the same time: one folds while another waits for broker or Redis. More would only take memory."""


class Worker:
    """One worker process. `run` returns after `stop`, or raises the reason why it cannot go on."""

    def __init__(self, streams: StreamSettings, state: StateSettings, worker: WorkerSettings) -> None:
        self.streams = streams
        self.state = state
        self.settings = worker
        self.name = worker.name or f"{socket.gethostname()}:{os.getpid()}"
        self._ended = asyncio.Event()
        self._crash: BaseException | None = None
        self._waiting: dict[str, str] = {}
        self._lanes: dict[int, _Lane] = {}

    async def run(self) -> None:
        """Work until `stop` is called.

        Raises `BrokerUnavailable`, `StoreUnavailable`, `TopicMissing`, `TopicMismatch`, `InvalidSettings` at start, and
        later whatever takes the partitions away: start again then.
        """
        await check(self.streams)
        redis = connect(self.state)
        producer = None
        try:
            await check_deployment(redis, self.state, self.streams.partitions)
            producer = await open_producer(self.streams)
            await self._run_app(producer, redis)
        finally:
            if producer is not None:
                await _quietly(producer.stop(), 2.0)
            await redis.aclose()

    def stop(self) -> None:
        """Ask for a graceful stop."""
        self._ended.set()

    async def _run_app(self, producer: Any, redis: Any) -> None:  # noqa: ANN401 - clients without types
        with tempfile.TemporaryDirectory(prefix="moodstream-") as datadir:
            register()
            app = create_app(self.streams, self.state.url, datadir)
            store = self._wire(app, producer)
            reporting = asyncio.create_task(self._report(redis, store))
            try:
                await app.start()
                await self._ended.wait()
            finally:
                reporting.cancel()
                await self._close(app, redis)
        if self._crash is not None:
            raise self._crash

    def _wire(self, app: MoodApp, producer: Any) -> RedisTableStore:  # noqa: ANN401 - aiokafka has no types
        """Declare table and agent, and tell store and app of each other."""
        store: RedisTableStore = state_table(app, self.streams).data
        store.bind(self.state, KafkaChangelog(self.streams, producer), self.name, self._on_wait)
        app.source_position = store.position
        app.on_crash = self._on_crash

        turn = asyncio.Semaphore(_SIDE_BY_SIDE)

        def lane(partition: int) -> _Lane:
            owned = store.owned(partition)
            found = self._lanes.get(partition)
            if found is None or found.ownership is not owned:
                if found is not None:
                    found.close()
                found = self._lanes[partition] = _Lane(self._pipeline(owned, producer), app, turn)
            return found

        async def fold(stream: Any) -> None:  # noqa: ANN401 - Faust's types
            stream.enable_acks = False
            async for chunk in stream:
                await lane(chunk.partition).put(stream.current_event, chunk)

        app.agent(events_topic(app, self.streams), name="moodstream.fold")(fold)
        return store

    def _pipeline(self, owned: Ownership, producer: Any) -> PartitionPipeline:  # noqa: ANN401 - aiokafka has no types
        cache = RowCache(self.settings.cache_bytes // self.streams.partitions)
        return PartitionPipeline(owned, producer, self.streams, self.settings.limits, cache)

    def _on_crash(self, reason: BaseException) -> None:
        if self._crash is None:
            self._crash = reason
            log.error("worker stops", reason=str(reason), code=getattr(reason, "code", type(reason).__name__))
        self._ended.set()

    def _on_wait(self, reason: str | None) -> None:
        if reason is None:
            self._waiting.pop("redis", None)
            log.info("goes on")
        elif "redis" not in self._waiting:
            self._waiting["redis"] = reason
            log.warning("waits", reason=reason)

    async def _report(self, redis: Any, store: RedisTableStore) -> None:  # noqa: ANN401 - redis-py's types
        """Say every two seconds how this worker is, and whether the broker answers."""
        while True:
            await self._look_at_broker()
            waiting = "; ".join(self._waiting.values()) or None
            phases = {partition: phase.value for partition, phase in store.phases().items()}
            with suppress(StoreUnavailable):
                await report(redis, self.state, self.name, waiting, phases)
            await asyncio.sleep(_REPORT_SECONDS)

    async def _look_at_broker(self) -> None:
        try:
            async with connected(self.streams.model_copy(update={"connect_seconds": _REPORT_SECONDS})):
                self._waiting.pop("broker", None)
        except BrokerUnavailable as error:
            self._waiting["broker"] = error.detail

    async def _close(self, app: MoodApp, redis: Any) -> None:  # noqa: ANN401 - redis-py's types
        await _quietly(app.stop(), self.settings.stop_seconds)
        for one in self._lanes.values():
            one.close()
        with suppress(MoodstreamError):
            await retract(redis, self.state, self.name)


class _Lane:
    """Takes the chunks of one partition one after the other, beside the other partitions."""

    def __init__(self, pipeline: PartitionPipeline, app: MoodApp, turn: asyncio.Semaphore) -> None:
        self.ownership = pipeline.ownership
        self._pipeline = pipeline
        self._app = app
        self._turn = turn
        self._chunks: asyncio.Queue[tuple[Any, Any]] = asyncio.Queue(1)
        self._task = asyncio.create_task(self._run())

    async def put(self, event: Any, chunk: Any) -> None:  # noqa: ANN401 - Faust's types
        """Queue a chunk; waits while two are in hand. The event is acknowledged when all is done."""
        await self._chunks.put((event, chunk))

    def close(self) -> None:
        """Drop what is in hand: it will be read again."""
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            event, chunk = await self._chunks.get()
            try:
                async with self._turn:
                    await self._pipeline.process(chunk)
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, the chunk is not done
                await self._app.crash(error)
                return
            event.ack()


async def _quietly(ending: Any, seconds: float) -> None:  # noqa: ANN401 - any awaitable
    """Wait for an end, but not for ever; what it raises no longer matters."""
    with suppress(Exception):
        await asyncio.wait_for(ending, seconds)
