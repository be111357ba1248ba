"""One round: start, publish and read, break, mend, wait for the end of the log, check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient

from drill import checks
from drill.brokers import Kafka
from drill.crew import Crew
from drill.evidence import Evidence, committed, ends, gather, records_of
from drill.faults import ACTS
from drill.names import PARTITIONS, Names
from drill.pace import Pace, metas, watch
from drill.plan import CLUSTER, Fault, Plan
from drill.publisher import Publisher
from drill.reader import Reader
from drill.results import Result
from drill.stage import Stage
from drill.store import Store
from drill.store_cluster import ClusterStore
from drill.story import Story, story
from drill.truth import Truth
from drill.waiting import end, spawn
from moodstream.streams.topics import create
from support.servers import free_ports
from support.waiting import eventually

START_SECONDS, DRAIN_SECONDS, ROUND_SECONDS = 60.0, 75.0, 240.0
"""Bounds of what must end: far beyond what it takes, also on a machine that others use."""
READERS = 2
_CALM_SECONDS = 1.0
"""What is published when all is mended: a worker finds out on the next event that its Redis was emptied."""


class Round:
    """One round on a Kafka that runs; its Redis and its processes are its own."""

    def __init__(
        self, plan: Plan, kafka: Kafka, folder: Path, worker: Sequence[str], workers: int, rate: float
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.rate = rate
        self.result = Result(plan.number, plan.setup, plan.kinds, began=datetime.now(UTC).isoformat(timespec="seconds"))
        clustered = plan.setup == CLUSTER
        store = ClusterStore(folder) if clustered else Store(folder, replicated="redis-failover" in plan.kinds)
        names = Names.fresh(
            plan.number,
            bootstrap=kafka.bootstrap,
            proxied=kafka.proxied,
            brokers=len(kafka.brokers),
            port=free_ports(1)[0],
        )
        self.stage = Stage(kafka, store, Crew(worker, folder), names)
        self._workers = workers
        self._publisher = Publisher(names)
        self._reader = Reader(names.url, plan.rng("reader"))
        self._pace = Pace()

    async def run(self) -> Result:
        """Play it; what goes wrong is in the result."""
        begin = time.monotonic()
        try:
            async with asyncio.timeout(ROUND_SECONDS):
                await self._play()
        except Exception as error:  # noqa: BLE001 - whatever it is, the round has failed and the run goes on
            self.result.problems.append(f"{type(error).__name__}: {error}")
        finally:
            await self._tidy()
        self.result.seconds = round(time.monotonic() - begin, 1)
        return self.result

    async def _play(self) -> None:
        with self._phase("start"):
            told = await self._set_up()
        tasks = [asyncio.ensure_future(self._reader.run()) for _ in range(READERS)]
        tasks.append(asyncio.ensure_future(watch(self._pace, self.stage.any_store, self._publisher)))
        try:
            with self._phase("publish"):
                await self._break_and_mend(told)
            with self._phase("drain"):
                await self._drain()
        finally:
            await end(tasks)
            self._count(told)
        with self._phase("check"):
            self._judge(await gather(self.stage.names, self.stage.any_store.direct, self.folder))

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self.result.phases[name] = round(time.monotonic() - begin, 1)

    async def _set_up(self) -> Story:
        """Start everything and wait until the workers are at work."""
        stage = self.stage
        await stage.any_store.start()
        stage.names = stage.names.with_redis(stage.any_store.url)
        await create(stage.names.streams)
        stage.crew.start(self._workers, stage.names.environment)
        told = story(self.plan.rng("story"), int(self.rate * self._publishing_seconds), PARTITIONS)
        await eventually(self._ready, seconds=START_SECONDS, what="workers that are ready")
        return told

    @property
    def _publishing_seconds(self) -> float:
        return max((fault.end for fault in self.plan.faults), default=2.0) + 0.5 + _CALM_SECONDS

    async def _break_and_mend(self, told: Story) -> None:
        """Publish while the faults happen, and a little more when all is well again."""
        calm = int(self.rate * _CALM_SECONDS)
        hurting = [asyncio.ensure_future(self._hurt(fault)) for fault in self.plan.faults]
        try:
            await self._publisher.run(told.items[:-calm], self.rate)
            await asyncio.gather(*hurting)
        finally:
            await end(hurting)
        await self._publisher.run(told.items[-calm:], self.rate)

    async def _hurt(self, fault: Fault) -> None:
        await asyncio.sleep(fault.at)
        number = self.plan.faults.index(fault)
        try:
            await ACTS[fault.kind](self.stage, fault.seconds, self.plan.rng(f"fault {number}"))
        except Exception as error:
            raise RuntimeError(f"{fault.kind}: {type(error).__name__}: {error}") from error

    async def _drain(self) -> None:
        """Wait until everything is read and every partition is at work, then until all of it was announced."""
        streams = self.stage.names.streams
        last = await ends(streams)
        await eventually(lambda: self._drained(last), seconds=DRAIN_SECONDS, what="the end of the log")

        async def told() -> bool:
            found = await committed(streams)
            return all(found.get(partition, 0) >= end for partition, end in last.items())

        await eventually(told, seconds=DRAIN_SECONDS, what="the commit of the last events")

    async def _ready(self) -> bool:
        return await self._drained({})

    async def _drained(self, last: dict[int, int]) -> bool:
        found = await metas(self.stage.any_store, self.stage.names.prefix)
        ready = [meta.get(b"state") == b"ready" for meta in found.values()]
        done = [int(found.get(partition, {}).get(b"source", 0)) >= end for partition, end in last.items()]
        self._metas = found
        return len(ready) == PARTITIONS and all(ready) and all(done)

    def _count(self, told: Story) -> None:
        result = self.result
        result.events, result.troubles = len(self._publisher.sent), dict(told.troubles)
        result.pause = round(self._pace.longest, 2)

    def _judge(self, found: Evidence) -> None:
        """Compare what was found with the publisher's own list and with the oracle."""
        result, sent, truth = self.result, self._publisher.sent, Truth.of(found.log, PARTITIONS)
        expected = checks.expected_memories(sent, truth)
        counts = {
            name: sum(int(meta.get(name.encode(), 0)) for meta in self._metas.values())
            for name in ("accepted", "duplicate", "erased", "dead")
        }
        missing, surplus = checks.miscounted(truth, counts, records_of(found.log))
        result.note("lost", checks.not_in_log(sent, found.log))
        result.note("lost", checks.lost_memories(expected, found.memories) or missing)
        result.note("double", checks.double_memories(expected, found.memories) or surplus)
        result.note("unburied", checks.unburied(sent, found.letters))
        result.note("unannounced", checks.unannounced(truth, found.announced))
        result.note("false_reads", checks.false_reads(truth, self._reader.answers) + self._reader.broken)
        if "redis-failover" not in self.plan.kinds:  # a replica that missed writes may well not know an agent yet
            result.note("false_reads", checks.vanished(truth, self._reader.gone))
        result.differences = int(found.audit.get("differences", 0))
        if found.audit.get("exit") != 0:
            result.problems.append(f"audit ended with {found.audit}")
        result.answers, result.agents = len(self._reader.answers), len(truth.lives)

    async def _tidy(self) -> None:
        """End what is the round's own, and mend the brokers for the next one."""
        self.stage.crew.end()
        self.result.ended = self.stage.crew.ended
        await self._publisher.close()
        await self.stage.any_store.stop()
        for broker in self.stage.kafka.brokers:
            broker.proxy.heal()
            if broker.server.process is None:
                await spawn(broker.server)
            broker.server.resume()
        with suppress(Exception):
            await delete_topics(self.stage.names)


async def delete_topics(names: Names) -> None:
    """Throw the round's topics away: a broker with thousands of them is slow to start."""
    admin = AIOKafkaAdminClient(bootstrap_servers=names.bootstrap)
    await admin.start()
    try:
        await admin.delete_topics(list(names.streams.topics.all()))
    finally:
        await admin.close()
