"""`GET agents/{agent}/trends`: how an agent's messages land, over all others or with one of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from moodstream.affect.signals import SIGNALS, sign_of
from moodstream.affect.statistics import TrendSummary, summary
from moodstream.affect.trends import TrendRow
from moodstream.query.access import Reader
from moodstream.query.answers import Applied, TrendAnswer, TrendsAnswer
from moodstream.query.parameters import TrendsParameters, or_now
from moodstream.query.paths import AgentId, Tenant
from moodstream.query.ranking import rule_of
from moodstream.schemas.errors import InvalidQuery
from moodstream.schemas.instants import from_ms, to_ms
from moodstream.state.rows import PROFILE, TRENDS, pair_suffix

router = APIRouter()

_OF_AGENT_ONLY = "outcome_success"


@router.get("/agents/{agent}/trends")
async def trends(
    tenant: Tenant, agent: AgentId, reader: Reader, asked: Annotated[TrendsParameters, Query()]
) -> TrendsAnswer:
    """Tell an agent's trends as of a time, default now; observations after that time are not seen."""
    as_of = or_now(asked.as_of)
    suffix = TRENDS if asked.other is None else pair_suffix(asked.other)
    names = _signals(asked)
    view = await reader.agent(tenant, agent, (suffix, PROFILE))
    row = TrendRow.unpack(view.body(suffix)).until(to_ms(as_of))
    signs = view.profile.values.trend_signs
    found = {name: summary(row, name, to_ms(as_of), sign_of(name, signs)) for name in names}
    return TrendsAnswer(
        tenant_id=tenant,
        agent_id=agent,
        other_agent_id=asked.other,
        as_of=as_of,
        signals={name: _answer(each) for name, each in found.items()},
        rule=rule_of(sum(each.p is not None for each in found.values())),
        applied=Applied.of(view),
    )


def _signals(asked: TrendsParameters) -> list[str]:
    of_pair = asked.other is not None
    if of_pair and asked.signal == _OF_AGENT_ONLY:
        raise InvalidQuery(f"signal: {_OF_AGENT_ONLY} is not known of a pair", field="signal", rule="choice")
    if asked.signal is not None:
        return [asked.signal]
    return [name for name in SIGNALS if not (of_pair and name == _OF_AGENT_ONLY)]


def _answer(found: TrendSummary) -> TrendAnswer:
    return TrendAnswer(
        direction=found.direction,
        observations=found.observations,
        sign=found.sign,
        decayed_count=found.decayed_count,
        decayed_mean=found.decayed_mean,
        rate=found.rate,
        slope_per_hour=found.slope_per_hour,
        standard_error=found.standard_error,
        p=found.p,
        delta=found.delta,
        volatility=found.volatility,
        acceleration=found.acceleration,
        change_at=None if found.change_at_ms is None else from_ms(found.change_at_ms),
        duration_hours=found.duration_hours,
        newest=None if found.newest_ms is None else from_ms(found.newest_ms),
        stale=found.stale,
    )
