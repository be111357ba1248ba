"""Recovery of the table `state`: the store restores itself, then the sources resume. Faust's own reader is not used."""

from __future__ import annotations

import asyncio
from typing import Any

from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from mode import Service


class StateRecovery(Recovery):  # type: ignore[misc]
    """After each rebalance: let every store open its partitions, then seek and resume the sources.

    Faust's recovery applies records by their own offsets and goes on after an interruption as if nothing were missing;
    the stores here read by position, under a fence (docs/architecture.md). Heartbeats run meanwhile.
    """

    @Service.task  # type: ignore[untyped-decorator]
    async def _restart_recovery(self) -> None:
        while not self.should_stop:
            if await self.wait_for_stopped(self.signal_recovery_start):
                return
            self.signal_recovery_start.clear()
            try:
                self._set_recovery_started()
                await self._wait(self._open_stores())
                self._set_recovery_ended()
                await self._resume_streams(generation_id=self._generation_id)
            except RebalanceAgain:
                continue
            except ServiceStopped:
                return

    async def _open_stores(self) -> None:
        try:
            for table in self.tables.values():
                await table.data.open()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            await self.app.crash(error)
            raise


class StateTableManager(TableManager):  # type: ignore[misc]
    """Faust's table manager with `StateRecovery`."""

    _recovery: Any = None

    @property
    def recovery(self) -> Any:  # noqa: ANN401 - Faust's types
        """The recovery service of this app."""
        if self._recovery is None:
            self._recovery = StateRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery
