"""Our worker and its peers on one log, in turns: run, measured, checked, and cleared away."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from redis.asyncio import Redis

from bench.audited import audited
from bench.contenders import PEERS, Peer, chosen
from bench.installing import MissingToolError
from bench.places import pids, published, say
from bench.reference import Checked, Reference, checked, reference
from bench.run import Load, Timed, measure_for
from bench.subjects import Subject, ours, output_of, theirs
from bench.terms import OURS, Contest, Run, Terms
from bench.workload import Engagements
from moodstream.state.settings import StateSettings
from moodstream.streams.settings import StreamSettings
from support.platforms import Platform


async def contest(platform: Platform, folder: Path, agents: int, terms: Terms) -> Contest:
    """Publish the log, and let everybody have it in turns."""
    peers = chosen(agents) if terms.peers else []
    why = "too slow for so many agents" if terms.peers else "--skip-peers"
    found = Contest(agents, left_out={peer.name: why for peer in PEERS if peer not in peers})
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(backlog(platform, agents, terms.backlog(peers, agents)))
        course = Course(platform, folder, log, terms)
        for number in range(1, terms.rounds + 1):
            say(f"round {number} of {terms.rounds}, {agents:,} agents")
            found.rounds.append(await course.round(peers, found.left_out))
    return found


def in_turn(peers: list[Peer]) -> list[Peer | None]:
    """The order of a round. None is our worker: in the middle, where it is nobody's distant neighbour."""
    return [*(one for one in peers if not one.jit), None, *(one for one in peers if one.jit)]


@dataclass(frozen=True)
class Backlog:
    """A log of events that lies ready."""

    topics: StreamSettings
    events: int
    agents: int


@asynccontextmanager
async def backlog(platform: Platform, agents: int, events: int) -> AsyncIterator[Backlog]:
    """Publish a log for the time of a block."""
    say(f"publishing {events:,} events of {agents:,} agents")
    topics = await published(platform, Engagements(events, agents))
    try:
        yield Backlog(topics, events, agents)
    finally:
        await _forget(platform, topics.prefix)


class Course:
    """One log, and everything that it takes to measure somebody on it."""

    def __init__(self, platform: Platform, folder: Path, log: Backlog, terms: Terms) -> None:
        self._platform = platform
        self._folder = folder
        self._log = log
        self._terms = terms
        servers = [*pids(platform), os.getpid()]  # our own looking and checking is not foreign either
        self._load = Load(servers, servers[:1] if platform.broker else [])
        self._reference: Reference | None = None

    async def round(self, peers: list[Peer], left_out: dict[str, str]) -> dict[str, Run]:
        """Measure our worker and each peer once. A peer that cannot be run is left out from then on."""
        found: dict[str, Run] = {}
        for peer in in_turn([one for one in peers if one.name not in left_out]):
            if peer is None:
                found[OURS] = await self.ours()
                continue
            try:
                found[peer.name] = await self.theirs(peer)
            except (MissingToolError, RuntimeError, ValueError) as error:
                left_out[peer.name] = str(error)
                say(f"{peer.title} is left out: {error}")
        return found

    async def ours(self) -> Run:
        """Measure our worker, and audit what it wrote."""
        async with AsyncExitStack() as stack:
            subject = await ours(self._platform, self._log.topics, self._log.events, stack)
            stack.push_async_callback(self._clear, subject)
            timed = await self._measured(subject, jit=False)
            streams = self._log.topics.model_copy(update={"app_id": subject.app})
            state = StateSettings(url=self._platform.redis_url, prefix=f"{subject.app}.", answer_seconds=60)
            return self._told(subject, timed, await audited(streams, state))

    async def theirs(self, peer: Peer) -> Run:
        """Measure a peer, and compare what it gave out with the reference."""
        async with AsyncExitStack() as stack:
            subject = await theirs(peer, self._log.topics, self._log.events, self._folder, stack)
            stack.push_async_callback(self._clear, subject)
            timed = await self._measured(subject, jit=peer.jit)
            if self._reference is None:
                self._reference = await reference(self._log.topics)
            output, one_each = output_of(subject.app), not peer.counts_itself
            return self._told(
                subject, timed, await checked(self._reference, self._log.topics, output, one_each=one_each)
            )

    async def _measured(self, subject: Subject, *, jit: bool) -> Timed:
        return await measure_for(subject, self._terms.span(jit=jit), self._load, self._folder)

    def _told(self, subject: Subject, timed: Timed, found: Checked) -> Run:
        run = Run.of(subject.name, self._log.agents, timed, found)
        note = f", ran out of events after {run.seconds:.1f} s" if run.ran_out else ""
        rate = f"{run.events_per_s:,.0f} events/s{note}"
        say(f"  {run.name}: {rate}; {run.checked:,} {run.unit} of {run.scope}, {run.wrong:,} wrong")
        return run

    async def _clear(self, subject: Subject) -> None:
        """Remove what a subject has made, so that the next one finds the servers as it did."""
        await _forget(self._platform, subject.app)
        shutil.rmtree(self._folder / subject.app, ignore_errors=True)
        if self._platform.redis:  # this benchmark's own, so there is nothing else in it
            redis = Redis.from_url(self._platform.redis_url)
            await redis.flushall()
            await redis.aclose()


async def _forget(platform: Platform, word: str) -> None:
    """Delete the topics that have this word in their names."""
    admin = AIOKafkaAdminClient(bootstrap_servers=platform.bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([name for name in await admin.list_topics() if word in name])
    finally:
        await admin.close()
