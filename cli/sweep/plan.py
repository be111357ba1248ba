"""What of an agent is older than the settings keep it: read from its rows, bucket by bucket, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from moodstream.agents.past import Dated, reaches
from moodstream.cli.keeping import Keep, SweepSettings
from moodstream.schemas.erasure import Expire
from moodstream.schemas.events import make
from moodstream.schemas.instants import from_ms, to_ms, to_us
from moodstream.schemas.wire_names import Domain
from moodstream.state.reader import StateReader, steadily
from moodstream.state.views import AgentView, BucketRows


class Planner:
    """Plans the expiries of one look, as of one time."""

    def __init__(
        self, reader: StateReader, settings: SweepSettings, now: datetime, input_retention_ms: int | None
    ) -> None:
        self._reader = reader
        self._settings = settings
        self._now = now
        self._markers_before = None if input_retention_ms is None else now - timedelta(milliseconds=input_retention_ms)

    async def plan(self, tenant: str, agent: str) -> list[Expire]:
        """The expiries that take something away. Raises `NotFound`, `Restoring`, `Rewritten`, `StoreUnavailable`."""
        return await steadily(partial(self._plan, tenant, agent))

    async def _plan(self, tenant: str, agent: str) -> list[Expire]:
        view = await self._reader.agent(tenant, agent, buckets=True)
        rules = dict(_limits(self._settings.of(tenant), self._now))
        bound = await self._bound_of_many(view)
        if bound is not None:
            rules[None] = max(bound, rules.get(None, bound))
        events = [self._event(view, domain, before) for domain, before in rules.items()]
        return await self._useful(view, events)

    def _event(self, view: AgentView, domain: Domain | None, before: datetime) -> Expire:
        fields = {"tenant_id": view.tenant, "agent_id": view.agent, "occurred_at": self._now}
        return make(Expire, **fields, before=before, domain=domain, markers_before=self._markers_before)

    async def _useful(self, view: AgentView, events: list[Expire]) -> list[Expire]:
        """Those that reach at least one row."""
        left, found = list(events), list[Expire]()
        if not events:
            return []
        latest = max(to_us(event.before) for event in events)
        async for bucket in self._reader.memories(view, until_us=latest, newest_first=False):
            rows = list(_dated(bucket))
            hit = [event for event in left if any(reaches(event, row) for row in rows)]
            found += hit
            left = [event for event in left if event not in hit]
            if not left:
                break
        return found

    async def _bound_of_many(self, view: AgentView) -> datetime | None:
        """The time before which memories have to go, so that no more than the limit are left; None: there are few."""
        limit = self._settings.memories_per_agent
        if await self._reader.count(view) <= limit:
            return None
        newer = 0
        async for bucket in self._reader.memories(view):
            if newer + len(bucket.memories) > limit:
                times = sorted((row.content.occurred_us for row in bucket.memories), reverse=True)
                # Of one millisecond all stay or all go: those that are one too many go.
                return min(from_ms(times[limit - newer] // 1000 + 1), self._now)
            newer += len(bucket.memories)
        return None


def _limits(keep: Keep, now: datetime) -> Iterator[tuple[Domain | None, datetime]]:
    """Domain (None: all) and the time before which its memories go."""
    general = keep.keep_days
    if general is not None:
        yield None, _ago(now, general)
    for domain, days in keep.domain_days.items():
        if general is None or days < general:
            yield domain, _ago(now, days)


def _ago(now: datetime, days: float) -> datetime:
    return from_ms(max(to_ms(now - timedelta(days=days)), 0))


def _dated(bucket: BucketRows) -> Iterator[Dated]:
    for memory in bucket.memories:
        yield Dated.of_memory(memory.ident, memory.content)
    for ident, body in bucket.shifts.items():
        yield Dated.of_shift(ident, body)
