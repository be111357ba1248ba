"""Writes rows into Redis by hand, so that readers are tested without a worker. Follows docs/rows.md."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from struct import pack

import pytest
from redis import Redis

from moodstream.schemas.identity import agent_key, encode_id, hash_id, partition_of
from moodstream.schemas.profile import DEFAULT_PROFILE
from moodstream.state.layout import Layout, format_key
from moodstream.state.reader import StateReader
from moodstream.state.rows import (
    AGENT,
    Kind,
    MemoryContent,
    MemoryRow,
    bucket_of,
    kind_of,
    pack_row,
)
from moodstream.state.settings import StateSettings

PARAMS = b"\x01" * 8


class Stored:
    """The state of one deployment in a Redis; a test has its own prefix."""

    def __init__(self, url: str, prefix: str, partitions: int = 4) -> None:
        self.redis = Redis.from_url(url, protocol=2)
        self.url, self.prefix, self.partitions = url, prefix, partitions
        self.stamp = PARAMS
        self.redis.hset(
            format_key(prefix),
            mapping={
                "partitions": partitions,
                "format": 1,
                "cluster": "test",
                "profile:" + PARAMS.hex(): DEFAULT_PROFILE.canonical(),
            },
        )
        for number in range(partitions):
            self.meta(number)

    def close(self) -> None:
        for key in self.redis.scan_iter(match=f"*{self.prefix}state:*", count=10_000):
            self.redis.unlink(key)
        self.redis.close()

    def meta(self, partition: int, *, state: str = "ready", source: int = 1_000_000, **more: object) -> None:
        fields = {"state": state, "source": source, "changelog": 7, "epoch": "e", "incarnation": "i", **more}
        self.redis.hset(self.layout(partition).meta, mapping=fields)

    def layout(self, partition: int) -> Layout:
        return Layout(self.prefix, partition)

    def of(self, tenant: str, agent: str) -> tuple[bytes, Layout]:
        key = agent_key(tenant, agent)
        return key, self.layout(partition_of(key, self.partitions))

    def put(self, tenant: str, agent: str, suffix: bytes, body: bytes, offset: int, fold: int = 1) -> None:
        key, layout = self.of(tenant, agent)
        row = pack_row(kind_of(suffix), offset, body, self.stamp, fold)
        self.redis.hset(layout.agent(key), suffix, row)

    def agent(self, tenant: str, agent: str, version: int, accepted: int = 1, newest: int = 0) -> None:
        _, layout = self.of(tenant, agent)
        self.put(tenant, agent, AGENT, pack(">qQq", 0, accepted, newest), version)
        self.redis.hset(layout.tenants, encode_id(tenant), "")
        self.redis.zadd(layout.agents(encode_id(tenant)), {encode_id(agent): 0})

    def memory(self, tenant: str, agent: str, row: MemoryRow, offset: int) -> None:
        self.memories(tenant, agent, [(row, offset)])

    def memories(self, tenant: str, agent: str, rows: list[tuple[MemoryRow, int]]) -> None:
        key, layout = self.of(tenant, agent)
        with self.redis.pipeline(transaction=False) as pipe:
            for row, offset in rows:
                ident, bucket, body = hash_id(row.content.event_id), bucket_of(row.content.occurred_us), row.encode()
                pipe.hset(layout.memory(key, bucket), ident, pack_row(Kind.MEMORY, offset, body, self.stamp))
                pipe.hset(layout.ids(key), ident, b"%d" % bucket)
                pipe.hset(layout.buckets(key), bucket, "")
            pipe.execute()

    def shift(self, tenant: str, agent: str, row: MemoryRow, body: bytes, offset: int) -> None:
        """The shift row of a stored memory."""
        key, layout = self.of(tenant, agent)
        field = b"s" + hash_id(row.content.event_id)
        place = layout.memory(key, bucket_of(row.content.occurred_us))
        self.redis.hset(place, field, pack_row(Kind.SHIFT, offset, body, self.stamp))


def memory_row(event_id: str, occurred_us: int, shift: tuple[float, ...] | None = None, **more: object) -> MemoryRow:
    """A memory with little in it."""
    values: dict[str, object] = {
        "event_id": event_id,
        "type": "experience.observation",
        "occurred_us": occurred_us,
        "text": f"text of {event_id}",
        "importance": None,
        "pad": None,
        "attributes": {},
        "metadata": {},
        "case_id": None,
        "turn_id": None,
        "embedding": None,
    }
    return MemoryRow(MemoryContent(**{**values, **more}), shift)  # type: ignore[arg-type]


@pytest.fixture
def stored(redis_url: str) -> Iterator[Stored]:
    """An empty deployment of this test alone."""
    state = Stored(redis_url, f"t{uuid.uuid4().hex[:8]}.")
    yield state
    state.close()


@pytest.fixture
async def reader(stored: Stored) -> AsyncIterator[StateReader]:
    """A reader of that deployment."""
    found = StateReader(StateSettings(url=stored.url, prefix=stored.prefix))
    yield found
    await found.close()
