"""Recovery after a rebalance: stores open, sources resume; also with a rebalance in the middle, or a silent broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moodstream.schemas.errors import BrokerUnavailable, Fenced, StateLost
from moodstream.streams.app import create_app
from moodstream.streams.recovery import StateRecovery, StateTableManager
from moodstream.streams.settings import StreamSettings
from support.waiting import eventually


class Store:
    """Opens when told, or raises."""

    def __init__(self) -> None:
        self.opened = 0
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.error: Exception | None = None

    async def open(self) -> None:
        self.opened += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error


class Recovering:
    """A recovery whose store, and whose way back to the sources, are the test's."""

    def __init__(self, folder: Path) -> None:
        self.app = create_app(StreamSettings(), "memory://", str(folder))
        self.crashes: list[BaseException] = []
        self.app.on_crash = self.crashes.append
        self.store = Store()
        self.recovery: Any = self.app.tables.recovery
        self.recovery.tables = {"state": SimpleNamespace(data=self.store)}
        self.resumed: list[int] = []
        self.seek: Any = None
        """Awaited while the sources are resumed, with a time limit as Faust has one."""
        self.recovery._resume_streams = self._resume

    async def _resume(self, generation_id: int) -> None:
        if self.seek is not None:
            await self.recovery._wait(self.seek(), timeout=0.02)
        self.resumed.append(generation_id)

    def revoke(self) -> None:
        """A rebalance begins."""
        self.app.rebalancing_count += 1

    def assign(self) -> None:
        """It ends: recovery starts, as at the end of Faust's `on_rebalance`."""
        self.recovery._rebalances = self.app.rebalancing_count
        self.recovery._generation_id += 1
        self.recovery.signal_recovery_start.set()


@pytest.fixture
async def recovering(tmp_path: Path) -> AsyncIterator[Recovering]:
    one = Recovering(tmp_path)
    one.revoke()
    one.assign()
    task = asyncio.create_task(one.recovery._execute_task(one.recovery._restart_recovery.fun(one.recovery)))
    yield one
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_the_apps_tables_recover_this_way(tmp_path: Path) -> None:
    async def kinds() -> tuple[type, type]:
        app = create_app(StreamSettings(), "memory://", str(tmp_path))
        return type(app.tables), type(app.tables.recovery)

    assert asyncio.run(kinds()) == (StateTableManager, StateRecovery)


async def test_stores_open_before_the_sources_resume(recovering: Recovering) -> None:
    await eventually(lambda: recovering.store.opened)
    assert recovering.resumed == []
    assert recovering.app.in_recovery
    recovering.store.gate.set()
    await eventually(lambda: recovering.resumed == [1])
    assert not recovering.app.in_recovery


async def test_each_rebalance_opens_them_again(recovering: Recovering) -> None:
    recovering.store.gate.set()
    for number in (1, 2, 3):
        await eventually(lambda number=number: recovering.resumed[-1:] == [number])  # type: ignore[misc]
        recovering.revoke()
        recovering.assign()
    await eventually(lambda: recovering.store.opened == 4)


async def test_a_rebalance_while_stores_open_begins_anew(recovering: Recovering) -> None:
    await eventually(lambda: recovering.store.opened)
    recovering.revoke()
    recovering.assign()
    await eventually(lambda: recovering.store.opened == 2)
    assert recovering.store.cancelled == 1
    recovering.store.gate.set()
    await eventually(lambda: recovering.resumed == [2])
    assert recovering.crashes == []


async def test_what_fails_because_partitions_are_being_taken_away_is_no_crash(recovering: Recovering) -> None:
    await eventually(lambda: recovering.store.opened)
    recovering.revoke()
    recovering.store.error = Fenced("partition 0 cannot go from closed to restoring")
    recovering.store.gate.set()
    await asyncio.sleep(0.02)
    assert (recovering.crashes, recovering.resumed) == ([], [])
    recovering.store.error = None
    recovering.assign()
    await eventually(lambda: recovering.resumed == [2])


async def test_sources_are_not_resumed_while_partitions_are_being_taken_away(recovering: Recovering) -> None:
    await eventually(lambda: recovering.store.opened)
    recovering.revoke()
    recovering.store.gate.set()
    await asyncio.sleep(0.02)
    assert recovering.resumed == []
    recovering.assign()
    await eventually(lambda: recovering.resumed == [2])


async def test_a_store_that_cannot_open_ends_the_worker_with_the_reason(recovering: Recovering) -> None:
    await eventually(lambda: recovering.store.opened)
    lost = StateLost("the log was cut")
    recovering.store.error = lost
    recovering.store.gate.set()
    await eventually(lambda: recovering.crashes)
    assert recovering.crashes[0] is lost
    assert recovering.resumed == []


async def test_a_seek_that_fails_ends_the_worker_with_the_reason(recovering: Recovering) -> None:
    async def fail() -> None:
        raise StateLost("no position")

    recovering.seek = fail
    recovering.store.gate.set()
    await eventually(lambda: recovering.crashes)
    assert isinstance(recovering.crashes[0], StateLost)


async def test_a_broker_that_is_silent_while_sources_resume_ends_the_worker(recovering: Recovering) -> None:
    recovering.seek = asyncio.Event().wait
    recovering.store.gate.set()
    await eventually(lambda: recovering.crashes)
    assert isinstance(recovering.crashes[0], BrokerUnavailable)


async def test_a_stop_while_stores_open_is_no_crash(recovering: Recovering) -> None:
    await eventually(lambda: recovering.store.opened)
    recovering.recovery._stopped.set()
    await eventually(lambda: recovering.store.cancelled == 1)
    assert (recovering.crashes, recovering.resumed) == ([], [])


async def test_the_rebalance_that_counts_is_that_of_the_assignment(tmp_path: Path) -> None:
    one = Recovering(tmp_path)
    one.app.rebalancing_count = 7
    one.app.consumer_generation_id = 3
    await one.recovery.on_rebalance(set(), set(), set(), 2)  # of an older generation: Faust does nothing
    assert one.recovery._rebalances == 7
    assert not one.recovery.signal_recovery_start.is_set()
