"""The Redis client of the readers: bounded pool, short timeouts, errors that name the address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from moodstream.schemas.errors import StoreUnavailable

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.state.settings import StateSettings

_CONNECTIONS = 32


def connect(settings: StateSettings) -> Redis:
    """Make a client that speaks bytes. Nothing is sent before the first command."""
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
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError, TimeoutError) as error:
        raise StoreUnavailable(f"Redis at {address} does not answer: {_reason(error)}", address=address) from error


def _reason(error: Exception) -> str:
    text: Any = str(error).strip()
    return text or type(error).__name__


async def call(redis: Redis, *command: bytes | str | int) -> Any:  # noqa: ANN401 - as Redis answers
    """Send one command."""
    execute: Any = redis.execute_command
    return await execute(*command)


async def pipeline(redis: Redis, commands: Sequence[Sequence[bytes | str | int]], *, atomic: bool = False) -> list[Any]:
    """Send commands in one round trip; with `atomic` in one MULTI/EXEC."""
    if not commands:
        return []
    async with redis.pipeline(transaction=atomic) as pipe:
        for command in commands:
            add: Any = pipe.execute_command
            add(*command)
        answers: list[Any] = await pipe.execute()
    return answers
