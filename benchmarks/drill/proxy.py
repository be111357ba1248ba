"""A TCP proxy that can refuse, cut, delay, swallow, and tear a connection in the middle of what it carries."""

from __future__ import annotations

import asyncio
from contextlib import suppress

_READ = 1 << 16
REQUEST, ANSWER = "request", "answer"
"""Directions: from the client to the server, and back."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """Carries connections from its own port to `upstream`, a port of the loopback, which may be changed."""

    def __init__(self, upstream: int, port: int = 0) -> None:
        self.upstream = upstream
        self.port = port
        self.refuses = False
        """New connections are closed at once."""
        self.swallows = False
        """Requests and answers disappear, while the connections stay."""
        self.delay = 0.0
        """Seconds that each piece waits."""
        self.torn = 0
        self._tears: dict[str, int] = {}
        self._links: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Cut everything and listen no more."""
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._links, return_exceptions=True)

    def cut(self) -> None:
        """Reset all connections."""
        for writer in self._writers:
            writer.transport.abort()

    def tear(self, direction: str) -> None:
        """Let only half of the next piece in this direction through, and reset its connection."""
        self._tears[direction] = self._tears.get(direction, 0) + 1

    def heal(self) -> None:
        """Do no more harm."""
        self.refuses = self.swallows = False
        self.delay = 0.0
        self._tears.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the server made one
        self._links.add(task)
        task.add_done_callback(self._links.discard)
        if self.refuses:
            writer.transport.abort()
            return
        try:
            there = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.transport.abort()
            return
        await self._link((reader, writer), there)

    async def _link(self, client: Stream, server: Stream) -> None:
        """Carry both directions until one of them ends."""
        writers = {client[1], server[1]}
        self._writers |= writers
        pumps = {
            asyncio.ensure_future(self._pump(client[0], server[1], REQUEST)),
            asyncio.ensure_future(self._pump(server[0], client[1], ANSWER)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            self._writers -= writers
            for writer in writers:
                writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: str) -> None:
        with suppress(OSError):
            while piece := await reader.read(_READ):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if self.swallows:
                    continue
                if self._tears.get(direction):
                    await self._tear(piece, writer, direction)
                    return
                writer.write(piece)
                await writer.drain()

    async def _tear(self, piece: bytes, writer: asyncio.StreamWriter, direction: str) -> None:
        self._tears[direction] -= 1
        self.torn += 1
        writer.write(piece[: len(piece) // 2])
        await writer.drain()
