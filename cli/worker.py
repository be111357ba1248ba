"""`moodstream worker`: fold events into state, until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import structlog
import typer

from moodstream.cli.extras import needs
from moodstream.cli.logs import configure
from moodstream.cli.options import Bootstrap
from moodstream.cli.settings import load
from moodstream.schemas.errors import BrokerUnavailable, Fenced, MoodstreamError, SourceGap, StateLost, StoreUnavailable

if TYPE_CHECKING:
    from moodstream.cli.settings import Settings

log = structlog.get_logger(__name__)

_RESTARTS: Final = "MOODSTREAM_RESTARTS"
"""Variable that counts the restarts since the process was last well, so that a broken one does not spin."""
_PASSING: Final = (BrokerUnavailable, StoreUnavailable, Fenced, StateLost, SourceGap)
_WELL_SECONDS: Final = 60.0
_LONGEST_PAUSE: Final = 15.0
_CUT_OFF: Final = 12.0
"""Seconds after the signal at which a stop that does not end is cut off: what was in hand is read again."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("worker")(worker)


def worker(
    bootstrap: Bootstrap = None,
    redis: Annotated[
        str | None, typer.Option("--redis", metavar="URL", help="URL of the Redis that holds the state.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name in logs and readiness.")] = None,
) -> None:
    """Fold events into state until SIGINT or SIGTERM. Start as many workers as you like, at most one per partition.

    A worker that loses its partitions, its Redis or its broker starts itself again and goes on where the state stands.
    """
    settings = load(streams={"bootstrap": bootstrap}, state={"url": redis}, worker={"name": name})
    configure(settings.log_level)
    began = time.monotonic()
    try:
        with needs("worker"):
            _work(settings)
    except MoodstreamError as error:
        if not isinstance(error, _PASSING) or (
            _restarts() == 0 and isinstance(error, BrokerUnavailable | StoreUnavailable)
        ):
            raise
        _start_again(error, well=time.monotonic() - began > _WELL_SECONDS)
    except Exception as error:
        log.exception("worker failed")
        _start_again(error, well=time.monotonic() - began > _WELL_SECONDS)


def _work(settings: Settings) -> None:
    import uvloop

    from moodstream.agents.worker import Worker

    gc.collect()
    gc.freeze()  # what is imported by now stays; the collector need not look at it again
    gc.set_threshold(50_000, 20, 50)  # a chunk makes many objects, and hardly any cycle

    async def main() -> None:
        one = Worker(settings.streams, settings.state, settings.worker)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop, one.stop)
        await one.run()

    uvloop.run(main())
    os._exit(0)  # threads of the clients may still wait for a broker that is gone


def _stop(stop: object) -> None:
    """Ask for the end, and cut it off if it does not come."""
    log.info("stopping")
    stop()  # type: ignore[operator]
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _CUT_OFF)


def _restarts() -> int:
    return int(os.environ.get(_RESTARTS, "0"))


def _start_again(error: Exception, *, well: bool) -> NoReturn:
    """Replace this process by a new one of itself, after a pause that grows while it keeps failing."""
    count = 1 if well else _restarts() + 1
    pause = min(0.25 * 2 ** (count - 1), _LONGEST_PAUSE)
    log.warning("starts again", reason=str(error), seconds=pause, restarts=count)
    time.sleep(pause)
    os.environ[_RESTARTS] = str(count)
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "moodstream", *sys.argv[1:]])  # noqa: S606 - it is this program
