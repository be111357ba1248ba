"""`moodstream up`: broker, Valkey, one worker and the query service, on loopback, in one terminal."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from moodstream.cli import embedded, ports
from moodstream.cli.children import ChildEnded, Family, Stopped
from moodstream.cli.embedded import House
from moodstream.cli.options import Json
from moodstream.cli.output import messages, write_json
from moodstream.cli.readiness import idle, unready
from moodstream.cli.settings import LOOPBACK, Settings, load

_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 2.0
_PATIENCE_SECONDS = 5.0
_PYTHON_SECONDS = 5.5
_SERVER_SECONDS = 2.0
"""How long the parts may take to end: together under 10 s, kills included."""


def register(app: typer.Typer) -> None:
    """Add the command `up`."""
    app.command()(up)


def up(
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Keep what Valkey holds, and the logs, in this folder.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Play a small story of two agents and show their moods.")
    ] = False,
    broker_port: Annotated[int | None, typer.Option("--broker-port", help="Port of the broker.")] = None,
    redis_port: Annotated[int | None, typer.Option("--redis-port", help="Port of Valkey.")] = None,
    http_port: Annotated[int | None, typer.Option("--http-port", help="Port of the query service.")] = None,
    json: Json = False,
) -> None:
    """Run everything here: embedded broker, Valkey, a worker and the query service. Ctrl-C ends it.

    The embedded broker keeps its log in memory: it is gone when this command ends.
    """
    settings = load(up={"broker_port": broker_port, "redis_port": redis_port, "http_port": http_port})
    check_ports(settings)
    with _folder(data) as folder:
        house = House(settings.up, folder, keep=data is not None)
        code = asyncio.run(_Run(house, embedded.settings_of(house, settings), json).until_the_end(demo))
    if code:
        raise typer.Exit(code)


def check_ports(settings: Settings) -> None:
    """Raise `PortInUse` before anything has started."""
    wanted = (
        ports.Wanted("the broker", settings.up.broker_port, "--broker-port"),
        ports.Wanted("Valkey", settings.up.redis_port, "--redis-port"),
        ports.Wanted("the query service", settings.up.http_port, "--http-port"),
    )
    ports.check_free(wanted)


@contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    if data is None:
        with TemporaryDirectory(prefix="moodstream-") as folder:
            yield Path(folder)
        return
    data.mkdir(parents=True, exist_ok=True)
    yield data.absolute()


class _Run:
    """One `moodstream up` from start to end."""

    def __init__(self, house: House, settings: Settings, json: bool) -> None:
        self.house = house
        self.settings = settings
        self.json = json
        self.console = messages()
        self.family = Family()

    async def until_the_end(self, demo: bool) -> int:
        """Run until a signal (exit code 0) or until a part ends by itself (1)."""
        self._listen()
        try:
            await self._start()
            self._announce()
            if demo:
                await self._demo()
            await self.family.forever()
        except Stopped:
            self.console.print("ending")
            return 0
        except ChildEnded as ended:
            self._mourn(ended)
            return 1
        finally:
            python = (embedded.WORKER, embedded.SERVICE)
            await self.family.end(first=python, first_seconds=_PYTHON_SECONDS, rest_seconds=_SERVER_SECONDS)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.family.stop.set)

    async def _start(self) -> None:
        house, family = self.house, self.family
        await family.start(embedded.broker(house))
        await family.start(embedded.valkey(house))
        await family.during(asyncio.gather(self._valkey(), self._topics()))
        begun = time.time()
        await family.start(embedded.worker(house))
        await family.start(embedded.service(house))
        await family.during(self._until(lambda: asyncio.to_thread(unready, house.ports.http_port)))
        if house.keep:
            await family.during(self._taken_over(begun))

    async def _topics(self) -> None:
        from moodstream.streams import topics

        await topics.create(self.settings.streams)

    async def _valkey(self) -> None:
        """Wait until Valkey answers: after a start with much data it listens first and loads then."""
        while not await _pongs(self.house.ports.redis_port):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(_POLL_SECONDS)

    async def _taken_over(self, begun: float) -> None:
        from moodstream.state.reader import StateReader

        reader = StateReader(self.settings.state)
        try:
            await self._until(lambda: idle(reader, begun, self.settings.streams.partitions))
        finally:
            await reader.close()

    async def _until(self, ask: Callable[[], Awaitable[str | None]]) -> None:
        """Wait until nothing is missing; say what is when that takes long."""
        said, begun = "", time.monotonic()
        while (reason := await ask()) is not None:
            if reason != said and time.monotonic() - begun > _PATIENCE_SECONDS:
                self.console.print(f"waiting: {reason} (logs in {self.house.folder})", soft_wrap=True)
                said = reason
            await asyncio.sleep(_POLL_SECONDS)

    def _announce(self) -> None:
        house = self.house
        if self.json:
            kept = str(house.folder) if house.keep else None
            write_json({"url": house.url, "bootstrap": house.bootstrap, "redis": house.redis_url, "data": kept})
            return
        kept = f"kept in {house.folder}" if house.keep else "temporary, --data DIR keeps it"
        self.console.print(f"broker   {house.bootstrap}  embedded: keeps nothing over a restart")
        self.console.print(f"state    {house.redis_url}  Valkey: {kept}", soft_wrap=True)
        self.console.print("Ctrl-C ends all. The query service is ready at")
        typer.echo(house.url)

    async def _demo(self) -> None:
        from moodstream.cli.demo import play

        await self.family.during(play(self.settings, self.house.url))

    def _mourn(self, ended: ChildEnded) -> None:
        child = ended.child
        self.console.print(f"{ended}. Its last lines:", style="bold red")
        for line in child.last_lines():
            self.console.print(f"  {line}", markup=False, soft_wrap=True)
        self.console.print("Everything else is ended too.")


async def _pongs(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    try:
        writer.write(b"PING\r\n")
        return await asyncio.wait_for(reader.readline(), _ANSWER_SECONDS) == b"+PONG\r\n"
    except OSError:
        return False
    finally:
        writer.close()
