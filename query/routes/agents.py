"""`GET agents`: the agents of a tenant, page by page, or ranked by a trend."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from moodstream.query.access import Reader, Settings
from moodstream.query.answers import AgentLine, AgentsAnswer, Position
from moodstream.query.parameters import AgentsParameters, or_now
from moodstream.query.paths import Tenant
from moodstream.query.ranking import ranking
from moodstream.schemas.instants import from_ms
from moodstream.state.views import AgentEntry

router = APIRouter()


@router.get("/agents")
async def agents(
    tenant: Tenant, reader: Reader, settings: Settings, asked: Annotated[AgentsParameters, Query()]
) -> AgentsAnswer:
    """List the agents of a tenant, or rank them by a trend. A tenant that nobody knows has none."""
    if asked.order == "trend" and asked.signal is not None:
        as_of = or_now(asked.as_of)
        return await ranking(reader, tenant, asked.signal, asked.first, as_of, asked.limit, settings.ranked_agents)
    found = await reader.agents(tenant, asked.after, asked.limit + 1)
    page = found[: asked.limit]
    following = page[-1].agent if len(found) > asked.limit else None
    return AgentsAnswer(tenant_id=tenant, agents=[_line(each) for each in page], next=following)


def _line(entry: AgentEntry) -> AgentLine:
    return AgentLine(
        agent_id=entry.agent,
        events=entry.facts.accepted,
        newest=from_ms(entry.facts.newest),
        version=entry.version,
        position=Position(partition=entry.partition, offset=entry.source),
    )
