"""From rows to Redis operations: one place knows which keys a row touches (docs/rows.md, "In Redis")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from moodstream.state.layout import Layout
from moodstream.state.rows import AGENT, Kind, bucket_and_id, kind_of, split_row_key


class Operation(NamedTuple):
    """One command of the script `APPLY`, by its letter there."""

    key: bytes
    op: bytes
    arguments: list[bytes]


class _Plan:
    """Collects operations per key, so that a chunk costs one command a key."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.sets: dict[bytes, list[bytes]] = defaultdict(list)
        self.members: dict[bytes, list[bytes]] = defaultdict(list)
        self._dated: dict[tuple[bytes, int], tuple[bytes, bytes]] = {}
        """Agent and bucket to the keys of its memories and ids: formatted once."""

    def put(self, row_key: bytes, row: bytes) -> None:
        """Plan to write a row and what is derived from it."""
        agent, suffix = split_row_key(row_key)
        kind = kind_of(suffix)
        if kind is Kind.MEMORY or kind is Kind.SHIFT:
            self._put_dated(agent, suffix, kind, row)
            return
        if kind is Kind.ERASED:
            key, field = self.layout.place(row_key)
            self.sets[key] += (field, row)
            return
        self.sets[self.layout.agent(agent)] += (suffix, row)
        if kind is Kind.AGENT:
            tenant, _, name = agent.partition(b"/")
            self.sets[self.layout.tenants] += (tenant, b"")
            self.members[self.layout.agents(tenant)].append(name)

    def _put_dated(self, agent: bytes, suffix: bytes, kind: Kind, row: bytes) -> None:
        bucket, ident = bucket_and_id(suffix)
        hashes = self._dated.get((agent, bucket))
        if hashes is None:
            hashes = self._dated[agent, bucket] = self.layout.memory(agent, bucket), self.layout.ids(agent)
            self.sets[self.layout.buckets(agent)] += (b"%d" % bucket, b"")
        if kind is Kind.SHIFT:
            self.sets[hashes[0]] += (b"s" + ident, row)
            return
        self.sets[hashes[0]] += (ident, row)
        self.sets[hashes[1]] += (ident, b"%d" % bucket)

    def operations(self) -> Iterator[Operation]:
        """What was planned."""
        for key, arguments in self.sets.items():
            yield Operation(key, b"s", arguments)
        for key, arguments in self.members.items():
            yield Operation(key, b"z", arguments)


class _Deletion:
    """Collects what is deleted. An agent whose row `agent` goes leaves nothing: its hashes go whole.

    That is so because nothing but an erasure deletes that row, together with all others; rows that are written in the
    same call are those of its next life.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.fields: dict[bytes, list[bytes]] = defaultdict(list)
        self.buckets: dict[bytes, set[int]] = defaultdict(set)
        """Agent to buckets of which a row is deleted."""
        self.gone: set[bytes] = set()

    def drop(self, row_key: bytes) -> None:
        """Plan to delete a row and what is derived from it."""
        agent, suffix = split_row_key(row_key)
        kind = kind_of(suffix)
        if kind is Kind.MEMORY or kind is Kind.SHIFT:
            self.buckets[agent].add(bucket_and_id(suffix)[0])
        if agent in self.gone:
            return
        key, field = self.layout.place(row_key)
        self.fields[key].append(field)
        if kind is Kind.MEMORY:
            self.fields[self.layout.ids(agent)].append(bucket_and_id(suffix)[1])

    def before(self) -> Iterator[Operation]:
        """What comes before new rows are written."""
        layout = self.layout
        for agent in self.gone:
            for key in (layout.agent(agent), layout.ids(agent), layout.buckets(agent)):
                yield Operation(key, b"u", [])
            for bucket in self.buckets[agent]:
                yield Operation(layout.memory(agent, bucket), b"u", [])
        for key, fields in self.fields.items():
            yield Operation(key, b"d", fields)

    def after(self) -> Iterator[Operation]:
        """What depends on whether something is left."""
        layout = self.layout
        for agent, buckets in self.buckets.items():
            if agent not in self.gone:
                for bucket in buckets:
                    yield Operation(layout.memory(agent, bucket), b"t", [])
                    yield Operation(layout.buckets(agent), b"c", [b"%d" % bucket])
        tenants: dict[bytes, list[bytes]] = defaultdict(list)
        for agent in self.gone:
            tenant, _, name = agent.partition(b"/")
            tenants[tenant].append(name)
        for tenant, names in tenants.items():
            yield Operation(layout.agents(tenant), b"r", names)
            yield Operation(layout.agents(tenant), b"t", [])
            yield Operation(layout.tenants, b"c", [tenant])


def operations(layout: Layout, rows: Mapping[bytes, bytes | None]) -> list[Operation]:
    """Give the operations that make these rows the state; None deletes a row."""
    plan, deletion = _Plan(layout), _Deletion(layout)
    dropped = [row_key for row_key, row in rows.items() if row is None] if None in rows.values() else []
    deletion.gone.update(agent for agent, suffix in map(split_row_key, dropped) if suffix == AGENT)
    for row_key in dropped:
        deletion.drop(row_key)
    for row_key, row in rows.items():
        if row is not None:
            plan.put(row_key, row)
    return [*deletion.before(), *plan.operations(), *deletion.after()]
