"""`GET agents/{agent}/mood`: the mood at any time, computed when it is asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from moodstream.affect.dynamics import MS_PER_HOUR, octant
from moodstream.affect.mood_row import Late
from moodstream.query.access import Reader
from moodstream.query.answers import Applied, Axes, LateSignals, MoodAnswer, MoodExplanation
from moodstream.query.explaining import explanation_of
from moodstream.query.minds import SUFFIXES, Mind, Mood, cause_of, mood_then
from moodstream.query.parameters import MoodParameters, or_now
from moodstream.query.paths import AgentId, Tenant
from moodstream.query.routing import SteadyRoute
from moodstream.schemas.instants import from_ms, to_ms
from moodstream.state.views import AgentView

router = APIRouter(route_class=SteadyRoute)


@router.get("/agents/{agent}/mood")
async def mood(tenant: Tenant, agent: AgentId, reader: Reader, asked: Annotated[MoodParameters, Query()]) -> MoodAnswer:
    """Tell an agent's mood at a time, default now. Nothing is written by reading it."""
    at = or_now(asked.at)
    view = await reader.agent(tenant, agent, SUFFIXES, buckets=asked.explain or asked.at is not None)
    mind = Mind.of(view)
    found = await mood_then(reader, view, mind, to_ms(at))
    cause = await cause_of(reader, view, mind, found.moved_by)
    why = await explanation_of(reader, view, mind, found, to_ms(at)) if asked.explain else None
    return _answer(view, mind, found, at, cause, why)


def _answer(
    view: AgentView, mind: Mind, found: Mood, at: datetime, cause: tuple[str, int] | None, why: MoodExplanation | None
) -> MoodAnswer:
    dynamics, reading = found.dynamics, found.reading
    return MoodAnswer(
        tenant_id=view.tenant,
        agent_id=view.agent,
        at=at,
        mood=Axes.of(reading.mood),
        octant=octant(reading.mood),
        displacement=Axes.of(reading.displacement),
        baseline=Axes.of(dynamics.baseline),
        tau_hours=Axes.of([tau / MS_PER_HOUR for tau in dynamics.tau_ms]),
        max_displacement=Axes.of(dynamics.bound),
        approximate=reading.approximate,
        cause=None if cause is None else cause[0],
        moved_at=None if cause is None else from_ms(cause[1]),
        late=_late(mind.row.late),
        explanation=why,
        applied=Applied.of(view),
    )


def _late(late: Late | None) -> LateSignals | None:
    if late is None:
        return None
    return LateSignals(count=late.count, since=from_ms(late.since), until=from_ms(late.until))
