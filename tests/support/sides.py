"""A log and a Redis that owners come to, one after the other, with faults at the edges of their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from moodstream.schemas.errors import BrokerUnavailable
from moodstream.state.ownership import Ownership
from moodstream.state.rows import Kind, pack_row
from support.fakes import FakeChangelog, FakePartition, Faults, Log, Store
from support.stepping import KEYS, LAYOUT, Rows, restored

K1, K2, K3, K4 = KEYS
STALE = b"0:stale"


def dead() -> None:
    """The call at this edge fails."""
    raise BrokerUnavailable("gone")


def row(text: str, offset: int = 0) -> bytes:
    return pack_row(Kind.MOOD, offset, text.encode(), b"\x01" * 8)


class Side:
    """Log and Redis, and owners that come one after the other."""

    def __init__(self) -> None:
        self.log = Log()
        self.store = Store()
        self.faults = Faults()

    def owner(self, batch: int = 1_000_000) -> Ownership:
        changelog = FakeChangelog(self.log, self.faults, batch)
        return Ownership(0, LAYOUT, changelog, FakePartition(self.store, LAYOUT, self.faults), "w")

    async def ready(self, batch: int = 1_000_000) -> Ownership:
        owner = self.owner(batch)
        await owner.acquire()
        return owner

    async def with_rows(self, batch: int = 1_000_000) -> Ownership:
        """An owner that has written two rows."""
        owner = await self.ready(batch)
        await write(owner, {K1: row("1"), K2: row("2")}, 2)
        return owner

    def tail(self, count: int) -> list[tuple[bytes, bytes | None]]:
        return [(record.key, record.value) for record in self.log.records[-count:]]

    def stale(self, key: bytes = K1) -> Callable[[], object]:
        """A stale writer's record lands."""
        return lambda: self.log.put(STALE, [(key, row("stale"))])

    def check(self, rows: Rows, source: int) -> None:
        """Log and Redis agree, compacted or not."""
        for _ in range(2):
            assert self.store.rows == rows
            assert restored(self.log.records)[0] == rows
            assert restored(self.log.records)[1].source == int(self.store.meta["source"]) == source
            self.log.compact(self.log.end, self.log.end)


async def write(owner: Ownership, rows: dict[bytes, bytes | None], source: int) -> None:
    position = replace(owner.position, source=source)
    await owner.append(rows, position)
    await owner.flush(rows, position)


@pytest.fixture
def side() -> Side:
    """Both empty."""
    return Side()
