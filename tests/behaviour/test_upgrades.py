"""A default parameter is changed on a deployment that is at work, worker by worker."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice

from moodstream.affect.params import STANDARD, Fold
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.profile import ProfileValues
from moodstream.state.layout import Layout
from moodstream.state.reader import StateReader
from moodstream.state.rows import MOOD, TRENDS, maker_of
from support.events import T0_MS, engagement, outcome, profile
from support.events import signal as mood_signal
from support.running import Running, wait_for_line
from support.waiting import eventually

SECOND = Fold.of(1, ProfileValues(tau_hours=(6.0, 6.0, 6.0)))
CHANGE = {"MOODSTREAM_FOLD__REVISION": "1", "MOODSTREAM_FOLD__DEFAULT_PROFILE": '{"tau_hours": [6, 6, 6]}'}
AGENTS = 24


def endless() -> Iterator[InputEvent]:
    """The lives of some agents; every fourth has a profile of its own."""
    for number in range(0, AGENTS, 4):
        yield profile("t", f"agent-{number}", "own", T0_MS, tau_hours=(2.0, 2.0, 2.0))
    n = 0
    while True:
        name, ms = f"agent-{n % AGENTS}", T0_MS + n * 30_000
        yield outcome("t", name, f"o{n}", ms, result="success" if n % 3 else "failure")
        yield mood_signal("t", name, f"s{n}", ms + 1, 0.3 - (n % 5) / 10)
        yield engagement("t", name, f"g{n}", ms + 2, other=f"u{n % 3}", turn=f"m{n}", responded=n % 4 > 0)
        n += 1


class Load:
    """Publishes in portions until it is told to stop."""

    def __init__(self, run: Running) -> None:
        self.fired = 0
        self._run = run
        self._stop = asyncio.Event()
        self._events = endless()

    @asynccontextmanager
    async def under(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._publish())
        try:
            yield
        finally:
            self._stop.set()
            await task

    async def _publish(self) -> None:
        while not self._stop.is_set():
            portion = [next(self._events) for _ in range(100)]
            await self._run.fire(portion)
            self.fired += len(portion)
            await asyncio.wait([asyncio.ensure_future(self._stop.wait())], timeout=0.05)


async def makers(run: Running) -> set[bytes]:
    """Who made the rows that are in Redis."""
    found: set[bytes] = set()
    reader = StateReader(run.deployment.state)
    try:
        for partition in range(run.deployment.streams.partitions):
            async for agent in reader.scan_partition(partition):
                found.update(map(maker_of, agent.rows.values()))
    finally:
        await reader.close()
    return found


async def upgraded(run: Running, least: int) -> None:
    """Wait until so many partitions hold rows of the new fold."""

    async def done() -> bool:
        metas = [await run.meta(number) for number in range(run.deployment.streams.partitions)]
        return sum(meta.get("fold") == SECOND.maker.hex() for meta in metas) >= least

    await eventually(done, seconds=60, what=f"{least} partitions made anew")


async def test_a_rolling_change_of_a_default_ends_with_every_row_on_the_new_hash(run: Running) -> None:
    load = Load(run)
    first, second = run.worker(), run.worker()
    async with load.under():
        await run.read(600)
        assert await makers(run) == {STANDARD.maker}
        first.signal(signal.SIGTERM)
        assert first.wait() == 0
        new = run.worker(CHANGE)
        await upgraded(run, 1)
        # The older worker goes on with what it has, until it is given a partition whose rows are newer.
        new.signal(signal.SIGTERM)
        assert new.wait() == 0
        assert second.wait(60) == 2
        assert second.said("rows were made by fold 1, revision 1")
        for _ in range(2):
            run.worker(CHANGE)
        await upgraded(run, run.deployment.streams.partitions)
    counts = await run.read(load.fired, seconds=120)
    assert counts == {"accepted": load.fired, "duplicate": 0, "erased": 0, "dead": 0}
    assert await makers(run) == {SECOND.maker}
    code, found = await run.audit()
    assert (code, found["differences"], found["agents"]) == (0, 0, AGENTS)


async def test_an_older_worker_does_not_start(run: Running) -> None:
    run.worker(CHANGE)
    await run.fire([outcome("t", "a", "o", T0_MS)])
    await run.read(1)
    old = run.worker()
    assert old.wait(60) == 2
    wait_for_line(old, "fold_mismatch")
    assert old.said("gone on to fold 1, revision 1")


async def rebuild(run: Running, *arguments: str) -> tuple[int, dict[str, object]]:
    """Run `moodstream rebuild --json`; give its exit code and its answer."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "moodstream", "rebuild", *arguments, "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **run.deployment.environment},
    )
    out, err = await process.communicate()
    assert out, err.decode()
    return process.returncode or 0, json.loads(out)


async def test_rows_that_were_damaged_in_redis_are_made_anew(run: Running) -> None:
    events = list(islice(endless(), 600))
    run.worker()
    await run.fire(events)
    await run.read(len(events))
    key, layout = agent_key("t", "agent-1"), await damaged(run, "agent-1")
    await damaged(run, "agent-2")
    code, found = await run.audit()
    assert (code, found["differences"]) == (1, 6)
    assert await rebuild(run, "agent-1", "--tenant", "t") == (
        0,
        {"agents": 1, "applied": 1, "not_covered": 0, "partial": False},
    )
    assert await run.redis.hexists(layout.agent(key), MOOD)  # type: ignore[misc]
    code, found = await run.audit()
    assert (code, found["differences"]) == (1, 3)
    code, answer = await rebuild(run, "--all")
    assert (code, answer["agents"], answer["applied"]) == (0, AGENTS, AGENTS)
    code, found = await run.audit()
    assert (code, found["differences"], found["accepted"]) == (0, 0, len(events) + 1 + AGENTS)


async def damaged(run: Running, name: str) -> Layout:
    """Lose one row of an agent, change another one, and flip a bit of a memory."""
    key = agent_key("t", name)
    layout = Layout(run.deployment.prefix, partition_of(key, run.deployment.streams.partitions))
    place = layout.agent(key)
    await run.redis.hdel(place, MOOD)  # type: ignore[misc]
    await run.redis.hset(place, TRENDS, b"\x01")  # type: ignore[misc]
    bucket = min(map(int, await run.redis.hkeys(layout.buckets(key))))  # type: ignore[misc]
    memories = layout.memory(key, bucket)
    field = min(name for name in await run.redis.hkeys(memories) if len(name) == 12)  # type: ignore[misc]
    row = await run.redis.hget(memories, field)  # type: ignore[misc]
    await run.redis.hset(memories, field, row[:-1] + bytes([row[-1] ^ 1]))  # type: ignore[misc]
    return layout
