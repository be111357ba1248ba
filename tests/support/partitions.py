"""One row of one agent in a partition of a real Redis, and how it stands there."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from moodstream.schemas.identity import agent_key
from moodstream.state import rows
from moodstream.state.connection import call, connect
from moodstream.state.layout import Layout
from moodstream.state.partition import RedisPartition
from moodstream.state.rows import Kind, pack_row, row_key
from moodstream.state.settings import StateSettings

A, B = b"token-a", b"token-b"
LOG = b"incarnation"
PARAMS = b"\x01" * 8
AGENT = agent_key("t", "a")
MOOD = row_key(AGENT, rows.MOOD)


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """A client of the server of the tests."""
    client = connect(StateSettings(url=redis_url))
    yield client
    await client.aclose()


@pytest.fixture
async def partition(redis: Redis) -> AsyncIterator[RedisPartition]:
    """A partition of this test alone."""
    found = RedisPartition(redis, Layout(f"t{uuid.uuid4().hex[:8]}.", 2))
    yield found
    await redis.unlink("", *[key async for key in redis.scan_iter(match=found.layout.tag + b"*", count=10_000)])


def mood(text: str, offset: int = 0) -> bytes:
    """A row whose body is a text."""
    return pack_row(Kind.MOOD, offset, text.encode(), PARAMS)


async def owned(partition: RedisPartition, token: bytes = A, at: bytes = b"10") -> None:
    """Have the partition taken by a token, standing at a position, with one row."""
    await partition.acquire(token, 5, LOG, "w")
    await partition.apply(token, b"", at, {MOOD: mood("1")}, {"incarnation": LOG, "state": "ready", "source": 1})


async def meta_of(redis: Redis, partition: RedisPartition) -> dict[str, bytes]:
    """The partition's meta hash."""
    found: dict[bytes, bytes] = await call(redis, "HGETALL", partition.layout.meta)
    return {name.decode(): text for name, text in found.items()}


async def row_of(redis: Redis, partition: RedisPartition, key: bytes = MOOD) -> bytes | None:
    """A row as it lies in its hash."""
    found: bytes | None = await call(redis, "HGET", *partition.layout.place(key))
    return found
