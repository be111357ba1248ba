"""The proxy: what it carries, and each harm that it can do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from drill.proxy import ANSWER, REQUEST, Proxy, Stream


class Echo:
    """A server that sends back what it gets, and remembers it."""

    def __init__(self) -> None:
        self.got = b""
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(1000):
                self.got += piece
                writer.write(piece)
                await writer.drain()
        writer.transport.abort()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    server = Echo()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def proxy(echo: Echo) -> AsyncIterator[Proxy]:
    one = Proxy(echo.port)
    await one.start()
    yield one
    await one.stop()


@asynccontextmanager
async def connected(proxy: Proxy) -> AsyncIterator[Stream]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def told(stream: Stream, data: bytes) -> bytes:
    """What comes back until nothing more does, or the connection is gone."""
    reader, writer = stream
    writer.write(data)
    found = b""
    with suppress(OSError):
        while len(found) < len(data) and (piece := await reader.read(1000)):
            found += piece
    return found


async def asked(proxy: Proxy, data: bytes) -> bytes:
    async with connected(proxy) as stream:
        return await told(stream, data)


async def closed(stream: Stream) -> bool:
    with suppress(OSError):
        return await stream[0].read(1) == b""
    return True


async def test_carries_both_ways(proxy: Proxy) -> None:
    assert await asked(proxy, b"hello") == b"hello"


async def test_cuts_and_takes_new_connections(proxy: Proxy) -> None:
    async with connected(proxy) as stream:
        assert await told(stream, b"hello") == b"hello"
        proxy.cut()
        assert await closed(stream)
    assert await asked(proxy, b"again") == b"again"


async def test_refuses_until_it_is_healed(proxy: Proxy) -> None:
    proxy.refuses = True
    async with connected(proxy) as stream:
        assert await closed(stream)
    proxy.heal()
    assert await asked(proxy, b"again") == b"again"


async def test_tears_a_request_in_the_middle_once(proxy: Proxy, echo: Echo) -> None:
    proxy.tear(REQUEST)
    assert await asked(proxy, b"12345678") in (b"", b"1234")
    assert echo.got == b"1234"
    assert await asked(proxy, b"again") == b"again"
    assert proxy.torn == 1


async def test_tears_an_answer_after_the_server_has_the_whole_request(proxy: Proxy, echo: Echo) -> None:
    proxy.tear(ANSWER)
    assert await asked(proxy, b"12345678") in (b"", b"1234")
    assert echo.got == b"12345678"


async def test_swallows_and_keeps_the_connection(proxy: Proxy, echo: Echo) -> None:
    async with connected(proxy) as stream:
        assert await told(stream, b"hello") == b"hello"
        proxy.swallows = True
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(told(stream, b"lost"), 0.2)
        proxy.heal()
        assert await told(stream, b"there") == b"there"
    assert echo.got == b"hellothere"


async def test_delays_each_piece(proxy: Proxy) -> None:
    proxy.delay = 0.05
    begin = time.monotonic()
    assert await asked(proxy, b"hello") == b"hello"
    assert time.monotonic() - begin >= 0.1


async def test_leads_elsewhere_when_told(proxy: Proxy) -> None:
    other = Echo()
    await other.start()
    proxy.upstream = other.port
    assert await asked(proxy, b"hello") == b"hello"
    assert other.got == b"hello"
    await other.stop()


async def test_a_server_that_is_gone_closes_the_connection(proxy: Proxy) -> None:
    proxy.upstream = 1
    async with connected(proxy) as stream:
        assert await closed(stream)
