"""`moodstream worker`: fold events into state, until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import structlog
import typer

from moodstream.cli.extras import needs
from moodstream.cli.logs import configure
from moodstream.cli.options import Bootstrap
from moodstream.cli.restarts import is_away, may_start_again, start_again
from moodstream.cli.settings import load
from moodstream.schemas.errors import MoodstreamError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from moodstream.agents.worker import Worker

log = structlog.get_logger(__name__)

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS: Final = 4.0
"""How long the end may take beyond the stop of the app."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("worker")(worker)


def worker(
    bootstrap: Bootstrap = None,
    redis: Annotated[
        str | None, typer.Option("--redis", metavar="URL", help="URL of the Redis that holds the state.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name in logs and readiness.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Write the log as JSON lines; errors become problem objects.")
    ] = False,
) -> None:
    """Fold events into state until SIGINT or SIGTERM. Start as many workers as you like, at most one per partition.

    A worker that loses its partitions, its Redis or its broker starts itself again and goes on where the state stands.
    """
    settings = load(streams={"bootstrap": bootstrap}, state={"url": redis}, worker={"name": name})
    configure(settings.log_level, as_json=json or None)
    with needs("worker"):
        import uvloop

        from moodstream.agents.worker import Worker
    _work(Worker(settings.streams, settings.state, settings.worker, settings.fold.fold), uvloop.new_event_loop)


def _work(one: Worker, loop_factory: Callable[[], AbstractEventLoop]) -> NoReturn:
    """Run a worker to its end, which is also that of this process: in this program, or in a new one of it."""
    started = time.monotonic()
    try:
        _run(one, loop_factory)
    except Exception as error:
        again = may_start_again(error, began=one.began, seconds=time.monotonic() - started)
        if not isinstance(error, MoodstreamError) and not is_away(error):
            log.exception("worker failed")
        if again:
            start_again(error)
        _cut_off(one, code=1)  # threads of the clients may still wait for a broker that is gone
        raise
    os._exit(0)


def _run(one: Worker, loop_factory: Callable[[], AbstractEventLoop]) -> None:
    gc.collect()
    gc.freeze()  # what is imported by now stays; the collector need not look at it again
    gc.set_threshold(50_000, 20, 50)  # a chunk makes many objects, and hardly any cycle

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, _stop, one)
        try:
            await one.run()
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    # Not closed: that would wait for tasks of Faust that do not mind being cancelled.
    asyncio.Runner(loop_factory=loop_factory).run(main())


def _stop(one: Worker) -> None:
    """Ask for the end, and cut it off if it does not come: what was in hand is read again."""
    log.info("stopping")
    one.stop()
    _cut_off(one, code=0)


def _cut_off(one: Worker, code: int) -> None:
    """End this process after some seconds, whatever it does then."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(code))
    signal.setitimer(signal.ITIMER_REAL, one.settings.stop_seconds + _GRACE_SECONDS)
