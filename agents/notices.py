"""Notices of trends: when a direction is entered or left, or a step is seen (`TrendChanged`).

A notice has stricter thresholds than the label of a query, and remembers what it announced last, so that a trend is
announced once. It depends on when somebody looked, so it lies outside the folded state; its row only keeps a restart
from announcing everything again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import structlog

from moodstream.affect.bulk import Looks, look_all
from moodstream.affect.signals import SIGNALS, sign_of
from moodstream.affect.statistics import NOTICE_IN, STABLE, TrendSummary, notice_step, summary
from moodstream.affect.trends import TrendRow
from moodstream.agents.agent_rows import AgentRows, is_pair
from moodstream.schemas.codec import encode
from moodstream.schemas.identity import split_key
from moodstream.schemas.instants import from_ms
from moodstream.schemas.outputs import TrendChanged, output_id
from moodstream.state.notice_row import NoticeState
from moodstream.state.rows import NOTICE, PAIR_PREFIX, TRENDS
from moodstream.streams.sending import Message

log = structlog.get_logger(__name__)

_LEAST: Final = 10
"""Observations below which no direction can be told."""
_STEPS_APART: Final = 16
"""Turns between two steps, at least: twice what the change-point test wants on each side."""
MOST: Final = 256
"""Trends that are remembered of an agent with many others; of one that was forgotten the notice may come again."""
_NOTHING: Final = NoticeState()


@dataclass(frozen=True, slots=True)
class Turn:
    """One notice: what is announced of one signal of one row."""

    key: bytes
    signal: str
    other: str | None
    state: NoticeState

    @property
    def name(self) -> str:
        """Under what it is remembered: the signal, in a pair `signal/other agent`."""
        return self.signal if self.other is None else f"{self.signal}/{self.other}"

    def message(self) -> Message:
        """The notice as a record."""
        tenant, agent = split_key(self.key)
        kind = f"trend/{self.signal}" + (f"/{self.other}" if self.other else "")
        state = self.state
        event = TrendChanged(
            tenant_id=tenant,
            agent_id=agent,
            event_id=output_id(tenant, agent, kind, state.offset),
            occurred_at=from_ms(state.since),
            sequence=state.offset,
            signal=self.signal,  # type: ignore[arg-type]  # one of the seven
            other_agent_id=self.other,
            direction=state.direction,  # type: ignore[arg-type]  # one of the four
            previous=state.previous,  # type: ignore[arg-type]
            p=state.p,
            slope_per_hour=state.slope,
            change_at=None if state.change is None else from_ms(state.change),
            observations=state.observations,
        )
        wire = encode(event, mode="binary")
        return Message(wire.key, wire.value, wire.headers)


def look(agents: Sequence[AgentRows]) -> list[Turn]:
    """Look at the trend rows that a chunk has changed, all in one pass; note and give what has turned."""
    places = [(agent, suffix) for agent in agents for suffix in agent.touched if _is_due(agent, suffix)]
    if not places:
        return []
    turns: list[Turn] = []
    try:
        looks = look_all([agent.trends[suffix] for agent, suffix in places])
        seen = looks.seen(NOTICE_IN)
        for index, (agent, suffix) in enumerate(places):
            # Most rows rest, and nothing is seen in them: so they are passed over before their signals are.
            if seen[index] or (agent.notices and _is_told(agent, suffix)):
                turns += turns_of(agent, suffix, looks, index)
        for agent in agents:
            if len(agent.notices) > MOST:
                _forget(agent, {turn.name for turn in turns if turn.key == agent.key})
    except Exception:
        log.exception("looking at trends raised")  # outside the folded state: no reason to stop a partition
    return turns


def announced_again(agent: AgentRows, since: int) -> list[Turn]:
    """Give the notices that were noted at offsets from `since` on: perhaps nobody was told."""
    found = []
    for name, state in agent.notices.items():
        signal, _, other = name.partition("/")
        if state.offset >= since:
            found.append(Turn(agent.key, signal, other or None, state))
    return found


def _forget(agent: AgentRows, fresh: AbstractSet[str]) -> None:
    """Keep the row small: forget what was announced of pairs the longest ago, trends that have ended first.

    What is `fresh`, of this very chunk, is kept in any case: after a crash it has to be announced again.
    """
    old = [name for name in agent.notices if "/" in name and name not in fresh]
    old.sort(key=lambda name: (agent.notices[name].direction != STABLE, agent.notices[name].offset))
    for name in old[: len(agent.notices) - MOST]:
        del agent.notices[name]
        agent.touched.setdefault(NOTICE, max(agent.touched.values()))


def _is_due(agent: AgentRows, suffix: bytes) -> bool:
    return (suffix == TRENDS or is_pair(suffix)) and agent.trends[suffix].count >= _LEAST


def _is_told(agent: AgentRows, suffix: bytes) -> bool:
    """Whether a trend of this row was announced that has not ended."""
    other = suffix.removeprefix(PAIR_PREFIX).decode() if is_pair(suffix) else ""
    return any(state.direction != STABLE and name.partition("/")[2] == other for name, state in agent.notices.items())


def turns_of(agent: AgentRows, suffix: bytes, looks: Looks, index: int) -> Iterator[Turn]:
    """Note and give what has turned in one trend row of an agent, which `looks` has seen as its row `index`."""
    other = suffix.removeprefix(PAIR_PREFIX).decode() if is_pair(suffix) else None
    offset = agent.touched[suffix]
    for bit, signal in enumerate(SIGNALS):
        name = signal if other is None else f"{signal}/{other}"
        before = agent.notices.get(name, _NOTHING)
        if not _may_turn(before, looks, index, bit):
            continue
        sign = sign_of(signal, agent.profile.values.trend_signs)
        row = agent.trends[suffix]
        found = summary(row, signal, int(looks.newest_ms[index, bit]), sign)
        step = found.change_at_ms if _is_new_step(before, found, row) else None
        state = _next_state(before, found, step, offset)
        if state is not None:
            agent.notices[name] = state
            agent.touched[NOTICE] = max(offset, agent.touched.get(NOTICE, offset))
            yield Turn(agent.key, signal, other, state)


def _may_turn(before: NoticeState, looks: Looks, index: int, bit: int) -> bool:
    """Whether a signal can have turned at all: one that rests, without evidence and without a step, cannot."""
    evident = bool(looks.p[index, bit] < NOTICE_IN) or int(looks.change_ms[index, bit]) > before.step
    return evident or before.direction != STABLE


def _next_state(before: NoticeState, found: TrendSummary, step: int | None, offset: int) -> NoticeState | None:
    """What to remember and announce, with the time of a new step; None when nothing has turned."""
    direction = notice_step(before.direction, found)
    if direction == before.direction and step is None:
        return None
    return NoticeState(
        direction=direction,
        previous=before.direction,
        since=found.newest_ms or 0,
        change=step,
        step=before.step if step is None else step,
        p=found.p,
        slope=found.slope_per_hour,
        observations=found.observations,
        offset=offset,
    )


def _is_new_step(before: NoticeState, found: TrendSummary, row: TrendRow) -> bool:
    """A step that is seen at once is placed too early, and moves while more is known of it."""
    if found.change_at_ms is None or found.sign == 0:
        return False
    if before.step < 0:
        return True
    return sum(before.step < t <= found.change_at_ms for t, _ in row.observations(found.signal)) > _STEPS_APART
