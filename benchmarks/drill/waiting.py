"""Waiting beside a loop that has to go on: proxies, publisher and readers live in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from support.servers import Server
from support.waiting import eventually


async def spawn(*servers: Server, seconds: float = 60) -> None:
    """Start servers and return when all accept connections."""
    for server in servers:
        server.spawn()  # from this thread: the child is to end with its parent, which to Linux is a thread
    for server in servers:
        await eventually(server.ready, seconds=seconds, what=f"{server.name} on port {server.port}")


async def end(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """End what runs beside; an error that had ended it before is raised.

    Told again and again: where a cancellation meets a timeout, some clients take the one for the other.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=1.0)
    for task in tasks:
        if not task.cancelled():
            task.result()
