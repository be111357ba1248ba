"""The stream worker: a Faust app whose agent hands each chunk to the pipeline of its partition."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import structlog

from moodstream.affect.params import Fold
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.announce import mood_changed
from moodstream.agents.cache import RowCache
from moodstream.agents.lane import Lanes
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.agents.rebuild import Rebuilder
from moodstream.agents.settings import WorkerSettings
from moodstream.agents.upgrade import Upgrade
from moodstream.agents.waits import Waits
from moodstream.schemas.errors import BrokerUnavailable, Fenced, StoreUnavailable
from moodstream.state.connection import connect
from moodstream.state.deployment import Home, check_deployment, declare_fold
from moodstream.state.ownership import Ownership
from moodstream.state.settings import StateSettings
from moodstream.state.table import STORE_URL, Lives, RedisTableStore, register
from moodstream.state.workers import report, retract
from moodstream.streams.app import MoodApp, create_app, events_topic, state_table
from moodstream.streams.broker import cluster_id, connected, reported
from moodstream.streams.changelog import KafkaChangelog
from moodstream.streams.event_log import EventLog
from moodstream.streams.sending import open_producer, send_batches
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import check

log = structlog.get_logger(__name__)

_REPORT_SECONDS: Final = 2.0


class Producers(NamedTuple):
    """One for the changelog and one for outputs: a producer has one request under way to a broker.

    So a chunk need not wait until the broker has the outputs of another.
    """

    changelog: Any
    outputs: Any


class Worker:
    """One worker process. `run` returns after `stop`, or raises the reason why it cannot go on."""

    def __init__(self, streams: StreamSettings, state: StateSettings, worker: WorkerSettings, fold: Fold) -> None:
        self.streams = streams
        self.state = state
        self.settings = worker
        self.fold = fold
        self.name = worker.name or f"{socket.gethostname()}:{os.getpid()}"
        self.began = False
        """Whether broker and Redis were found to be as they should."""
        self._ended = asyncio.Event()
        self._stopping = False
        self._upgrading = asyncio.Lock()
        self._crash: BaseException | None = None
        # Longer than any one attempt to reach Redis takes.
        self._waits = Waits(2 * (state.connect_seconds + state.answer_seconds) + _REPORT_SECONDS)

    async def run(self) -> None:
        """Work until `stop` is called.

        Raises `BrokerUnavailable`, `StoreUnavailable`, `TopicMissing`, `TopicMismatch`, `InvalidSettings` or
        `FoldMismatch` at start, and later whatever takes the partitions away: start again then. What fails after
        `stop` is not raised.
        """
        try:
            await self._run()
        except Exception as error:
            if not self._stopping:
                raise
            log.info("stopped", reason=str(error))

    async def _run(self) -> None:
        await check(self.streams)
        redis = connect(self.state)
        producers: list[Any] = []
        try:
            await check_deployment(redis, self.state, self.streams.partitions, await self._home())
            await declare_fold(redis, self.state, self.fold)
            producers += [changelog := await open_producer(self.streams)]
            producers += [outputs := await open_producer(self.streams)]
            self.began = True
            await self._run_app(Producers(changelog, outputs), redis)
        finally:
            await asyncio.gather(*(_quietly(producer.stop(), 2.0) for producer in producers))
            await redis.aclose()

    async def _home(self) -> Home:
        """Where the truth of this deployment lies, as the broker says it now."""
        async with connected(self.streams) as admin, reported(self.streams):
            return Home(await cluster_id(admin), self.streams.topics.changelog)

    def stop(self) -> None:
        """Ask for a graceful stop."""
        self._stopping = True
        self._ended.set()

    async def _run_app(self, producers: Producers, redis: Any) -> None:  # noqa: ANN401 - redis-py's types
        with tempfile.TemporaryDirectory(prefix="moodstream-") as datadir:
            register()
            app = create_app(self.streams, STORE_URL, datadir)
            store = self._bind(app, producers)
            lanes = Lanes(lambda owned: self._pipeline(owned, producers.outputs), app.crash, self.streams.chunk)
            self._wire(app, store, lanes)
            reporting = asyncio.create_task(self._report(redis, store))
            try:
                await self._until_ended(app)
            finally:
                reporting.cancel()
                await _quietly(app.stop(), self.settings.stop_seconds)
                lanes.close()
                await self._report_last(redis)
        if self._crash is not None:
            raise self._reason(self._crash)

    async def _until_ended(self, app: MoodApp) -> None:
        """Start the app and wait for the end, which may come while it restores: starting takes as long as that."""
        starting = asyncio.ensure_future(app.start())
        ended = asyncio.ensure_future(self._ended.wait())
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({starting, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            starting.result()
            await ended

    @staticmethod
    def _reason(crash: BaseException) -> Exception:
        return crash if isinstance(crash, Exception) else RuntimeError(f"the app crashed: {crash!r}")

    def _bind(self, app: MoodApp, producers: Producers) -> RedisTableStore:
        """Declare the table, and tell store and app of each other."""
        store: RedisTableStore = state_table(app, self.streams).data

        async def upgrade(owned: Ownership) -> None:
            await self._upgrade(owned, producers.outputs)

        lives = Lives(self.streams.bootstrap, self._home)
        changelog = KafkaChangelog(self.streams, producers.changelog)
        store.bind(self.state, changelog, self.name, self.fold, lives, self._on_wait, upgrade)
        app.source_position = store.position
        loop = asyncio.get_running_loop()

        def on_crash(reason: BaseException) -> None:
            with suppress(RuntimeError):  # the loop may have ended before the consumer's thread
                loop.call_soon_threadsafe(self._on_crash, reason)

        app.on_crash = on_crash
        return store

    def _wire(self, app: MoodApp, store: RedisTableStore, lanes: Lanes) -> None:
        """Declare the agent: chunks go to the lanes, which end with the partitions."""

        async def fold(stream: Any) -> None:  # noqa: ANN401 - Faust's types
            stream.enable_acks = False
            async for chunk in stream:
                with suppress(Fenced):  # taken away: whoever has it reads this again
                    await lanes.of(store.owned(chunk.partition)).put(stream.current_event, chunk)

        async def let_go(*_: object, **__: object) -> None:
            store.close_all()
            lanes.close()

        app.agent(events_topic(app, self.streams), name="moodstream.fold")(fold)
        app.on_partitions_revoked.connect(let_go)

    def _pipeline(self, owned: Ownership, producer: Any) -> PartitionPipeline:  # noqa: ANN401 - aiokafka has no types
        cache = RowCache(self.settings.cache_bytes // self.streams.partitions)
        return PartitionPipeline(owned, producer, self.streams, self.streams.limits, cache, self.fold)

    def _on_crash(self, reason: BaseException) -> None:
        if self._crash is None and not self._stopping:
            self._crash = reason
            log.error("worker stops", reason=str(reason), code=getattr(reason, "code", type(reason).__name__))
        self._ended.set()

    def _on_wait(self, reason: str | None) -> None:
        if reason is None:
            if self._waits.end("redis"):
                log.info("goes on")
        elif self._waits.begin("redis", reason):
            log.warning("waits", reason=reason)

    async def _upgrade(self, owned: Ownership, producer: Any) -> None:  # noqa: ANN401 - aiokafka has no types
        """Make the rows of older folds anew."""
        kind = f"mood/{self.fold.params.revision}"

        async def announce(agents: Sequence[AgentRows]) -> None:
            messages = [mood_changed(agent, [], kind) for agent in agents]
            known = [message for message in messages if message]
            if known:
                await send_batches(producer, self.streams.topics.mood, owned.partition, known)

        rebuilder = Rebuilder(owned, EventLog(self.streams), self.streams, self.fold)
        await Upgrade(rebuilder, self.settings.migrate, announce, self._upgrading).run()

    async def _report(self, redis: Any, store: RedisTableStore) -> None:  # noqa: ANN401 - redis-py's types
        """Say every two seconds how this worker is, and whether the broker answers."""
        while True:
            try:
                await self._look_at_broker()
                await self._look_at_redis(store)
                self._waits.lapse()
                phases = {partition: phase.value for partition, phase in store.phases().items()}
                with suppress(StoreUnavailable):
                    waits, more = str(self._waits) or None, (store.progress(), self.streams.bootstrap)
                    await report(redis, self.state, self.name, waits, phases, *more)
            except Exception:
                log.exception("report failed")
            await asyncio.sleep(_REPORT_SECONDS)

    async def _report_last(self, redis: Any) -> None:  # noqa: ANN401 - redis-py's types
        """Take the report back where the end was asked for; else leave one that soon grows old."""
        with suppress(StoreUnavailable):
            if self._stopping:
                await retract(redis, self.state, self.name)
            else:
                await report(redis, self.state, self.name, f"to start again: {self._crash}", {})

    async def _look_at_redis(self, store: RedisTableStore) -> None:
        """Hold all calls while Redis may throw rows away: a row that is missing would be folded as if it never was."""
        with suppress(StoreUnavailable):
            reason = await store.check_held()
            if reason is None:
                self._waits.end("policy")
            elif self._waits.begin("policy", reason):
                log.warning("waits", reason=reason)

    async def _look_at_broker(self) -> None:
        try:
            async with connected(self.streams.model_copy(update={"connect_seconds": _REPORT_SECONDS})):
                self._waits.end("broker")
        except BrokerUnavailable as error:
            self._waits.begin("broker", error.detail)


async def _quietly(ending: Any, seconds: float) -> None:  # noqa: ANN401 - any awaitable
    """Wait for an end, but not for ever, also if it does not mind being cancelled; what it raises no longer matters."""
    task = asyncio.ensure_future(ending)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.wait({task}, timeout=seconds)
    task.cancel()
