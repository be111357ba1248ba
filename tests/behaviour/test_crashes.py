"""What may break, breaks; the rows come out the same, and audit says so."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

import pytest

from moodstream.schemas.errors import MoodstreamError
from moodstream.schemas.events import InputEvent
from moodstream.streams import topics
from moodstream.streams.broker import connected, list_topics
from moodstream.streams.bus import Bus
from moodstream.streams.settings import StreamSettings
from support.events import T0_MS, life, lives, outcome
from support.platforms import EMBEDDED
from support.running import Running, wait_for_line
from support.waiting import eventually


async def all_right(run: Running, events: Sequence[InputEvent]) -> str:
    """Every event counted once, every row as the oracle has it; gives the digest."""
    counts = await run.read(len(events))
    assert counts == {"accepted": len(events), "duplicate": 0, "erased": 0, "dead": 0}
    code, found = await run.audit()
    assert (code, found["differences"]) == (0, 0)
    return str(found["digest"])


async def test_workers_killed_and_redis_emptied_leave_the_rows_as_they_would_have_been(run: Running) -> None:
    events = lives(6)
    step = len(events) // 4
    for number in range(3):
        worker = run.worker()
        await run.fire(events[number * step : (number + 1) * step])
        await _moved(run, number * step)
        worker.kill()
    await run.redis.flushall()
    run.worker()
    await run.fire(events[3 * step :])
    digest = await all_right(run, events)
    await run.redis.flushall()
    # Nothing new is published: the worker finds out by itself on the next event, and restores everything.
    more = [outcome("t", "agent-0", "more", T0_MS + 10**9)]
    await run.fire(more)
    assert await all_right(run, [*events, *more]) != digest


async def _moved(run: Running, than: int) -> None:
    """Wait until a worker has got further."""

    async def further() -> bool:
        return sum((await run.counts()).values()) > than

    await eventually(further, what="the worker at work")


async def test_sigterm_ends_a_worker_in_time_and_the_next_goes_on(run: Running) -> None:
    events = lives(4)
    worker = run.worker()
    await run.fire(events[:150])
    await _moved(run, 0)
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.wait(15) == 0
    assert time.monotonic() - began < 15
    run.worker()
    await run.fire(events[150:])
    await all_right(run, events)


async def test_a_frozen_worker_that_wakes_up_changes_nothing(run: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "MOODSTREAM_STREAMS__SESSION_SECONDS", "6")
    events = lives(4)
    zombie = run.worker()
    await run.fire(events[:100])
    await run.read(100)
    await run.fire(events[100:200])
    zombie.signal(signal.SIGSTOP)
    run.worker()
    await run.read(200, seconds=60)
    zombie.signal(signal.SIGCONT)
    await run.fire(events[200:])
    await all_right(run, events)


async def test_a_frozen_redis_pauses_the_worker_and_nothing_is_lost(run: Running) -> None:
    redis = run.deployment.platform.redis
    if redis is None:
        pytest.skip("this Redis is not ours to freeze")
    events = lives(3)
    worker = run.worker()
    await run.fire(events[:100])
    await run.read(100)
    redis.pause()
    try:
        await run.fire(events[100:])
        wait_for_line(worker, '"waits"')
    finally:
        redis.resume()
    await all_right(run, events)


async def test_a_killed_broker_comes_back_and_the_worker_goes_on(run: Running) -> None:
    platform = run.deployment.platform
    if not platform.is_real or platform.broker is None:
        pytest.skip("only real Kafka, started by the tests, keeps its log over a restart")
    events = lives(3)
    run.worker()
    await run.fire(events[:100])
    await run.read(100)
    platform.broker.kill()
    platform.broker.start()
    async with Bus(run.deployment.streams) as bus:
        for event in events[100:]:
            await bus.fire(event)
    await all_right(run, events)


async def test_a_new_log_takes_over_the_rows_of_redis(run: Running) -> None:
    platform = run.deployment.platform
    if platform.name != EMBEDDED or platform.broker is None:
        pytest.skip("only the embedded broker loses its log over a restart")
    old, new = life("agent-0", 10), life("agent-1", 10)
    worker = run.worker()
    await run.fire(old)
    await run.read(len(old))
    worker.kill()
    platform.broker.kill()
    platform.broker.start()
    await topics.create(run.deployment.streams)
    run.worker()
    async with Bus(run.deployment.streams) as bus:
        await bus.fire_all([*old, *new])
    counts = await run.read(len(old) + len(new))
    assert (counts["accepted"], counts["duplicate"]) == (len(new), len(old))
    code, found = await run.audit()
    assert (code, found["agents"], found["covered"], found["differences"]) == (3, 2, 1, 0)


async def test_a_live_worker_notices_that_the_log_is_a_new_one(run: Running) -> None:
    platform = run.deployment.platform
    if platform.name != EMBEDDED or platform.broker is None:
        pytest.skip("only the embedded broker loses its log over a restart")
    old, new = life("agent-0", 10), life("agent-1", 10)
    run.worker()
    await run.fire(old)
    await run.read(len(old))
    platform.broker.kill()
    platform.broker.start()
    await topics.create(run.deployment.streams)
    async with Bus(run.deployment.streams) as bus:
        await bus.fire_all(new)
    counts = await run.read(len(new))
    assert (counts["accepted"], counts["duplicate"]) == (len(new), 0)


async def test_events_in_a_topic_that_was_made_anew_are_not_skipped_in_silence(run: Running) -> None:
    platform = run.deployment.platform
    if not platform.is_real:
        pytest.skip("the embedded broker deletes no topics")
    settings = run.deployment.streams
    old, new = life("agent-0", 10), life("agent-0", 3)
    worker = run.worker()
    await run.fire(old)
    counts = await run.read(len(old))
    worker.kill()
    await eventually(lambda: _made_anew(settings), what="the topic made anew")
    async with Bus(settings) as bus:
        await bus.fire_all(new)
    worker = run.worker()
    await eventually(lambda: worker.said("it was cut or made anew"), what="the worker's complaint")
    assert await run.counts() == counts


async def _made_anew(settings: StreamSettings) -> bool:
    """Delete the topic of events and make it again; the broker takes its time for either."""
    async with connected(settings) as admin:
        if settings.topics.events in await list_topics(admin):
            await admin.delete_topics([settings.topics.events])
            return False
    try:
        found = await topics.create(settings)
    except MoodstreamError:
        return False
    return any(one.created and one.name == settings.topics.events for one in found)
