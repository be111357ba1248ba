"""Read side of the table `state`: agents at one log position, memories in pages, whole partitions for checks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from moodstream.schemas.errors import NotFound, Restoring, Rewritten
from moodstream.schemas.identity import agent_key, decode_id, encode_id, hash_id, partition_of
from moodstream.schemas.profile import ProfileValues
from moodstream.state import scanning
from moodstream.state.connection import call, connect, ping, pipeline, reported
from moodstream.state.layout import Layout, format_key
from moodstream.state.rows import AGENT, BUCKET_SECONDS, erased_key, hash_key, maker_of
from moodstream.state.views import (
    RESTORING,
    AgentEntry,
    AgentFacts,
    AgentView,
    BucketRows,
    KnownFolds,
    PartitionMeta,
    ScannedAgent,
    StateFormat,
    checked_row,
)
from moodstream.state.workers import WorkerReport, read_reports

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.state.settings import StateSettings

T = TypeVar("T")

_NO_MEMORY = "this agent has no such memory"
RESTORE_WAIT = 1.0
"""How long a read waits for a restore to end, seconds."""
_POLL = 0.05
_SCAN_AGENTS = 64
_PAGE_AGENTS = 256
_READINGS = 3


class StateReader:
    """Reads what the workers write. Never writes, keeps no state but what never changes of a deployment."""

    def __init__(self, settings: StateSettings, client: Redis | None = None) -> None:
        self.settings = settings
        self._redis = connect(settings) if client is None else client
        self._partitions = 0
        self._profiles: Mapping[bytes, ProfileValues] = {}

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def ping(self) -> None:
        """Ask whether Redis answers. Raises `StoreUnavailable`."""
        async with reported(self.settings.address):
            await ping(self._redis)

    async def format(self) -> StateFormat | None:
        """Read the description of the deployment; None before a worker has written one."""
        async with reported(self.settings.address):
            raw = await call(self._redis, "HGETALL", format_key(self.settings.prefix))
        return StateFormat.of(raw) if raw else None

    async def partitions(self) -> int:
        """Number of partitions, read once. Raises `Restoring` when there is no state yet."""
        if not self._partitions:
            found = await self.format()
            if found is None or not found.partitions:
                raise Restoring(f"Redis at {self.settings.address} holds no state yet: has a worker been started?")
            self._partitions = found.partitions
        return self._partitions

    async def folds(self) -> KnownFolds:
        """The folds that workers have declared. Raises `StoreUnavailable`."""
        async with reported(self.settings.address):
            return KnownFolds.of(await call(self._redis, "HGETALL", format_key(self.settings.prefix)))

    async def default_profile(self, stamp: bytes) -> ProfileValues:
        """The profile of agents that never set one, by the fold with this stamp. Raises `Restoring` if nobody knows it.

        Only a Redis that has lost everything, and got rows of an older fold back, does not; they will be rebuilt.
        """
        if stamp not in self._profiles:
            self._profiles = (await self.folds()).profiles
        if stamp not in self._profiles:
            raise Restoring(f"a row was written by a fold that no worker has declared ({stamp.hex()})")
        return self._profiles[stamp]

    async def partition_meta(self, partition: int) -> PartitionMeta | None:
        """Positions and counts of a partition; None when no worker has acquired it yet."""
        async with reported(self.settings.address):
            return PartitionMeta.of(partition, await call(self._redis, "HGETALL", self._layout(partition).meta))

    async def workers(self) -> list[WorkerReport]:
        """What the workers said of themselves last. Raises `StoreUnavailable`."""
        return await read_reports(self._redis, self.settings)

    async def agent(
        self, tenant: str, agent: str, suffixes: Sequence[bytes] = (), *, buckets: bool = False
    ) -> AgentView:
        """Read rows of one agent at one log position, the row `agent` always among them.

        Waits up to a second for a restore. Raises `NotFound`, `Restoring`, `StoreUnavailable`.
        """
        key = agent_key(tenant, agent)
        layout = self._layout(partition_of(key, await self.partitions()))
        wanted = tuple(dict.fromkeys((AGENT, *suffixes)))
        meta, values, marker, numbers = await self._settled(layout, key, wanted, buckets)
        rows = {suffix: checked_row(value) for suffix, value in zip(wanted, values, strict=True) if value is not None}
        if AGENT not in rows:
            raise NotFound("this tenant has no such agent")
        profile = await self.default_profile(rows[AGENT].stamp)
        return AgentView(tenant, agent, key, meta, rows, profile, tuple(sorted(map(int, numbers))), marker)

    async def memories(
        self, view: AgentView, since_us: int | None = None, until_us: int | None = None, *, newest_first: bool = True
    ) -> AsyncIterator[BucketRows]:
        """Read memories bucket by bucket, up to the view's version, for since <= time < until of whole buckets.

        The view must have been read with `buckets=True`. Rows are not cut at the bounds themselves.
        Raises `Restoring` or `Rewritten` at the end, as `confirm` does.
        """
        layout = self._layout(view.meta.partition)
        numbers = _between(view.buckets, since_us, until_us)
        async with reported(self.settings.address):
            scan = scanning.buckets(self._redis, layout, view, numbers[::-1] if newest_first else numbers)
            async for found in scan:
                yield found
        await self.confirm(view)

    async def memory(self, view: AgentView, event_id: str) -> BucketRows:
        """Read one memory and its shift row by its event's id. Raises `NotFound`."""
        found = await self.stored(view, hash_id(event_id))
        if found.memories[0].content.event_id != event_id:
            raise NotFound(_NO_MEMORY)
        return found

    async def stored(self, view: AgentView, ident: bytes) -> BucketRows:
        """Read one memory and its shift row by H(event_id). Raises `NotFound`."""
        layout = self._layout(view.meta.partition)
        found = BucketRows(0)
        async with reported(self.settings.address):
            entry = await call(self._redis, "HGET", layout.ids(view.key), ident)
            if entry is not None:
                place = layout.memory(view.key, int(entry))
                fields = (ident, b"s" + ident)
                values = await call(self._redis, "HMGET", place, *fields)
                scanning.sort_in(found, zip(fields, values, strict=True), view.version)
        if not found.memories:
            await self.confirm(view)
            raise NotFound(_NO_MEMORY)
        return found

    async def suffixes(self, view: AgentView) -> list[bytes]:
        """Which rows the agent has, besides those of its buckets: also those of pairs."""
        found: list[bytes] = []
        async with reported(self.settings.address):
            pages = scanning.hash_pages(self._redis, [self._layout(view.meta.partition).agent(view.key)])
            async for _, fields, _ in pages:
                found += fields
        return sorted(set(found))

    async def count(self, view: AgentView) -> int:
        """How many memories the agent has; those that were erased by their id are counted too."""
        async with reported(self.settings.address):
            found: int = await call(self._redis, "HLEN", self._layout(view.meta.partition).ids(view.key))
        return found

    async def confirm(self, view: AgentView) -> None:
        """Refuse what was read in steps if rows went meanwhile. Raises `Restoring` or `Rewritten` (see `steadily`).

        A partition has lost rows when it is restoring, or lies behind what the view saw. An agent has when something
        of it was erased, or all of it made anew: new rows alone are told by their version.
        """
        layout = self._layout(view.meta.partition)
        async with reported(self.settings.address):
            raw, marker, head = await pipeline(
                self._redis,
                [
                    ("HGETALL", layout.meta),
                    ("HGET", layout.erased, hash_key(view.key)),
                    ("HGET", layout.agent(view.key), AGENT),
                ],
            )
        meta = PartitionMeta.of(layout.partition, raw)
        if meta is None or meta.state == RESTORING or meta.source < view.meta.source:
            raise Restoring(f"partition {layout.partition} was restored while it was read: ask again")
        if marker != view.marker or _maker(head) != view.rows[AGENT].maker:
            raise Rewritten("some of the agent's rows were erased or made anew while it was read")

    async def agents(self, tenant: str, after: str | None = None, limit: int = 100) -> list[AgentEntry]:
        """List a tenant's agents in byte order of their encoded ids, those behind `after`, merged over partitions.

        Raises `Restoring` while a partition does not know all of its agents.
        """
        low = b"-" if after is None else b"(" + encode_id(after).encode()
        found: list[AgentEntry] = []
        while len(found) < limit:
            names, entries = await self._entries(encode_id(tenant).encode(), low, wanted := limit - len(found))
            found += entries
            if len(names) < wanted:
                break
            low = b"(" + names[-1]
        return found

    async def _entries(self, enc_tenant: bytes, low: bytes, limit: int) -> tuple[list[bytes], list[AgentEntry]]:
        """Names behind `low`, and the lines of those agents that have not been erased meanwhile."""
        layouts = [self._layout(number) for number in range(await self.partitions())]
        async with reported(self.settings.address):
            commands = [("ZRANGEBYLEX", each.agents(enc_tenant), low, "+", "LIMIT", 0, limit) for each in layouts]
            lists = await pipeline(self._redis, commands)
            merged = [(name, each) for each, names in zip(layouts, lists, strict=True) for name in names]
            page = sorted(merged, key=lambda pair: pair[0])[:limit]
            rows = [("HGET", each.agent(enc_tenant + b"/" + name), AGENT) for name, each in page]
            answers = await pipeline(self._redis, [*[("HGETALL", each.meta) for each in layouts], *rows], atomic=True)
        metas = [
            _ready(PartitionMeta.of(each.partition, raw), each) for each, raw in zip(layouts, answers, strict=False)
        ]
        lines = zip(page, answers[len(layouts) :], strict=True)
        entries = [_entry(name, row, metas[each.partition]) for (name, each), row in lines if row is not None]
        return [name for name, _ in page], entries

    async def count_agents(self, tenant: str) -> int:
        """How many agents a tenant has. Raises `Restoring` while a partition does not know all of its agents."""
        return sum(known for _, known in await self._counts(encode_id(tenant).encode()))

    async def rows_of(self, tenant: str, suffixes: Sequence[bytes], most: int) -> AsyncIterator[list[AgentView]]:
        """Read rows of many agents of a tenant: at most `most`, page by page, partition by partition.

        The agents of a page are read together, at one position of the log. Raises `Restoring` as `count_agents`.
        """
        enc_tenant = encode_id(tenant).encode()
        for layout, known in await self._counts(enc_tenant):
            low, more = b"-", known > 0
            while more and most > 0:
                names, page = await self._page(layout, enc_tenant, low, min(most, _PAGE_AGENTS), suffixes)
                yield page
                low, more = b"(" + (names[-1] if names else b""), len(names) == _PAGE_AGENTS
                most -= len(names)

    async def _counts(self, enc_tenant: bytes) -> list[tuple[Layout, int]]:
        layouts = [self._layout(number) for number in range(await self.partitions())]
        async with reported(self.settings.address):
            metas = [("HGETALL", each.meta) for each in layouts]
            counts = [("ZCARD", each.agents(enc_tenant)) for each in layouts]
            answers = await pipeline(self._redis, [*metas, *counts])
        for raw, each in zip(answers, layouts, strict=False):
            _ready(PartitionMeta.of(each.partition, raw), each)
        return list(zip(layouts, answers[len(layouts) :], strict=True))

    async def _page(
        self, layout: Layout, enc_tenant: bytes, low: bytes, limit: int, suffixes: Sequence[bytes]
    ) -> tuple[list[bytes], list[AgentView]]:
        """Names behind `low`, and the rows of those agents."""
        wanted = tuple(dict.fromkeys((AGENT, *suffixes)))
        async with reported(self.settings.address):
            command = ("ZRANGEBYLEX", layout.agents(enc_tenant), low, "+", "LIMIT", 0, limit)
            names: list[bytes] = await call(self._redis, *command)
            keys = [enc_tenant + b"/" + name for name in names]
            commands: list[tuple[bytes | str, ...]] = [("HGETALL", layout.meta)]
            commands += [("HMGET", layout.agent(key), *wanted) for key in keys]
            raw, *answers = await pipeline(self._redis, commands, atomic=True)
        meta = _ready(PartitionMeta.of(layout.partition, raw), layout)
        tenant, page = decode_id(enc_tenant.decode()), []
        for name, key, values in zip(names, keys, answers, strict=True):
            rows = {suffix: checked_row(row) for suffix, row in zip(wanted, values, strict=True) if row is not None}
            if AGENT in rows:
                profile = await self.default_profile(rows[AGENT].stamp)
                page.append(AgentView(tenant, decode_id(name.decode()), key, meta, rows, profile))
        return names, page

    async def head(self, partition: int, key: bytes) -> bytes | None:
        """The row `agent` as it is stored, damaged or not; None when there is none."""
        async with reported(self.settings.address):
            row: bytes | None = await call(self._redis, "HGET", self._layout(partition).agent(key), AGENT)
            return row

    async def heads(self, partition: int) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
        """All agents of a partition, some at a time: key, and the row `agent` as it is stored."""
        layout = self._layout(partition)
        async with reported(self.settings.address):
            async for page in scanning.agent_heads(self._redis, layout):
                yield page

    async def scan_partition(self, partition: int) -> AsyncIterator[ScannedAgent]:
        """All agents of a partition with all their rows, for audits and for publishing the rows anew.

        An agent's small rows are read at one moment with the position of the log; its memories follow in pages,
        up to the version read there. Raises `Restoring`.
        """
        layout = self._layout(partition)
        async with reported(self.settings.address):
            async for keys in scanning.agent_keys(self._redis, layout, _SCAN_AGENTS):
                for found in await self._scan_agents(layout, keys):
                    yield found

    async def tenants(self) -> list[str]:
        """All tenants that have an agent, sorted: for operators. Raises `Restoring` before there is any state."""
        layouts = [self._layout(number) for number in range(await self.partitions())]
        async with reported(self.settings.address):
            found = await pipeline(self._redis, [("HKEYS", each.tenants) for each in layouts])
        return sorted({decode_id(name.decode()) for names in found for name in names})

    async def markers(self, partition: int) -> dict[bytes, bytes]:
        """The marker rows of a partition by row key: also those of agents that are no more."""
        found: dict[bytes, bytes] = {}
        async with reported(self.settings.address):
            async for rows in scanning.marker_rows(self._redis, self._layout(partition)):
                found.update(rows)
        return found

    async def _scan_agents(self, layout: Layout, keys: Sequence[bytes]) -> list[ScannedAgent]:
        """Read agents whole; again those of which rows were erased, or made anew, while they were read."""
        found: list[ScannedAgent] = []
        while keys:
            read, before = await self._scan_once(layout, keys)
            after = dict(zip(keys, await self._rewritten(layout, keys), strict=True))
            found += [one for one in read if before[one.key] == after[one.key]]
            keys = [key for key in keys if before[key] != after[key]]
        return found

    async def _scan_once(
        self, layout: Layout, keys: Sequence[bytes]
    ) -> tuple[list[ScannedAgent], dict[bytes, tuple[bytes | None, bytes | None]]]:
        """Agents, and of each what changes where not only rows are added (`_rewritten`)."""
        commands: list[tuple[bytes | str, ...]] = [("HGETALL", layout.meta)]
        for key in keys:
            commands += [("HGETALL", layout.agent(key)), ("HKEYS", layout.buckets(key))]
        commands.append(("HMGET", layout.erased, *map(hash_key, keys)))
        raw, *answers, markers = await pipeline(self._redis, commands, atomic=True)
        meta = _ready(PartitionMeta.of(layout.partition, raw), layout)
        small = list(zip(keys, answers[::2], answers[1::2], strict=True))
        found = await scanning.whole_agents(self._redis, layout, meta.source, small)
        marked = dict(zip(keys, markers, strict=True))
        for one in found:
            if (marker := marked[one.key]) is not None:
                one.rows[erased_key(one.key)] = marker
        return found, {key: (marked[key], _maker(rows.get(AGENT))) for key, rows, _ in small}

    async def _rewritten(self, layout: Layout, keys: Sequence[bytes]) -> list[tuple[bytes | None, bytes | None]]:
        """The marker rows of agents, and the folds that made them: one of these changes where rows are deleted."""
        commands: list[tuple[bytes | str, ...]] = [("HMGET", layout.erased, *map(hash_key, keys))]
        commands += [("HGET", layout.agent(key), AGENT) for key in keys]
        markers, *rows = await pipeline(self._redis, commands)
        return list(zip(markers, map(_maker, rows), strict=True))

    async def _settled(
        self, layout: Layout, key: bytes, suffixes: Sequence[bytes], buckets: bool
    ) -> tuple[PartitionMeta, Sequence[bytes | None], bytes | None, Iterable[bytes]]:
        """Read until the partition is not restoring, for a second at most."""
        deadline = asyncio.get_running_loop().time() + RESTORE_WAIT
        commands: list[tuple[bytes | str, ...]] = [("HGETALL", layout.meta), ("HMGET", layout.agent(key), *suffixes)]
        commands.append(("HGET", layout.erased, hash_key(key)))
        if buckets:
            commands.append(("HKEYS", layout.buckets(key)))
        while True:
            async with reported(self.settings.address):
                raw, values, marker, *rest = await pipeline(self._redis, commands, atomic=True)
            meta = PartitionMeta.of(layout.partition, raw)
            if meta is not None and meta.state != RESTORING:
                return meta, values, marker, rest[0] if rest else ()
            if asyncio.get_running_loop().time() >= deadline:
                self._partitions = 0
                _ready(meta, layout)
            await asyncio.sleep(_POLL)

    def _layout(self, partition: int) -> Layout:
        return Layout(self.settings.prefix, partition)


async def steadily(read: Callable[[], Awaitable[T]]) -> T:
    """Do a read of several steps, again where an agent was rewritten meanwhile. Raises `Rewritten` the third time."""
    for _ in range(_READINGS - 1):
        with suppress(Rewritten):
            return await read()
    return await read()


def _maker(row: bytes | None) -> bytes | None:
    return None if row is None else maker_of(row)


def _between(buckets: Sequence[int], since_us: int | None, until_us: int | None) -> list[int]:
    width = BUCKET_SECONDS * 1_000_000
    low = None if since_us is None else since_us // width
    high = None if until_us is None else (until_us - 1) // width
    return [each for each in buckets if (low is None or each >= low) and (high is None or each <= high)]


def _entry(name: bytes, data: bytes, meta: PartitionMeta) -> AgentEntry:
    row = checked_row(data)
    facts = AgentFacts.unpack(row.body)
    return AgentEntry(decode_id(name.decode()), row.offset, facts, meta.partition, meta.source)


def _ready(meta: PartitionMeta | None, layout: Layout) -> PartitionMeta:
    if meta is None:
        raise Restoring(f"partition {layout.partition} has no state yet: no worker has taken it over")
    if meta.state == RESTORING:
        raise Restoring(f"partition {layout.partition} is being restored from the changelog")
    return meta
