"""From rows to Redis operations: one place knows which keys a row touches (docs/rows.md, "In Redis")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from moodstream.state.layout import Layout
from moodstream.state.rows import Kind, bucket_and_id, kind_of, split_row_key


class Operation(NamedTuple):
    """One command of the script `APPLY`: s sets fields, d deletes fields, z adds members."""

    key: bytes
    op: bytes
    arguments: list[bytes]


class _Plan:
    """Collects operations per key, so that a chunk costs one command a key."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.sets: dict[bytes, list[bytes]] = defaultdict(list)
        self.deletes: dict[bytes, list[bytes]] = defaultdict(list)
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

    def drop(self, row_key: bytes) -> None:
        """Plan to delete a row and what is derived from it."""
        agent, suffix = split_row_key(row_key)
        key, field = self.layout.place(row_key)
        self.deletes[key].append(field)
        if kind_of(suffix) is Kind.MEMORY:
            self.deletes[self.layout.ids(agent)].append(bucket_and_id(suffix)[1])


def operations(layout: Layout, rows: Mapping[bytes, bytes | None]) -> list[Operation]:
    """Give the operations that make these rows the state; None deletes a row."""
    plan = _Plan(layout)
    for row_key, row in rows.items():
        if row is None:
            plan.drop(row_key)
        else:
            plan.put(row_key, row)
    return [
        *(Operation(key, b"s", arguments) for key, arguments in plan.sets.items()),
        *(Operation(key, b"d", arguments) for key, arguments in plan.deletes.items()),
        *(Operation(key, b"z", arguments) for key, arguments in plan.members.items()),
    ]
