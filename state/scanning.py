"""Bounded reads of large hashes: buckets of memories, and all agents of a partition."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from moodstream.state.connection import call, pipeline
from moodstream.state.layout import Layout
from moodstream.state.rows import (
    AGENT,
    ERASED_PREFIX,
    HEADER,
    Kind,
    MemoryRow,
    RowError,
    kind_of,
    memory_suffix,
    row_key,
    row_offset,
    shift_suffix,
)
from moodstream.state.views import AgentView, BucketRows, ScannedAgent, StoredMemory, checked_row

if TYPE_CHECKING:
    from redis.asyncio import Redis

PAGE = 1000
"""Fields asked for in one HSCAN."""
_SIDE_BY_SIDE = 16
_SHIFT_FIELD = 13

Fields = dict[bytes, bytes]


async def hash_pages(redis: Redis, keys: Sequence[bytes]) -> AsyncIterator[tuple[int, Fields, bool]]:
    """Read hashes with HSCAN: (index of the key, fields, last page of it). The first pages share a round trip.

    A field that lies in a hash from begin to end is delivered at least once, perhaps more often.
    """
    first = await pipeline(redis, [("HSCAN", key, 0, "COUNT", PAGE) for key in keys])
    for index, (cursor, fields) in enumerate(first):
        yield index, fields, not int(cursor)
        if int(cursor):
            async for page, last in _further_pages(redis, keys[index], int(cursor), fields):
                yield index, page, last


async def _further_pages(redis: Redis, key: bytes, cursor: int, first: Fields) -> AsyncIterator[tuple[Fields, bool]]:
    """The pages behind the first one.

    A cursor means something else to another server, such as a replica that was promoted, the node that a slot has moved
    to, or this one after a restart: what it passes over is missed. So fields are counted, and read again if any lack.
    """
    seen, size = set(first), await call(redis, "HLEN", key)
    while True:
        answer, fields = await call(redis, "HSCAN", key, cursor, "COUNT", PAGE)
        cursor = int(answer)
        seen.update(fields)
        if not cursor and len(seen) >= size:
            yield fields, True
            return
        yield fields, False
        if not cursor:  # from the beginning once more
            size = await call(redis, "HLEN", key)


async def buckets(redis: Redis, layout: Layout, view: AgentView, numbers: Sequence[int]) -> AsyncIterator[BucketRows]:
    """Read buckets in the order given, each whole, without rows that are newer than the view."""
    for start in range(0, len(numbers), _SIDE_BY_SIDE):
        some = numbers[start : start + _SIDE_BY_SIDE]
        fields: Fields = {}
        async for index, page, last in hash_pages(redis, [layout.memory(view.key, each) for each in some]):
            fields.update(page)
            if last:
                found = BucketRows(some[index])
                sort_in(found, fields.items(), view.version)
                yield found
                fields = {}


def sort_in(found: BucketRows, fields: Iterable[tuple[bytes, bytes | None]], version: int) -> None:
    """Put memory rows and shift rows into their places; rows behind `version` are left out."""
    for name, value in fields:
        if value is None:
            continue
        try:
            row = checked_row(value)
            if row.offset > version:
                continue
            if row.kind is Kind.SHIFT:
                found.shifts[name[1:]] = row.body
            elif row.kind is not Kind.ERASED:  # what stands for an erased memory is none
                found.memories.append(StoredMemory(name, row.offset, *MemoryRow.decode(row.body)))
        except RowError:
            found.broken += 1


async def marker_rows(redis: Redis, layout: Layout) -> AsyncIterator[Mapping[bytes, bytes]]:
    """All marker rows of a partition by row key, some at a time."""
    async for _, fields, _ in hash_pages(redis, [layout.erased]):
        yield {ERASED_PREFIX + name: row for name, row in fields.items()}


async def agent_keys(redis: Redis, layout: Layout, limit: int) -> AsyncIterator[list[bytes]]:
    """All agent keys of a partition, tenant by tenant, at most `limit` at a time."""
    tenants: list[bytes] = sorted(await call(redis, "HKEYS", layout.tenants))
    for tenant in tenants:
        low = b"-"
        while True:
            command = ("ZRANGEBYLEX", layout.agents(tenant), low, "+", "LIMIT", 0, limit)
            names: list[bytes] = await call(redis, *command)
            if names:
                yield [tenant + b"/" + name for name in names]
            if len(names) < limit:
                break
            low = b"(" + names[-1]


async def agent_heads(redis: Redis, layout: Layout) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
    """All agents of a partition, some at a time: key, and the row `agent` as it is stored."""
    async for keys in agent_keys(redis, layout, PAGE):
        rows = await pipeline(redis, [("HGET", layout.agent(key), AGENT) for key in keys])
        yield list(zip(keys, rows, strict=True))


async def every_row(redis: Redis, layout: Layout, keys: Sequence[bytes]) -> dict[bytes, Fields]:
    """All rows of these agents by row key, whatever they say and whatever version they are of."""
    commands: list[tuple[bytes | str, ...]] = []
    for key in keys:
        commands += [("HGETALL", layout.agent(key)), ("HKEYS", layout.buckets(key))]
    answers = await pipeline(redis, commands)
    found: dict[bytes, Fields] = {}
    places: list[tuple[bytes, int]] = []
    for key, small, numbers in zip(keys, answers[::2], answers[1::2], strict=True):
        found[key] = {row_key(key, suffix): row for suffix, row in small.items() if _is_row(suffix)}
        places += [(key, int(number)) for number in sorted(numbers)]
    for start in range(0, len(places), _SIDE_BY_SIDE):
        some = places[start : start + _SIDE_BY_SIDE]
        async for index, fields, _ in hash_pages(redis, [layout.memory(*place) for place in some]):
            key, bucket = some[index]
            found[key].update((row_key(key, dated_suffix(bucket, name)), row) for name, row in fields.items())
    return found


def _is_row(suffix: bytes) -> bool:
    try:
        kind_of(suffix)
    except RowError:
        return False
    return True


def dated_suffix(bucket: int, name: bytes) -> bytes:
    """Suffix of the row in this field of a bucket."""
    return shift_suffix(bucket, name[1:]) if len(name) == _SHIFT_FIELD else memory_suffix(bucket, name)


async def whole_agents(
    redis: Redis, layout: Layout, source: int, small: Sequence[tuple[bytes, Fields, list[bytes]]]
) -> list[ScannedAgent]:
    """Add the memories to agents whose small rows were read together. Agents without the row `agent` are gone."""
    found = [
        ScannedAgent(key, {row_key(key, suffix): row for suffix, row in rows.items()}, source) for key, rows, _ in small
    ]
    places = [
        (each, int(number)) for each, (_, _, numbers) in zip(found, small, strict=True) for number in sorted(numbers)
    ]
    keys = [layout.memory(each.key, bucket) for each, bucket in places]
    for start in range(0, len(keys), _SIDE_BY_SIDE * 4):
        async for index, fields, _ in hash_pages(redis, keys[start : start + _SIDE_BY_SIDE * 4]):
            each, bucket = places[start + index]
            _add(each, bucket, fields)
    return [each for each in found if row_key(each.key, AGENT) in each.rows]


def _add(agent: ScannedAgent, bucket: int, fields: Fields) -> None:
    """Take the rows of a page that the agent's version covers; bytes too short for a header are kept as they are."""
    head = agent.rows.get(row_key(agent.key, AGENT))
    version = row_offset(head) if head is not None and len(head) >= HEADER.size else 0
    for name, row in fields.items():
        if len(row) >= HEADER.size and row_offset(row) > version:
            continue
        agent.rows[row_key(agent.key, dated_suffix(bucket, name))] = row
