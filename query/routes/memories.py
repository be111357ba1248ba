"""`GET agents/{agent}/memories[/{id}]`: what an agent remembers, newest first."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from moodstream.query import listing
from moodstream.query.access import Reader
from moodstream.query.answers import Applied, MemoriesAnswer, MemoryAnswer
from moodstream.query.memories import answer, kept_points, remembered
from moodstream.query.minds import SUFFIXES, Mind
from moodstream.query.parameters import MemoriesParameters
from moodstream.query.paths import AgentId, MemoryId, Tenant
from moodstream.query.routing import SteadyRoute
from moodstream.schemas.errors import NotFound
from moodstream.schemas.identity import MOOD_PREFIX

router = APIRouter(route_class=SteadyRoute)


@router.get("/agents/{agent}/memories")
async def memories(
    tenant: Tenant, agent: AgentId, reader: Reader, asked: Annotated[MemoriesParameters, Query()]
) -> MemoriesAnswer:
    """List an agent's memories, newest first; the shifts of its mood are memories of the domain `mood`."""
    after = listing.Mark.parse(asked.after)
    view = await reader.agent(tenant, agent, SUFFIXES, buckets=True)
    page = await listing.page_of(
        reader,
        view,
        Mind.of(view),
        domains=asked.domain,
        since=asked.since,
        until=asked.until,
        after=after,
        limit=asked.limit,
    )
    return MemoriesAnswer(
        tenant_id=tenant,
        agent_id=agent,
        memories=[answer(agent, each) for each in page.memories],
        broken=page.broken,
        next=None if page.next is None else str(page.next),
        applied=Applied.of(view),
    )


@router.get("/agents/{agent}/memories/{memory_id}")
async def memory(tenant: Tenant, agent: AgentId, memory_id: MemoryId, reader: Reader) -> MemoryAnswer:
    """Show one memory by its id: that of its event, or `mood:` and that of the event that moved the mood."""
    view = await reader.agent(tenant, agent, SUFFIXES)
    rows = await reader.memory(view, memory_id.removeprefix(MOOD_PREFIX))
    for each in remembered(rows, kept_points(Mind.of(view))):
        if each.memory_id == memory_id:
            return MemoryAnswer(tenant_id=tenant, memory=answer(agent, each), applied=Applied.of(view))
    raise NotFound("this agent has no such memory")
