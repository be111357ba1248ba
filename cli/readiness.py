"""When `moodstream up` is ready: the query service says so, and the worker that was just started has everything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from moodstream.cli.settings import LOOPBACK
from moodstream.schemas.errors import StoreUnavailable

if TYPE_CHECKING:
    from moodstream.state.reader import StateReader
    from moodstream.state.workers import WorkerReport

_ANSWER_SECONDS = 2.0
_READY = "ready"


def unready(port: int) -> str | None:
    """Ask `/readyz`; None when it is ready, else the reason why not."""
    connection = HTTPConnection(LOOPBACK, port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, HTTPException):
        return "the query service does not answer yet"
    finally:
        connection.close()
    return None if answer.status == HTTPStatus.OK else _first_reason(body)


def _first_reason(body: bytes) -> str:
    try:
        checks = json.loads(body)["checks"]
        return next(f"{check['name']}: {check['reason']}" for check in checks if not check["ok"])
    except (ValueError, KeyError, TypeError, StopIteration):
        return "the query service is not ready"


async def idle(reader: StateReader, since: float, partitions: int) -> str | None:
    """Tell what a worker started at `since` (Unix time, seconds) has yet to do; None when it has taken over.

    A Redis with the rows of an earlier run looks ready before the new worker has written them to the new log.
    """
    try:
        return unfinished(await reader.workers(), since, partitions)
    except StoreUnavailable as error:
        return error.detail


def unfinished(reports: Sequence[WorkerReport], since: float, partitions: int) -> str | None:
    """Tell from the reports of workers what `idle` tells."""
    phases = [phase for report in reports if report.at >= since for phase in report.phases.values()]
    done = phases.count(_READY)
    return None if done >= partitions else f"the worker has taken {done} of {partitions} partitions"
