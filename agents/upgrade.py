"""What an owner does before it consumes, where rows of its partition were made by an older fold: it makes them anew.

Agents whose first event the log still has are folded again, in as few reads of the log as memory allows. For the others
an operator has to name a migration. Meanwhile readers get each agent as it was, or as it is now.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple

import structlog

from moodstream.affect.params import Fold, order_of
from moodstream.agents.agent_rows import AgentRows, other_fold
from moodstream.agents.heads import Head, batches
from moodstream.agents.migrations import MIGRATIONS, Migration
from moodstream.agents.rebuild import Rebuilder, Replaced
from moodstream.schemas.errors import FoldMismatch
from moodstream.state.progress import Progress
from moodstream.state.rows import maker_of

log = structlog.get_logger(__name__)

_AGAIN_AGENTS: Final = 256

Announce = Callable[[Sequence[AgentRows]], Awaitable[None]]


class _Found(NamedTuple):
    old: list[Head]
    own: list[bytes]


def _check(makers: Iterable[bytes], fold: Fold) -> None:
    for maker in makers:
        if maker != fold.maker and order_of(maker) >= fold.order:
            raise other_fold(maker, fold)


class Upgrade:
    """The upgrade of one partition. `allowed`: names of migrations; `announce` is given agents whose mood moved.

    `turn` is held while rows are made anew: that takes memory, so a worker does it for one partition after the other.
    """

    def __init__(
        self,
        rebuilder: Rebuilder,
        allowed: Sequence[str],
        announce: Announce,
        turn: AbstractAsyncContextManager[object],
    ) -> None:
        self._rebuilder = rebuilder
        self._owned = rebuilder.ownership
        self._fold = rebuilder.fold
        self._allowed = [MIGRATIONS[name] for name in allowed]
        self._announce = announce
        self._turn = turn
        self._progress = Progress(0, 0)

    async def run(self) -> None:
        """Leave no row of an older fold in the partition.

        Raises `FoldMismatch` for newer rows, and for older ones which the log does not cover and no migration may
        convert: then nothing has been changed.
        """
        makers = self._owned.makers
        _check(makers or (), self._fold)
        if makers is None or makers - {self._fold.maker}:
            found = await self._look()
            if found.old or (found.own and self._was_begun()):
                await self._upgrade(found)
        await self._owned.end_upgrade(self._fold.maker)

    def _was_begun(self) -> bool:
        """Whether another worker had begun: then perhaps nobody was told of the agents that it had replaced."""
        declared = self._owned.declared
        return declared is not None and declared != self._fold.maker

    async def _look(self) -> _Found:
        """Find the agents whose rows are old; refuse newer ones."""
        found = _Found([], [])
        async for page in self._owned.heads():
            for key, row in page:
                if row is None:
                    continue  # erased, or broken: there is nothing that tells its fold
                maker = maker_of(row)
                if maker == self._fold.maker:
                    found.own.append(key)
                else:
                    if len(maker) == len(self._fold.maker):
                        _check([maker], self._fold)
                    found.old.append(Head.of(key, row))
        return found

    async def _upgrade(self, found: _Found) -> None:
        self._owned.begin_upgrade()
        async with self._turn:
            await self._make(found)

    async def _make(self, found: _Found) -> None:
        start = await self._rebuilder.start()
        covered = [head for head in found.old if head.covered(start)]
        lost = [head for head in found.old if not head.covered(start)]
        plans = self._plans(lost)
        self._progress = self._owned.progress = Progress(0, len(found.old))
        log.info("upgrading", partition=self._owned.partition, agents=len(found.old), migrated=len(lost))
        if self._was_begun():
            await self._tell_again(found.own)
        for batch in batches(covered):
            first = min(start if head.first is None else head.first for head in batch)
            await self._finish(self._rebuilder.rebuild([head.key for head in batch], first))
        for migration, keys in plans:
            await self._finish(self._rebuilder.migrate(keys, migration))
        log.info("upgraded", partition=self._owned.partition, **self._progress.facts())

    async def _finish(self, replaced: AsyncIterator[list[Replaced]]) -> None:
        progress = self._progress
        async for done in replaced:
            await self._announce([one.agent for one in done if one.moved])
            progress.moved(max(progress.at, 0) + len(done), len(done))
            if progress.is_time():
                log.info("upgrading", partition=self._owned.partition, **progress.facts())

    async def _tell_again(self, keys: Sequence[bytes]) -> None:
        for at in range(0, len(keys), _AGAIN_AGENTS):
            await self._announce(await self._rebuilder.loaded(keys[at : at + _AGAIN_AGENTS]))

    def _plans(self, lost: Sequence[Head]) -> list[tuple[Migration, list[bytes]]]:
        """Which migration takes which agents; raises where none may."""
        plans: dict[str, list[bytes]] = {}
        stuck = 0
        for head in lost:
            name = next((one.name for one in self._allowed if one.fits(head.row)), None)
            if name is None:
                stuck += 1
            else:
                plans.setdefault(name, []).append(head.key)
        if stuck:
            raise FoldMismatch(
                f"{stuck} agents of partition {self._owned.partition} have rows of an older fold, and the log no "
                f"longer has all their events",
                hint='Keep their numbers and go on from there: worker.migrate = ["restamp"]. Or set the fold back to '
                "what it was (docs/upgrades.md).",
                partition=self._owned.partition,
                agents=stuck,
            )
        return [(MIGRATIONS[name], keys) for name, keys in plans.items()]
