"""What each kind of fault does. All return when the damage is mended, as far as an operator would mend it."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from drill.crew import Program
from drill.proxy import ANSWER, REQUEST, Proxy
from drill.stage import Stage
from drill.waiting import spawn
from support.servers import Server

_DELAY_SECONDS = 0.15
_TEAR_SECONDS = 0.25

Act = Callable[[Stage, float, random.Random], Awaitable[None]]


@asynccontextmanager
async def _worker(stage: Stage, rng: random.Random) -> AsyncIterator[Program]:
    """A worker for one fault alone."""
    worker = rng.choice(stage.crew.workers)
    async with stage.lock(worker.name):
        yield worker


async def worker_kill(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Kill -9, and start it again after a while."""
    async with _worker(stage, rng) as worker:
        worker.kill()
        await asyncio.sleep(seconds)
        worker.start()


async def worker_term(stage: Stage, seconds: float, rng: random.Random) -> None:
    """SIGTERM, which has to end it in time, and a new start."""
    async with _worker(stage, rng) as worker:
        await worker.terminate()
        await asyncio.sleep(seconds)
        worker.start()


async def worker_zombie(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Freeze it for longer than its session, and let it wake up."""
    async with _worker(stage, rng) as worker:
        worker.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        worker.signal(signal.SIGCONT)


async def worker_joins(stage: Stage, seconds: float, rng: random.Random) -> None:
    """One more worker comes, and leaves again."""
    del rng
    worker = stage.crew.join()
    await asyncio.sleep(seconds)
    await worker.terminate()


async def kafka_kill(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Kill -9 of a broker, and a new start. Of three brokers, the others go on meanwhile."""
    broker = rng.choice(stage.kafka.brokers)
    async with stage.lock("kafka"):
        broker.server.kill()
        await asyncio.sleep(seconds)
        await spawn(broker.server)


async def kafka_freeze(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Freeze the broker."""
    async with stage.lock("kafka"):
        await _frozen(rng.choice(stage.kafka.brokers).server, seconds)


async def redis_kill(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Kill -9, and a new start with what the append-only file holds."""
    del rng
    async with stage.lock("redis"):
        await stage.store.restart(seconds, empty=False)


async def redis_empty(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Kill -9, and a new start without any data."""
    del rng
    async with stage.lock("redis"):
        await stage.store.restart(seconds, empty=True)


async def redis_freeze(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Freeze it."""
    del rng
    async with stage.lock("redis"):
        await _frozen(stage.store.current, seconds)


async def redis_full(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Let it refuse all writes for want of memory."""
    del rng
    async with stage.lock("redis"):
        await stage.store.ask("CONFIG", "SET", "maxmemory", 1)
        await asyncio.sleep(seconds)
        await stage.store.ask("CONFIG", "SET", "maxmemory", 0)


async def redis_failover(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Promote a replica that has missed the last writes."""
    del rng
    async with stage.lock("redis"):
        await stage.store.fail_over(seconds)


async def slots_moved(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Move the slots of all partitions from node to node."""
    del rng
    await stage.cluster.move_slots(stage.names.prefix, seconds)


async def redis_cut(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Reset the connections to Redis, and refuse new ones for a while."""
    del rng
    await _cut([stage.store.proxy], seconds)


async def redis_delay(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Let every piece to and from Redis wait."""
    del rng
    await _delayed([stage.store.proxy], seconds)


async def redis_tear(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Tear connections to Redis in mid-command, again and again."""
    await _torn([stage.store.proxy], seconds, rng)


async def kafka_cut(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Reset the workers' connections to the brokers, and refuse new ones for a while."""
    del rng
    await _cut(_proxies(stage), seconds)


async def kafka_delay(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Let every piece between workers and brokers wait."""
    del rng
    await _delayed(_proxies(stage), seconds)


async def kafka_tear(stage: Stage, seconds: float, rng: random.Random) -> None:
    """Tear the workers' connections to the brokers in mid-request, again and again."""
    await _torn(_proxies(stage), seconds, rng)


def _proxies(stage: Stage) -> list[Proxy]:
    return [broker.proxy for broker in stage.kafka.brokers]


async def _frozen(server: Server, seconds: float) -> None:
    server.pause()
    try:
        await asyncio.sleep(seconds)
    finally:
        server.resume()


async def _cut(proxies: list[Proxy], seconds: float) -> None:
    for proxy in proxies:
        proxy.refuses = True
        proxy.cut()
    await asyncio.sleep(seconds)
    for proxy in proxies:
        proxy.refuses = False


async def _delayed(proxies: list[Proxy], seconds: float) -> None:
    for proxy in proxies:
        proxy.delay = _DELAY_SECONDS
    await asyncio.sleep(seconds)
    for proxy in proxies:
        proxy.delay = 0.0


async def _torn(proxies: list[Proxy], seconds: float, rng: random.Random) -> None:
    for _ in range(max(int(seconds / _TEAR_SECONDS), 1)):
        rng.choice(proxies).tear(rng.choice((REQUEST, ANSWER)))
        await asyncio.sleep(_TEAR_SECONDS)


ACTS: dict[str, Act] = {
    "worker-kill": worker_kill,
    "worker-term": worker_term,
    "worker-zombie": worker_zombie,
    "worker-joins": worker_joins,
    "kafka-kill": kafka_kill,
    "kafka-freeze": kafka_freeze,
    "broker-gone": kafka_kill,
    "redis-kill": redis_kill,
    "redis-empty": redis_empty,
    "redis-freeze": redis_freeze,
    "redis-full": redis_full,
    "redis-failover": redis_failover,
    "redis-cut": redis_cut,
    "redis-delay": redis_delay,
    "redis-tear": redis_tear,
    "slots-moved": slots_moved,
    "kafka-cut": kafka_cut,
    "kafka-delay": kafka_delay,
    "kafka-tear": kafka_tear,
}
"""By the names of the kinds."""
