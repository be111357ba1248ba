"""Recovery of the table `state`: the store restores itself, then the sources resume. Faust's own reader is not used."""

from __future__ import annotations

from typing import Any

from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from mode import Service

from moodstream.schemas.errors import BrokerUnavailable


class StateRecovery(Recovery):  # type: ignore[misc]
    """After each rebalance: let every store open its partitions, then seek and resume the sources.

    Faust's recovery applies records by their own offsets and goes on after an interruption as if nothing were missing;
    the stores here read by position, under a fence (docs/durability.md). Heartbeats run meanwhile.
    """

    _rebalances = 0
    """Rebalances that had begun when the partitions in hand were assigned."""

    async def on_rebalance(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's types
        """Note which rebalance this is, and start."""
        self._rebalances = self.app.rebalancing_count
        await super().on_rebalance(*args, **kwargs)

    @Service.task  # type: ignore[untyped-decorator]
    async def _restart_recovery(self) -> None:
        while not self.should_stop:
            if await self.wait_for_stopped(self.signal_recovery_start):
                return
            self.signal_recovery_start.clear()
            try:
                await self._recover()
            except RebalanceAgain:
                continue
            except ServiceStopped:
                # Faust says this also when a seek takes too long: nobody would ever resume the sources.
                if not self.should_stop:
                    await self.app.crash(BrokerUnavailable("the broker did not answer while the sources were resumed"))
                return

    async def _recover(self) -> None:
        self._set_recovery_started()
        await self._wait(self._open_stores())
        self._set_recovery_ended()
        self._check_rebalance()
        await self._resume_streams(generation_id=self._generation_id)

    async def _open_stores(self) -> None:
        try:
            for table in self.tables.values():
                await table.data.open()
        except Exception:
            self._check_rebalance()
            raise

    def _check_rebalance(self) -> None:
        """Stop where the partitions in hand are being taken away: what fails then does not matter."""
        if self.app.rebalancing_count != self._rebalances:
            raise RebalanceAgain


class StateTableManager(TableManager):  # type: ignore[misc]
    """Faust's table manager with `StateRecovery`."""

    _recovery: Any = None

    @property
    def recovery(self) -> Any:  # noqa: ANN401 - Faust's types
        """The recovery service of this app."""
        if self._recovery is None:
            self._recovery = StateRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery
