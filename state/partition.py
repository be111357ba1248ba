"""One partition's keys in Redis, through the three scripts: waits while Redis is away, stops when refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgpack
import stamina
from redis import exceptions as redis_errors
from redis.asyncio import Redis

from moodstream.schemas.errors import Fenced, StateLost
from moodstream.state.connection import pipeline
from moodstream.state.layout import Layout
from moodstream.state.operations import operations
from moodstream.state.scanning import PAGE as PAGE_FIELDS
from moodstream.state.scanning import agent_heads, agent_keys, every_row, marker_rows, whole_agents
from moodstream.state.scripts import ACQUIRE, APPLY, LOAD, PAGE

_SCAN_AGENTS = 64

_AWAY = (
    redis_errors.ConnectionError,
    redis_errors.TimeoutError,
    OSError,
    redis_errors.OutOfMemoryError,
    redis_errors.ReadOnlyError,
    redis_errors.ClusterError,
    redis_errors.RedisClusterException,
    redis_errors.TryAgainError,
    redis_errors.AskError,
)
"""In a cluster also: a slot on its way from one node to another, one without a node, no node that answers."""

_AWAY_CODES = ("BUSY", "MISCONF", "NOREPLICAS")
"""Answers of a Redis that will take the same call later; the client takes the codes that it knows off the text."""


class Wanted(NamedTuple):
    """Fields of one hash to read."""

    key: bytes
    fields: Sequence[bytes]


class Page(NamedTuple):
    """A part of a hash: the cursor of the next part, 0 at the end, fields, and how many the hash has."""

    cursor: int
    fields: dict[bytes, bytes]
    size: int


class PartitionState(Protocol):
    """What the ownership of a partition needs of its state; a fake in tests, `RedisPartition` in life."""

    async def acquire(self, token: bytes, fence: int, incarnation: bytes, worker: str) -> dict[str, bytes]:
        """Take the partition; give its meta as it was. Raises `Fenced` when a younger claim holds it."""
        ...

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        """Read under the fence. Raises `Fenced`, or `StateLost` when Redis does not stand at `at`."""
        ...

    async def page(self, token: bytes, at: bytes, key: bytes, cursor: int) -> Page:
        """Read a part of a hash under the fence. Same errors."""
        ...

    async def apply(
        self,
        token: bytes,
        before: bytes,
        after: bytes,
        rows: Mapping[bytes, bytes | None],
        meta: Mapping[str, object],
    ) -> None:
        """Write rows and meta, and move the changelog position, together or not at all. Same errors."""
        ...

    def scan(self) -> AsyncIterator[Mapping[bytes, bytes]]:
        """Give all rows, some at a time, by row key."""
        ...

    def heads(self) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
        """Give all agents, some at a time: key, and the row `agent`."""
        ...

    async def whole(self, keys: Sequence[bytes]) -> dict[bytes, dict[bytes, bytes]]:
        """Give all rows of these agents, damaged ones too: by row key, by agent key. Marker rows are not among them."""
        ...


class RedisPartition:
    """The keys of one partition. `on_wait` hears why it waits, and None when it goes on; `held` may tell it to wait."""

    def __init__(
        self,
        redis: Redis,
        layout: Layout,
        on_wait: Callable[[str | None], None] = lambda reason: None,
        held: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.layout = layout
        self._held = held
        self._redis = redis
        self._on_wait = on_wait
        self._acquire = redis.register_script(ACQUIRE)
        self._load = redis.register_script(LOAD)
        self._page = redis.register_script(PAGE)
        self._apply = redis.register_script(APPLY)

    async def acquire(self, token: bytes, fence: int, incarnation: bytes, worker: str) -> dict[str, bytes]:
        """Take the partition; give its meta as it was. Raises `Fenced` when a younger claim holds it."""
        flat = await self._call(self._acquire, [self.layout.meta], [token, fence, incarnation, worker])
        return {flat[i].decode(): flat[i + 1] for i in range(0, len(flat), 2)}

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        """Read under the fence; one list of values per wanted hash."""
        fields = _packed([one.fields for one in wanted])
        flat = await self._call(self._load, [self.layout.meta, *(one.key for one in wanted)], [token, at, fields])
        values, i = [], 0
        for one in wanted:
            values.append(flat[i : i + len(one.fields)])
            i += len(one.fields)
        return values

    async def page(self, token: bytes, at: bytes, key: bytes, cursor: int) -> Page:
        """Read a part of a hash under the fence. A field may come twice, in different pages."""
        arguments = [token, at, b"%d" % cursor, b"%d" % PAGE_FIELDS]
        following, flat, size = await self._call(self._page, [self.layout.meta, key], arguments)
        return Page(int(following), dict(zip(flat[::2], flat[1::2], strict=True)), size)

    async def apply(
        self,
        token: bytes,
        before: bytes,
        after: bytes,
        rows: Mapping[bytes, bytes | None],
        meta: Mapping[str, object],
    ) -> None:
        """Write rows and meta, and move the changelog position, together or not at all."""
        planned = operations(self.layout, rows)
        keys = [self.layout.meta, *(operation.key for operation in planned)]
        facts = _packed([part for name, value in meta.items() for part in (name, _text(value))])
        changes = _packed([(operation.op, operation.arguments) for operation in planned])
        await self._call(self._apply, keys, [token, before, after, facts, changes])

    async def scan(self) -> AsyncIterator[Mapping[bytes, bytes]]:
        """Give all rows, an agent at a time, by row key. For the owner alone: nobody else writes meanwhile."""
        async for keys in agent_keys(self._redis, self.layout, _SCAN_AGENTS):
            commands: list[tuple[bytes | str, ...]] = []
            for key in keys:
                commands += [("HGETALL", self.layout.agent(key)), ("HKEYS", self.layout.buckets(key))]
            answers = await pipeline(self._redis, commands)
            small = list(zip(keys, answers[::2], answers[1::2], strict=True))
            for found in await whole_agents(self._redis, self.layout, 0, small):
                yield found.rows
        async for markers in marker_rows(self._redis, self.layout):
            yield markers

    def heads(self) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
        """Give all agents, some at a time: key, and the row `agent`. For the owner alone."""
        return agent_heads(self._redis, self.layout)

    async def whole(self, keys: Sequence[bytes]) -> dict[bytes, dict[bytes, bytes]]:
        """Give all rows of these agents, damaged ones too: by row key, by agent key. For the owner alone."""
        return await every_row(self._redis, self.layout, keys)

    async def _call(self, script: Any, keys: list[bytes], arguments: list[Any]) -> Any:  # noqa: ANN401 - as the script answers
        """Run a script; wait as long as Redis is away. Safe to repeat: each script compares before it writes."""
        async for attempt in stamina.retry_context(
            on=_is_away, attempts=None, timeout=None, wait_initial=0.05, wait_max=1.0
        ):
            with attempt:
                try:
                    self._check_held()
                    answer = await script(keys=keys, args=arguments)
                except (redis_errors.RedisError, redis_errors.RedisClusterException) as error:
                    _refuse(error)
                    self._on_wait(f"Redis: {error}")
                    raise
                if attempt.num > 1:
                    self._on_wait(None)
                return answer
        raise AssertionError  # the loop ends only by return or raise

    def _check_held(self) -> None:
        reason = self._held()
        if reason is not None:
            raise _Held(reason)


class _Held(redis_errors.ConnectionError):
    """Redis could be reached, but must not be."""


def _packed(lists: Sequence[object]) -> bytes:
    """Lists of bytes as one argument of a script. Redis reads the old MessagePack, which has no type for bytes."""
    packed: bytes = msgpack.packb(lists, use_bin_type=False)
    return packed


def _text(value: object) -> bytes:
    """A value of meta as Redis shall keep it."""
    return value if isinstance(value, bytes) else str(value).encode()


def _is_away(error: Exception) -> bool:
    if isinstance(error, _AWAY):
        return not isinstance(error, redis_errors.AuthenticationError)
    return isinstance(error, redis_errors.ResponseError) and _code(error) in _AWAY_CODES


def _code(error: Exception) -> str:
    return str(error).partition(" ")[0].removesuffix(":")


def _refuse(error: Exception) -> None:
    """Turn the fence's answers into our errors."""
    code = _code(error)
    if code == "FENCED":
        raise Fenced(f"another worker holds this partition: {error}") from error
    if code == "DIVERGED":
        raise StateLost(f"Redis no longer stands where this worker left it: {error}") from error
