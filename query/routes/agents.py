"""`GET agents`: the agents of a tenant, page by page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from moodstream.query.access import Reader
from moodstream.query.answers import AgentLine, AgentsAnswer, Position
from moodstream.query.parameters import AgentsParameters
from moodstream.query.paths import Tenant
from moodstream.schemas.instants import from_ms
from moodstream.state.views import AgentEntry

router = APIRouter()


@router.get("/agents")
async def agents(tenant: Tenant, reader: Reader, asked: Annotated[AgentsParameters, Query()]) -> AgentsAnswer:
    """List the agents of a tenant. A tenant that nobody knows has none."""
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
