"""`POST recall`: the memories that come to mind, with the terms of their scores."""

from __future__ import annotations

from fastapi import APIRouter

from moodstream.query.access import Reader, Settings
from moodstream.query.answers import AgentApplied, Applied, Axes, RecallAnswer, Recalled, Terms
from moodstream.query.asked import RecallBody
from moodstream.query.memories import fields_of
from moodstream.query.parameters import or_now
from moodstream.query.paths import Tenant
from moodstream.query.retrieval import Found, recollect
from moodstream.query.routing import SteadyRoute
from moodstream.schemas.instants import to_us

router = APIRouter(route_class=SteadyRoute)


@router.post("/recall")
async def recall(tenant: Tenant, reader: Reader, settings: Settings, body: RecallBody) -> RecallAnswer:
    """Recall memories of up to 25 agents: filter first, score all that remain, then take the best k."""
    as_of = or_now(body.as_of)
    found = await recollect(reader, tenant, body, to_us(as_of), settings.recall_candidates)
    mood = found.feeling.query.mood
    return RecallAnswer(
        tenant_id=tenant,
        results=[_recalled(each) for each in found.results],
        candidates=found.candidates,
        broken=found.broken,
        as_of=as_of,
        order=body.order,
        mood=None if mood is None else Axes.of(mood),
        mood_approximate=found.feeling.approximate,
        applied=[AgentApplied(agent_id=view.agent, **dict(Applied.of(view))) for view in found.views],
    )


def _recalled(found: Found) -> Recalled:
    terms = Terms(**{name: getattr(found.score, name) for name in Terms.model_fields})
    return Recalled(**fields_of(found.agent, found.memory), score=terms)
