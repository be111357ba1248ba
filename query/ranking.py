"""The agents of a tenant by the trend of one signal: all are looked at together, and the answer says how sure it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moodstream.affect.bulk import look_all
from moodstream.affect.ranking import false_shares, strengths
from moodstream.affect.signals import SIGNALS, sign_of
from moodstream.affect.statistics import (
    FALSE_STEPS,
    HALF_LIFE_HOURS,
    INSUFFICIENT,
    LABEL_P,
    STABLE,
    WINDOW_HALF_LIVES,
    heading,
)
from moodstream.affect.trends import TrendRow
from moodstream.query.answers import AgentLine, AgentsAnswer, AgentTrend, Position, Ranking, TrendRule
from moodstream.schemas.instants import from_ms, to_ms
from moodstream.schemas.wire_names import TrendSignal
from moodstream.state.profile_row import trend_signs_of
from moodstream.state.reader import StateReader
from moodstream.state.rows import PROFILE, TRENDS
from moodstream.state.views import AgentView

First = Literal["improving", "declining"]

_STALE_MS = WINDOW_HALF_LIVES * HALF_LIFE_HOURS * 3_600_000


@dataclass(slots=True)
class _Seen:
    """What is seen of the agents so far, a place for each."""

    lines: list[AgentLine] = field(default_factory=list)
    signs: list[int] = field(default_factory=list)
    looks: list[NDArray[np.float64]] = field(default_factory=list)
    """Per page: p, slope, observations, whether testable, times of step and newest turn (ms, -1: none)."""


async def ranking(
    reader: StateReader, tenant: str, signal: TrendSignal, first: First | None, as_of: datetime, limit: int, most: int
) -> AgentsAnswer:
    """Rank at most `most` agents, and give the `limit` that come first. Those of which nothing can be told are last."""
    known, seen = await reader.count_agents(tenant), _Seen()
    async for page in reader.rows_of(tenant, (TRENDS, PROFILE), most):
        # In a thread, so that others are answered between the pages of a large tenant.
        seen.looks.append(await asyncio.to_thread(_look, page, signal, to_ms(as_of)))
        seen.lines += map(_line, page)
        seen.signs += [_sign(view, signal) for view in page]
    lines, rule = _ranked(seen, first or "improving", to_ms(as_of), limit)
    told = Ranking(
        signal=signal, first=first or "improving", as_of=as_of, agents=known, read=len(seen.lines), rule=rule
    )
    return AgentsAnswer(tenant_id=tenant, agents=lines, next=None, ranking=told)


def rule_of(looks: int) -> TrendRule:
    """How often the rule is wrong, and what that means for so many looks."""
    return TrendRule(
        false_direction=LABEL_P, false_step=FALSE_STEPS, looks=looks, expected_false=round(looks * LABEL_P, 6)
    )


def _look(page: Sequence[AgentView], signal: TrendSignal, as_of: int) -> NDArray[np.float64]:
    rows = [TrendRow.unpack(view.body(TRENDS)) for view in page]
    rows = [row.until(as_of) if view.facts.newest > as_of else row for row, view in zip(rows, page, strict=True)]
    looks, bit = look_all(rows), SIGNALS.index(signal)
    columns = (looks.p, looks.slope, looks.observations, looks.testable, looks.change_ms, looks.newest_ms)
    return np.stack([column[:, bit].astype(np.float64) for column in columns], axis=1)


def _sign(view: AgentView, signal: TrendSignal) -> int:
    body = view.body(PROFILE)
    return sign_of(signal, view.default_profile.trend_signs if body is None else trend_signs_of(body))


def _line(view: AgentView) -> AgentLine:
    return AgentLine(
        agent_id=view.agent,
        events=view.facts.accepted,
        newest=from_ms(view.facts.newest),
        version=view.version,
        position=Position(partition=view.meta.partition, offset=view.meta.source),
    )


def _ranked(seen: _Seen, first: First, as_of: int, limit: int) -> tuple[list[AgentLine], TrendRule]:
    looks = np.concatenate([*seen.looks, np.empty((0, 6))])
    p, slope, testable, signs = looks[:, 0], looks[:, 1], looks[:, 3] > 0, np.array(seen.signs, np.int64)
    strength, q = strengths(p, slope, signs), np.ones(len(p))
    q[testable] = false_shares(p[testable])
    ascending = strength if first == "declining" else -strength
    keys = zip((~testable).tolist(), ascending.tolist(), [line.agent_id.encode() for line in seen.lines], strict=True)
    places = [place for _, place in sorted((key, place) for place, key in enumerate(keys))][:limit]
    lines = [
        seen.lines[at].model_copy(
            update={"trend": _trend(looks[at].tolist(), float(strength[at]), float(q[at]), seen.signs[at], as_of)}
        )
        for at in places
    ]
    return lines, rule_of(int(testable.sum()))


def _trend(look: list[float], strength: float, q: float, sign: int, as_of: int) -> AgentTrend:
    p, slope, observations, testable, change, newest = look
    told = testable > 0
    return AgentTrend(
        direction=_direction(p, slope, sign) if told else INSUFFICIENT,
        strength=strength if told else None,
        observations=int(observations),
        p=p if told else None,
        q=q if told else None,
        slope_per_hour=slope if told else None,
        change_at=from_ms(int(change)) if change >= 0 else None,
        newest=from_ms(int(newest)) if newest >= 0 else None,
        stale=newest >= 0 and as_of - newest > _STALE_MS,
    )


def _direction(p: float, slope: float, sign: int) -> str:
    return heading(slope, sign) if p < LABEL_P else STABLE
