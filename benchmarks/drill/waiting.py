"""Waiting beside a loop that has to go on: proxies, publisher and readers live in it."""

from __future__ import annotations

from support.servers import Server
from support.waiting import eventually


async def spawn(*servers: Server, seconds: float = 60) -> None:
    """Start servers and return when all accept connections."""
    for server in servers:
        server.spawn()  # from this thread: the child is to end with its parent, which to Linux is a thread
    for server in servers:
        await eventually(server.ready, seconds=seconds, what=f"{server.name} on port {server.port}")
