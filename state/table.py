"""The Redis store of the Faust table `state`.

Faust hands it the partitions; each becomes an `Ownership`. Writes go through the ownership, a chunk at a time, and not
through the table's mapping: a row set on its own could not be fenced together with its neighbours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import structlog
from faust.stores import STORES
from faust.stores.base import SerializedStore
from faust.types import TP

from moodstream.affect.params import Fold
from moodstream.schemas.changelog import ChangelogLog, Position
from moodstream.schemas.errors import Fenced, InvalidSettings, StoreUnavailable
from moodstream.state.connection import call, connect, reported
from moodstream.state.deployment import Home, check_deployment, check_policy, declare_fold
from moodstream.state.layout import Layout
from moodstream.state.neighbours import refuse_neighbours
from moodstream.state.ownership import Ownership, Phase
from moodstream.state.partition import RedisPartition
from moodstream.state.settings import StateSettings

log = structlog.get_logger(__name__)


class Lives(NamedTuple):
    """On which broker a deployment lives: its address, and who can tell what it is."""

    broker: str
    home: Callable[[], Awaitable[Home]]


_SIDE_BY_SIDE: Final = 4
"""Partitions that restore at the same time."""
_PAUSE_SECONDS: Final = 0.5
_WRITE: Final = "rows are written a chunk at a time, through Ownership.flush"
_READ: Final = "rows are read through Ownership.load by their owner, through moodstream.state.reader by everybody else"


STORE_URL: Final = "redis://"
"""What Faust is told: it only chooses the class by it. `bind` says where Redis is."""


async def _nothing(one: Ownership) -> None:
    """Leave the rows as they are."""


def register() -> None:
    """Tell Faust about the store."""
    STORES.aliases["redis"] = "moodstream.state.table:RedisTableStore"


class RedisTableStore(SerializedStore):  # type: ignore[misc]
    """Store of the table: ownerships of partitions by number. `bind` gives it what Faust cannot."""

    def bind(
        self,
        settings: StateSettings,
        changelog: ChangelogLog,
        worker: str,
        fold: Fold,
        lives: Lives,
        on_wait: Callable[[str | None], None] = lambda reason: None,
        upgrade: Callable[[Ownership], Awaitable[None]] = _nothing,
    ) -> None:
        """Give the store its settings, its changelog, who the worker is, who hears why it waits, and who replaces the
        rows of older folds.
        """
        self._settings = settings
        self._changelog = changelog
        self._worker = worker
        self._fold = fold
        self._lives = lives
        self._on_wait = on_wait
        self._upgrade = upgrade
        self.held: str | None = None
        """Why nothing may be read or written just now, if so."""
        self._owned: dict[int, Ownership] = {}
        self._redis = connect(settings)

    # -- ownership

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Let go of everything, and note what is assigned now. Quick: no heartbeat is sent meanwhile."""
        self.close_all()
        mine = {tp.partition for tp in assigned if tp.topic == self.table.changelog_topic_name}
        self._owned = {partition: self._ownership(partition) for partition in sorted(mine)}

    async def open(self) -> None:
        """Claim and restore what is assigned; waits for a Redis that is away, and raises what an acquire raises.

        Giving up here would take the worker out of its group, and the others through one more rebalance.
        """
        await self._check()
        turn = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def acquire(one: Ownership) -> None:
            async with turn:
                await one.acquire()
                await self._upgrade(one)

        try:
            async with asyncio.TaskGroup() as group:
                for one in self._owned.values():
                    group.create_task(acquire(one))
        except ExceptionGroup as failed:
            first = failed.exceptions[0]  # one reason is enough to stop for
            raise first from first.__cause__

    async def _check(self) -> None:
        """Check, as soon as Redis answers, that it may still hold this deployment."""
        home = await self._lives.home()

        async def check() -> None:
            await check_deployment(self._redis, self._settings, self.app.conf.topic_partitions, home)
            await declare_fold(self._redis, self._settings, self._fold, starting=False)

        await self._patiently(check)

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step that may be repeated as soon as Redis answers."""
        waited = False
        while True:
            try:
                await step()
            except StoreUnavailable as error:
                waited = True
                self._on_wait(error.detail)
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if waited:
                self._on_wait(None)
            return

    def owned(self, partition: int) -> Ownership:
        """The ownership of a partition; raises `Fenced` when the worker does not have it."""
        found = self._owned.get(partition)
        if found is None:
            raise Fenced(f"partition {partition} is not assigned to this worker")
        return found

    def phases(self) -> dict[int, Phase]:
        """Where each assigned partition stands."""
        return {partition: one.phase for partition, one in self._owned.items()}

    def progress(self) -> dict[int, dict[str, float]]:
        """How far the partitions are that restore or upgrade just now: `Progress.facts`."""
        return {
            partition: one.progress.facts()
            for partition, one in self._owned.items()
            if one.phase in (Phase.RESTORING, Phase.UPGRADING) and one.progress is not None
        }

    def position(self, partition: int) -> Position:
        """Where the state of a partition stands."""
        return self.owned(partition).position

    def close_all(self) -> None:
        """Let go of all partitions."""
        for one in self._owned.values():
            one.close()

    async def on_stop(self) -> None:
        """Let go of all partitions and of the connections."""
        self.close_all()
        await self._redis.aclose()

    def _ownership(self, partition: int) -> Ownership:
        layout = Layout(self._settings.prefix, partition)
        state = RedisPartition(self._redis, layout, self._on_wait, lambda: self.held)
        check = partial(self._check_log, layout)
        return Ownership(partition, layout, self._changelog, state, self._worker, check)

    async def _check_log(self, layout: Layout, incarnation: bytes) -> None:
        """Take the rows of another log over only where that log's workers are gone."""

        async def check() -> None:
            async with reported(self._settings.address):
                known = await call(self._redis, "HGET", layout.meta, "incarnation")
            if known not in (None, incarnation):
                await refuse_neighbours(self._redis, self._settings, self._lives.broker)

        await self._patiently(check)

    async def check_held(self) -> str | None:
        """See whether Redis may have begun to evict; while it may, every call waits. Gives the reason.

        Raises `StoreUnavailable`.
        """
        try:
            await check_policy(self._redis, self._settings)
        except InvalidSettings as error:
            self.held = f"{error.detail}. {error.hint}"
        else:
            self.held = None
        return self.held

    # -- what Faust's recovery asks; it does not read the changelog (streams/recovery.py)

    def persisted_offset(self, tp: TP) -> int | None:
        """Nothing for Faust to recover."""
        return None

    def apply_changelog_batch(
        self, batch: Iterable[Any], to_key: Callable[..., Any], to_value: Callable[..., Any]
    ) -> None:
        """Refuse: the store restores itself."""
        raise NotImplementedError("the store restores itself")

    async def backup_partition(self, tp: TP | int, flush: bool = True, purge: bool = False, keep: int = 1) -> None:
        """Refuse: Redis has its own backups, and the changelog restores all."""
        raise NotImplementedError("back up Redis itself; the changelog restores what it lost")

    def restore_backup(self, tp: TP | int, latest: bool = True, backup_id: int = 0) -> None:
        """Refuse, as `backup_partition`."""
        raise NotImplementedError("restore Redis itself; the changelog restores what it lost")

    # -- the table as a mapping: refused. A blocking read would stop the loop, a single write could not be fenced.

    def _get(self, key: bytes) -> bytes | None:
        raise NotImplementedError(_READ)

    def _contains(self, key: bytes) -> bool:
        raise NotImplementedError(_READ)

    def _set(self, key: bytes, value: bytes | None) -> None:
        raise NotImplementedError(_WRITE)

    def _del(self, key: bytes) -> None:
        raise NotImplementedError(_WRITE)

    def _clear(self) -> None:
        raise NotImplementedError(_WRITE)

    def _iteritems(self) -> Iterator[tuple[bytes, bytes]]:
        raise NotImplementedError(_READ)

    def _iterkeys(self) -> Iterator[bytes]:
        raise NotImplementedError(_READ)

    def _itervalues(self) -> Iterator[bytes]:
        raise NotImplementedError(_READ)

    def _size(self) -> int:
        raise NotImplementedError(_READ)

    def reset_state(self) -> None:
        """Keep everything: the state is the point."""
