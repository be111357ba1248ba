"""The Redis client of the readers: bounded pool, short timeouts, errors that name the address."""

from __future__ import annotations

from collections.abc import AsyncIterator
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

    pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
        settings.url,
        max_connections=_CONNECTIONS,
        timeout=settings.answer_seconds,
        socket_connect_timeout=settings.connect_seconds,
        socket_timeout=settings.answer_seconds,
        protocol=2,
        # One more try mends a connection that the server has closed in the meantime.
        retry=Retry(NoBackoff(), 1),
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
