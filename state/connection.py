"""The Redis client of the readers: bounded pool, short timeouts, errors that name the address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from moodstream.schemas.errors import StoreUnavailable
from moodstream.state import cluster

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.state.settings import StateSettings

_CONNECTIONS = 32


def connect(settings: StateSettings) -> Redis:
    """Make a client that speaks bytes, of a server or of a cluster, as the URL says. Nothing is sent before the first
    command.
    """
    if cluster.is_cluster(settings.url):
        return cluster.connect_cluster(settings)
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError as Disconnected

    pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
        settings.url,
        max_connections=_CONNECTIONS,
        timeout=settings.answer_seconds,
        socket_connect_timeout=settings.connect_seconds,
        socket_timeout=settings.answer_seconds,
        protocol=2,
        # One more try mends a connection that the server has closed in the meantime. A timeout is not tried again.
        retry=Retry(NoBackoff(), 1, supported_errors=(Disconnected,)),
    )
    return Redis.from_pool(pool)


@asynccontextmanager
async def reported(address: str) -> AsyncIterator[None]:
    """Turn the client's errors into `StoreUnavailable` with the address and what to check."""
    from redis.exceptions import RedisClusterException, RedisError

    try:
        yield
    except (RedisError, RedisClusterException, OSError, TimeoutError) as error:
        raise StoreUnavailable(f"Redis at {address} does not answer: {_reason(error)}", address=address) from error


def _reason(error: Exception) -> str:
    text: Any = str(error).strip()
    return text or type(error).__name__


async def call(redis: Redis, *command: bytes | str | int) -> Any:  # noqa: ANN401 - as Redis answers
    """Send one command."""
    execute: Any = redis.execute_command
    return await execute(*command)


async def pipeline(redis: Redis, commands: Sequence[Sequence[bytes | str | int]], *, atomic: bool = False) -> list[Any]:
    """Send commands in one round trip; with `atomic` all at one moment, in a cluster those of one partition.

    Atomic are only reads by one key each.
    """
    if not commands:
        return []
    if atomic and (nodes := cluster.as_cluster(redis)) is not None:
        return await cluster.read_together(nodes, commands)
    async with redis.pipeline(transaction=atomic) as pipe:
        for command in commands:
            add: Any = pipe.execute_command
            add(*command)
        answers: list[Any] = await pipe.execute()
    return answers


async def ping(redis: Redis) -> None:
    """Ask the server, or every master of a cluster, whether it answers."""
    nodes = cluster.as_cluster(redis)
    if nodes is None:
        await call(redis, "PING")
    else:
        await cluster.ask_masters(nodes, "PING")


async def memory_facts(redis: Redis) -> list[dict[str, Any]]:
    """What the server, or every master of a cluster, says of its memory."""
    nodes = cluster.as_cluster(redis)
    return [await redis.info("memory")] if nodes is None else await cluster.ask_masters(nodes, "INFO", "memory")
