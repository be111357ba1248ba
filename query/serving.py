"""The HTTP server of the service: ends cleanly on the first signal, at once on the second."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """Like its base, which would end the process by the signal again: here the caller goes on, with exit code 0."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop at a signal while the block runs."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
