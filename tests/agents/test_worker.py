"""The worker around its app: it hears every crash, ends in time, and reports whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from moodstream.affect.params import STANDARD
from moodstream.agents import worker as room
from moodstream.agents.lane import Lanes
from moodstream.agents.settings import WorkerSettings
from moodstream.agents.waits import Waits
from moodstream.agents.worker import Producers, Worker, _quietly
from moodstream.schemas.errors import BrokerUnavailable, Fenced, StateLost, StoreUnavailable
from moodstream.state.ownership import Phase
from moodstream.state.settings import StateSettings
from moodstream.state.table import register
from moodstream.streams.app import create_app
from moodstream.streams.settings import StreamSettings
from support.waiting import eventually


@pytest.fixture
def worker() -> Worker:
    return Worker(StreamSettings(), StateSettings(), WorkerSettings(name="w"), STANDARD)


def bound(worker: Worker, folder: Path) -> tuple[Any, Any]:
    """The worker's app and store, without broker and Redis."""
    register()
    app = create_app(worker.streams, worker.state.url, str(folder))
    return app, worker._bind(app, Producers(None, None))


# -- crashes


async def test_a_crash_in_another_thread_ends_the_work(worker: Worker, tmp_path: Path) -> None:
    app, _ = bound(worker, tmp_path)
    reason = StateLost("commit")
    thread = threading.Thread(target=app.on_crash, args=(reason,))
    with capture_logs() as logs:
        thread.start()
        await asyncio.wait_for(worker._ended.wait(), 5)
    thread.join()
    assert worker._crash is reason
    assert [line["code"] for line in logs] == ["state_lost"]


async def test_the_first_reason_counts(worker: Worker, tmp_path: Path) -> None:
    app, _ = bound(worker, tmp_path)
    first = StateLost("first")
    with capture_logs() as logs:
        app.on_crash(first)
        app.on_crash(Fenced("second"))
        await asyncio.wait_for(worker._ended.wait(), 5)
        await asyncio.sleep(0)
    assert worker._crash is first
    assert len(logs) == 1


async def test_what_breaks_while_it_stops_is_no_crash(worker: Worker, tmp_path: Path) -> None:
    app, _ = bound(worker, tmp_path)
    worker.stop()
    with capture_logs() as logs:
        app.on_crash(Fenced("closed"))
        await asyncio.sleep(0.01)
    assert (worker._crash, logs) == (None, [])


async def test_what_is_no_exception_is_wrapped(worker: Worker) -> None:
    assert isinstance(worker._reason(asyncio.CancelledError()), RuntimeError)
    lost = StateLost("gone")
    assert worker._reason(lost) is lost


async def test_a_redis_that_may_evict_is_reported_until_it_may_not(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broker(monkeypatch, None)
    why: list[str | None] = ["it may evict"]
    with capture_logs() as logs:
        async with reporting(worker, tmp_path, lambda: why[-1]):
            await eventually(lambda: len(said) > 3)
            why.append(None)
            await eventually(lambda: said[-1][0] is None)
    assert said[0] == ("it may evict", {})
    assert [line["event"] for line in logs] == ["waits"]


@pytest.mark.parametrize("stopped", [False, True])
async def test_what_fails_after_a_stop_is_not_raised(
    worker: Worker, stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(settings: StreamSettings) -> None:
        if stopped:
            worker.stop()
        raise BrokerUnavailable("gone")

    monkeypatch.setattr(room, "check", failing)
    with capture_logs():
        if stopped:
            await worker.run()
        else:
            with pytest.raises(BrokerUnavailable):
                await worker.run()
    assert not worker.began


class App:
    """An app that takes its time to start, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.go_on = asyncio.Event()

    async def start(self) -> None:
        await self.go_on.wait()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("starts", [False, True])
async def test_a_stop_is_heard_also_while_the_app_restores(worker: Worker, starts: bool) -> None:
    app = App()
    working = asyncio.create_task(worker._until_ended(app))  # type: ignore[arg-type]
    if starts:
        app.go_on.set()
    await asyncio.sleep(0.01)
    assert not working.done()
    worker.stop()
    await asyncio.wait_for(working, 5)
    app.go_on.set()


async def test_an_app_that_cannot_start_ends_the_work(worker: Worker) -> None:
    app = App(BrokerUnavailable("gone"))
    app.go_on.set()
    with pytest.raises(BrokerUnavailable):
        await worker._until_ended(app)  # type: ignore[arg-type]
    worker.stop()


# -- the end


async def test_an_end_that_does_not_mind_being_cancelled_is_left_behind() -> None:
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    await asyncio.wait_for(_quietly(stubborn(), 0.01), 5)
    released.set()
    await asyncio.sleep(0)


async def test_what_an_end_raises_does_not_matter() -> None:
    async def failing() -> None:
        raise RuntimeError

    await _quietly(failing(), 5)


# -- the partitions


async def test_when_partitions_are_revoked_ownerships_and_lanes_end(worker: Worker, tmp_path: Path) -> None:
    app, store = bound(worker, tmp_path)
    closed: list[bool] = []

    class Watched(Lanes):
        def close(self) -> None:
            closed.append(True)
            super().close()

    worker._wire(app, store, Watched(lambda owned: None, app.crash, 1))  # type: ignore[arg-type,return-value]
    store._owned = {0: store._ownership(0), 1: store._ownership(1)}
    await app.on_partitions_revoked.send(set())
    assert set(store.phases().values()) == {Phase.CLOSED}
    assert closed == [True]


async def test_an_agent_that_fails_ends_the_worker(worker: Worker, tmp_path: Path) -> None:
    app, store = bound(worker, tmp_path)
    worker._wire(app, store, Lanes(lambda owned: None, app.crash, 1))  # type: ignore[arg-type,return-value]
    (agent,) = [one for one in app.agents.values() if one.name == "moodstream.fold"]
    error = TypeError("a bug")
    with capture_logs():
        await agent._on_error(agent, error)
        await asyncio.wait_for(worker._ended.wait(), 5)
    assert worker._crash is error


# -- the report


class Said(list[tuple[str | None, dict[int, str]]]):
    """What was reported; `fails` is raised instead, once."""

    fails: Exception | None = None

    async def __call__(
        self, redis: Any, state: Any, name: str, waiting: str | None, phases: dict[int, str], *more: object
    ) -> None:
        fails, self.fails = self.fails, None
        if fails is not None:
            raise fails
        self.append((waiting, phases))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    found = Said()
    monkeypatch.setattr(room, "report", found)
    monkeypatch.setattr(room, "_REPORT_SECONDS", 0.001)
    return found


@asynccontextmanager
async def reporting(worker: Worker, folder: Path, held: Callable[[], str | None] = lambda: None) -> AsyncIterator[None]:
    """A worker that reports; `held` is what its store says of Redis."""
    _, store = bound(worker, folder)

    async def check_held() -> str | None:
        return held()

    store.check_held = check_held
    task = asyncio.create_task(worker._report(None, store))
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()


def broker(monkeypatch: pytest.MonkeyPatch, answer: Exception | None) -> None:
    @asynccontextmanager
    async def connected(settings: StreamSettings) -> AsyncIterator[None]:
        if answer is not None:
            raise answer
        yield

    monkeypatch.setattr(room, "connected", connected)


@pytest.mark.parametrize("fails", [StoreUnavailable("frozen"), TypeError("a bug")])
async def test_a_report_that_fails_is_followed_by_another(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: Exception
) -> None:
    broker(monkeypatch, None)
    said.fails = fails
    with capture_logs():
        async with reporting(worker, tmp_path):
            await eventually(lambda: len(said) > 1)
    assert said[0] == (None, {})


async def test_a_broker_that_is_away_is_reported_until_it_answers(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broker(monkeypatch, BrokerUnavailable("away"))
    async with reporting(worker, tmp_path):
        await eventually(lambda: said)
        broker(monkeypatch, None)
        await eventually(lambda: said[-1][0] is None)
    assert said[0] == ("away", {})


@pytest.mark.parametrize("stopped", [False, True])
async def test_only_a_worker_that_was_stopped_takes_its_report_back(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    retracted: list[str] = []

    async def retract(redis: Any, state: Any, name: str) -> None:
        retracted.append(name)
        raise StoreUnavailable("frozen")

    monkeypatch.setattr(room, "retract", retract)
    worker._crash = StateLost("emptied")
    if stopped:
        worker.stop()
    await worker._report_last(None)
    assert retracted == (["w"] if stopped else [])
    assert said == ([] if stopped else [("to start again: emptied", {})])


async def test_a_wait_that_nobody_ends_lapses(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broker(monkeypatch, None)
    worker._waits = Waits(-1)
    with capture_logs():
        worker._on_wait("Redis: frozen")  # and the one that waited is stopped
    async with reporting(worker, tmp_path):
        await eventually(lambda: said)
    assert said[0] == (None, {})


async def test_looking_at_the_broker_may_fail_in_any_way(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broker(monkeypatch, AssertionError())
    with capture_logs() as logs:
        async with reporting(worker, tmp_path):
            await eventually(lambda: logs)
            broker(monkeypatch, None)
            await eventually(lambda: said)
    assert logs[0]["event"] == "report failed"


async def test_waiting_for_redis_is_told_once_and_reported(
    worker: Worker, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broker(monkeypatch, None)
    with capture_logs() as logs:
        worker._on_wait("Redis: frozen")
        worker._on_wait("Redis: frozen")
        async with reporting(worker, tmp_path):
            await eventually(lambda: said)
            worker._on_wait(None)
            worker._on_wait(None)
            await eventually(lambda: said[-1][0] is None)
    assert said[0][0] == "Redis: frozen"
    assert [line["event"] for line in logs] == ["waits", "goes on"]
