"""`moodstream serve`: the query service, until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from moodstream.cli.extras import needs
from moodstream.cli.logs import configure
from moodstream.cli.settings import load
from moodstream.schemas.errors import InvalidSettings, PortInUse, StoreUnavailable

if TYPE_CHECKING:
    from moodstream.cli.settings import Settings
    from moodstream.query.settings import QuerySettings

log = structlog.get_logger(__name__)

_GRACE_SECONDS = 5
"""How long answers that are being given may take after the signal to stop."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Interface to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on, 0 for a free one.")] = None,
    redis: Annotated[
        str | None, typer.Option("--redis", metavar="URL", help="URL of the Redis that holds the state.")
    ] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Listen on other interfaces than loopback, open to everybody.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Write the log as JSON lines; errors become problem objects.")
    ] = False,
) -> None:
    """Answer questions over HTTP until SIGINT or SIGTERM. Reads Redis alone: no broker is needed."""
    settings = load(query={"host": host, "port": port, "insecure": insecure}, state={"url": redis})
    configure(settings.log_level, as_json=json or None)
    with needs("query"):
        asyncio.run(run(settings))


async def run(settings: Settings) -> None:
    """Serve until a signal. Raises `StoreUnavailable`, `PortInUse`, `InvalidSettings` before the first answer."""
    import uvicorn

    from moodstream.query.app import create_app
    from moodstream.query.serving import Server
    from moodstream.state.reader import StateReader

    reader = StateReader(settings.state)
    app = create_app(settings.query, reader)
    with listening_socket(settings.query) as sock:
        try:
            await reader.ping()
        except StoreUnavailable:
            await reader.close()
            raise
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=_GRACE_SECONDS
        )
        log.info("listening", url=url_of(sock))
        await Server(config).serve(sockets=[sock])


def listening_socket(settings: QuerySettings) -> socket.socket:
    """Bind the address. Raises `PortInUse`, or `InvalidSettings` for an address that is not this machine's."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, proto)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError as error:
        raise _unusable(settings, error) from error
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise _unusable(settings, error) from error
    return sock


def _unusable(settings: QuerySettings, error: OSError) -> InvalidSettings | PortInUse:
    place = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        hint = "Stop what listens there, or choose another port: --port, MOODSTREAM_QUERY__PORT."
        return PortInUse(f"port {settings.port} of {settings.host} is in use", hint=hint, port=settings.port)
    return InvalidSettings(f"the service cannot listen on {place}: {error.strerror or error}", setting="query.host")


def url_of(sock: socket.socket) -> str:
    """Where a bound socket can be reached."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
