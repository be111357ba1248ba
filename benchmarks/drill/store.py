"""The Redis of a round: a primary behind a proxy, and for some faults a replica behind it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from drill.proxy import Proxy
from drill.waiting import spawn
from support import commands
from support.servers import Server
from support.waiting import eventually


class Store:
    """Workers and the query service reach Redis through `proxy`; the drill asks `current` directly."""

    def __init__(self, folder: Path, *, replicated: bool) -> None:
        self.folder = folder
        self._replicated = replicated
        self.current = self._made("redis")
        self.replica: Server | None = None
        self.proxy = Proxy(self.current.port)
        self._to_replica = Proxy(self.current.port)

    def _made(self, name: str) -> Server:
        place = self.folder / name
        place.mkdir(parents=True)
        return commands.redis(place)

    @property
    def url(self) -> str:
        """The address for workers and the query service."""
        return f"redis://127.0.0.1:{self.proxy.port}/0"

    @property
    def direct(self) -> str:
        """The address of whoever is the primary now."""
        return f"redis://127.0.0.1:{self.current.port}/0"

    async def start(self) -> None:
        """Start the primary, and its replica where a fault needs one."""
        await self.proxy.start()
        await spawn(self.current)
        if self._replicated:
            self.replica = self._made("replica")
            await self._to_replica.start()
            await spawn(self.replica)
            await self.ask("CONFIG", "SET", "repl-diskless-sync-delay", 0)  # it waits for more replicas otherwise
            await self._ask(self.replica, "REPLICAOF", "127.0.0.1", self._to_replica.port)
            await eventually(self._linked, what="a replica that follows")

    async def stop(self) -> None:
        """End all of it."""
        for server in (self.current, self.replica):
            if server is not None and server.process is not None:
                server.kill()
        await self.proxy.stop()
        await self._to_replica.stop()

    async def ask(self, *command: str | int) -> Any:  # noqa: ANN401 - as Redis answers
        """Send a command to the primary."""
        return await self._ask(self.current, *command)

    async def restart(self, seconds: float, *, empty: bool) -> None:
        """Kill the primary, and start it again after some time, perhaps without its data."""
        self.current.kill()
        await asyncio.sleep(seconds)
        if empty:
            shutil.rmtree(self.current.log.parent / "appendonlydir")
        await spawn(self.current)
        await eventually(self._loaded, what="a Redis that has loaded its file")

    async def fail_over(self, seconds: float) -> None:
        """Let the replica miss the last seconds, kill the primary, and promote the replica."""
        if self.replica is None:
            raise RuntimeError("this round has no replica")
        self._to_replica.swallows = True
        await asyncio.sleep(seconds)
        self.current.kill()
        await self._to_replica.stop()
        self.current, self.replica = self.replica, None
        await self.ask("REPLICAOF", "NO", "ONE")
        self.proxy.upstream = self.current.port
        self.proxy.cut()

    async def _linked(self) -> bool:
        found = await self._ask(self.replica or self.current, "INFO", "replication")
        return bool(found.get("master_link_status") == "up")

    async def _loaded(self) -> bool:
        try:
            return bool((await self.ask("INFO", "persistence")).get("loading") == 0)
        except RedisError:
            return False

    async def _ask(self, server: Server, *command: str | int) -> Any:  # noqa: ANN401 - as Redis answers
        async with Redis(port=server.port, socket_timeout=5) as redis:
            return await redis.execute_command(*command)
