"""When a worker that has failed starts itself again, and how long it pauses before."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from typing import Final, NoReturn

import structlog

from moodstream.schemas.errors import BrokerUnavailable, Fenced, MoodstreamError, SourceGap, StateLost, StoreUnavailable

log = structlog.get_logger(__name__)

RESTARTS: Final = "MOODSTREAM_RESTARTS"
"""Variable that counts the restarts since the process was last well: their pauses grow."""
FAILURES: Final = "MOODSTREAM_FAILURES"
"""Variable that counts those among them for a reason that may not pass."""

FEW: Final = 5
"""Restarts in a row for such a reason."""
WELL_SECONDS: Final = 60.0
"""A worker that has run for so long was well."""
_LONGEST_PAUSE: Final = 15.0

_AWAY: Final = (BrokerUnavailable, StoreUnavailable)
_PASSING: Final = (*_AWAY, Fenced, StateLost)
_CONNECTION: Final = (ConnectionError, TimeoutError, socket.gaierror)
_CLIENTS: Final = frozenset(
    {
        "redis.exceptions.ConnectionError",
        "redis.exceptions.TimeoutError",
        "redis.exceptions.ClusterError",
        "redis.exceptions.RedisClusterException",
        "redis.exceptions.AskError",
        "redis.exceptions.TryAgainError",
        "aiokafka.errors.KafkaTimeoutError",
    }
)
"""By name: this room does not import the clients."""


def tries(error: Exception, *, began: bool) -> float:
    """How often in a row a worker starts again after an error: for ever, a few times, or not at all.

    `began` tells whether broker and Redis had been found: who starts a worker wants to hear that they are not there.
    """
    if isinstance(error, _AWAY):
        return math.inf if began or _count(RESTARTS) else 0
    if isinstance(error, _PASSING):
        return math.inf
    if isinstance(error, ImportError) or (isinstance(error, MoodstreamError) and not isinstance(error, SourceGap)):
        return 0
    return math.inf if is_away(error) else FEW


def is_away(error: Exception) -> bool:
    """Whether a client says that broker or Redis could not be reached just now."""
    if isinstance(error, _CONNECTION) or getattr(error, "retriable", False):  # Kafka's errors know
        return True
    return any(f"{kind.__module__}.{kind.__name__}" in _CLIENTS for kind in type(error).__mro__)


def may_start_again(error: Exception, *, began: bool, seconds: float) -> bool:
    """Whether to start again after an error that came after so many seconds of work; counts it."""
    if seconds > WELL_SECONDS:
        os.environ.pop(RESTARTS, None)
        os.environ.pop(FAILURES, None)
    allowed = tries(error, began=began)
    os.environ[FAILURES] = str(_count(FAILURES) + (allowed < math.inf))
    os.environ[RESTARTS] = str(_count(RESTARTS) + 1)
    return _count(FAILURES) <= allowed


def pause_seconds() -> float:
    """How long to wait before the restart that was counted last."""
    return float(min(0.25 * 2 ** (_count(RESTARTS) - 1), _LONGEST_PAUSE))


def start_again(error: Exception) -> NoReturn:
    """Replace this process by a new one of itself, after a pause that grows while it keeps failing."""
    pause = pause_seconds()
    log.warning("starts again", reason=str(error), seconds=pause, restarts=_count(RESTARTS))
    time.sleep(pause)
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "moodstream", *sys.argv[1:]])  # noqa: S606 - it is this program


def _count(variable: str) -> int:
    return int(os.environ.get(variable, "0"))
