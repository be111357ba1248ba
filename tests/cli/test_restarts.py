"""When a worker starts itself again: for ever where the reason passes, a few times where it may not, else never."""

from __future__ import annotations

import math
import socket
import sys
from typing import Any, NoReturn

import pytest
from aiokafka.errors import CommitFailedError, KafkaConnectionError, KafkaTimeoutError, TopicAuthorizationFailedError
from redis import exceptions as redis_errors
from structlog.testing import capture_logs

from moodstream.agents.settings import WorkerSettings
from moodstream.cli import restarts
from moodstream.cli import worker as room
from moodstream.cli.restarts import FAILURES, FEW, RESTARTS, WELL_SECONDS, may_start_again, pause_seconds, tries
from moodstream.schemas.errors import (
    BrokerUnavailable,
    Fenced,
    FoldMismatch,
    InvalidSettings,
    MissingExtra,
    SourceGap,
    StateLost,
    StoreUnavailable,
    TopicMissing,
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No restart has been counted; what a test counts is undone."""
    for variable in (RESTARTS, FAILURES):
        monkeypatch.setenv(variable, "0")


@pytest.mark.parametrize(
    "error",
    [
        BrokerUnavailable("away"),
        StoreUnavailable("away"),
        Fenced("taken"),
        StateLost("emptied"),
        KafkaConnectionError(),
        KafkaTimeoutError(),
        redis_errors.ConnectionError(),
        redis_errors.TimeoutError(),
        redis_errors.BusyLoadingError(),
        ConnectionResetError(),
        TimeoutError(),
        socket.gaierror(),
    ],
)
def test_what_passes_by_itself_is_tried_for_ever(error: Exception) -> None:
    assert tries(error, began=True) == math.inf
    assert all(may_start_again(error, began=True, seconds=1) for _ in range(10 * FEW))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("a bug"),
        SourceGap("cut"),
        CommitFailedError(),
        TopicAuthorizationFailedError(),
        redis_errors.ResponseError("WRONGTYPE"),
        PermissionError(),
    ],
)
def test_what_may_not_pass_is_tried_a_few_times(error: Exception) -> None:
    answers = [may_start_again(error, began=True, seconds=1) for _ in range(FEW + 2)]
    assert answers == [True] * FEW + [False] * 2


@pytest.mark.parametrize(
    "error",
    [
        InvalidSettings("bad"),
        TopicMissing("none"),
        FoldMismatch("older"),
        MissingExtra("worker"),
        ImportError("no such name"),
        ModuleNotFoundError("numpy"),
    ],
)
def test_what_cannot_pass_is_not_tried(error: Exception) -> None:
    assert not may_start_again(error, began=True, seconds=1)


@pytest.mark.parametrize("error", [BrokerUnavailable("away"), StoreUnavailable("away")])
def test_who_starts_a_worker_hears_at_once_that_nobody_answers(error: Exception) -> None:
    assert not may_start_again(error, began=False, seconds=1)


@pytest.mark.parametrize("error", [BrokerUnavailable("away"), StoreUnavailable("away")])
def test_a_worker_that_has_begun_once_waits_for_them_to_come_back(error: Exception) -> None:
    assert may_start_again(error, began=True, seconds=1)
    assert may_start_again(error, began=False, seconds=1)


def test_what_passes_in_between_does_not_hide_what_does_not() -> None:
    bug, passing = RuntimeError("a bug"), BrokerUnavailable("away")
    answers = [may_start_again(error, began=True, seconds=1) for _ in range(FEW) for error in (bug, passing)]
    assert all(answers)
    assert not may_start_again(bug, began=True, seconds=1)


def test_passing_errors_use_up_none_of_the_few() -> None:
    for _ in range(3 * FEW):
        assert may_start_again(Fenced("taken"), began=True, seconds=1)
    assert may_start_again(RuntimeError("a bug"), began=True, seconds=1)


def test_a_worker_that_was_well_begins_to_count_anew() -> None:
    bug = RuntimeError("a bug")
    for _ in range(FEW):
        may_start_again(bug, began=True, seconds=1)
    assert may_start_again(bug, began=True, seconds=WELL_SECONDS + 1)
    assert pause_seconds() == 0.25
    assert may_start_again(bug, began=True, seconds=1)


def test_pauses_grow_to_a_limit() -> None:
    pauses = []
    for _ in range(12):
        may_start_again(Fenced("taken"), began=True, seconds=1)
        pauses.append(pause_seconds())
    assert pauses[:3] == [0.25, 0.5, 1.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 15.0


# -- the command around it


class Executed(Exception):  # noqa: N818 - no error
    """The process would have been replaced."""


class Ended(Exception):  # noqa: N818 - no error
    """The process would have ended."""


class FakeWorker:
    """Runs into an error, or to its end."""

    settings = WorkerSettings()

    def __init__(self, error: BaseException | None, *, began: bool = True) -> None:
        self.error = error
        self.began = began

    async def run(self) -> None:
        if self.error is not None:
            raise self.error

    def stop(self) -> None: ...


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the process would have done to itself."""
    done: dict[str, Any] = {"slept": [], "cut": []}

    def execv(path: str, arguments: list[str]) -> NoReturn:
        done["exec"] = arguments
        raise Executed

    def end(code: int) -> NoReturn:
        done["code"] = code
        raise Ended

    monkeypatch.setattr(restarts.os, "execv", execv)
    monkeypatch.setattr(room.os, "_exit", end)
    monkeypatch.setattr(restarts.time, "sleep", done["slept"].append)
    monkeypatch.setattr(room, "_cut_off", lambda one, code: done["cut"].append(code))
    for name in ("freeze", "collect", "set_threshold"):
        monkeypatch.setattr(room.gc, name, lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["moodstream", "worker", "--name", "w"])
    return done


def work(worker: FakeWorker) -> list[Any]:
    import asyncio

    loops: list[asyncio.AbstractEventLoop] = []

    def loop() -> asyncio.AbstractEventLoop:
        loops.append(asyncio.new_event_loop())
        return loops[-1]

    with capture_logs() as logs:
        try:
            room._work(worker, loop)  # type: ignore[arg-type]
        finally:
            for one in loops:
                one.close()
    return logs


def test_a_worker_that_ends_ends_the_process(process: dict[str, Any]) -> None:
    with pytest.raises(Ended):
        work(FakeWorker(None))
    assert process["code"] == 0


def test_a_worker_that_fails_starts_as_it_was_started(process: dict[str, Any]) -> None:
    with pytest.raises(Executed):
        work(FakeWorker(Fenced("taken")))
    assert process["exec"] == [sys.executable, "-m", "moodstream", "worker", "--name", "w"]
    assert process["slept"] == [0.25]
    assert process["cut"] == []


def test_a_bug_is_shown_at_each_restart_and_raised_in_the_end(
    process: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug = RuntimeError("a bug")
    for _ in range(FEW):
        with pytest.raises(Executed):
            work(FakeWorker(bug))
    with pytest.raises(RuntimeError) as caught:
        work(FakeWorker(bug))
    assert caught.value is bug
    assert process["cut"] == [1]  # ends also if a thread does not


def test_an_import_that_fails_is_raised_at_once(process: dict[str, Any]) -> None:
    with pytest.raises(ImportError):
        work(FakeWorker(ImportError("cannot import name")))
    assert "exec" not in process


def test_a_connection_that_is_lost_is_no_bug_in_the_log() -> None:
    assert restarts.is_away(KafkaConnectionError())
    assert not restarts.is_away(RuntimeError("a bug"))
