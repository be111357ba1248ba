"""Notices of trends: when a direction is entered or left, or a step is seen (contract §5, `TrendChanged`).

A notice has stricter thresholds than the label of a query, and remembers what it announced last, so that a trend is
announced once. It depends on when somebody looked, so it lies outside the folded state; its row only keeps a restart from
announcing everything again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from moodstream.affect.statistics import TrendSummary, notice_step, summary
from moodstream.affect.trends import SIGNALS, SIGNS, TrendRow
from moodstream.agents.agent_rows import AgentRows, is_pair
from moodstream.schemas.codec import encode
from moodstream.schemas.identity import split_key
from moodstream.schemas.instants import from_ms
from moodstream.schemas.outputs import TrendChanged, output_id
from moodstream.state.rows import NOTICE, PAIR_PREFIX, TRENDS
from moodstream.streams.sending import Message

_LEAST: Final = 10
"""Observations below which no direction can be told."""
_REST: Final = "stable"


@dataclass(frozen=True, slots=True)
class Turn:
    """One notice: what is announced of one signal of one row."""

    key: bytes
    signal: str
    other: str | None
    state: Mapping[str, Any]

    def message(self) -> Message:
        """The notice as a record."""
        tenant, agent = split_key(self.key)
        kind = f"trend/{self.signal}" + (f"/{self.other}" if self.other else "")
        sequence, change = self.state["offset"], self.state["change"]
        event = TrendChanged(
            tenant_id=tenant,
            agent_id=agent,
            event_id=output_id(tenant, agent, kind, sequence),
            occurred_at=from_ms(self.state["since"]),
            sequence=sequence,
            signal=self.signal,  # type: ignore[arg-type]  # one of the seven
            other_agent_id=self.other,
            direction=self.state["direction"],
            previous=self.state["previous"],
            p=self.state["p"],
            slope_per_hour=self.state["slope"],
            change_at=None if change is None else from_ms(change),
            observations=self.state["observations"],
        )
        wire = encode(event, mode="binary")
        return Message(wire.key, wire.value, wire.headers)


def look(agent: AgentRows) -> list[Turn]:
    """Look at the trend rows that a chunk has changed; note and give what has turned."""
    turns = []
    for suffix, offset in list(agent.touched.items()):
        if suffix == TRENDS or is_pair(suffix):
            turns += _look_at(agent, suffix, offset)
    if turns:
        agent.touched[NOTICE] = max(turn.state["offset"] for turn in turns)
    return turns


def announced_again(agent: AgentRows, since: int) -> list[Turn]:
    """Give the notices that were noted at offsets from `since` on: perhaps nobody was told."""
    found = []
    for name, state in agent.notice.items():
        signal, _, other = name.partition("/")
        if state["offset"] >= since:
            found.append(Turn(agent.key, signal, other or None, state))
    return found


def _look_at(agent: AgentRows, suffix: bytes, offset: int) -> Iterator[Turn]:
    row = agent.trends[suffix]
    if len(row.turns) < _LEAST:
        return
    other = suffix.removeprefix(PAIR_PREFIX).decode() if is_pair(suffix) else None
    for signal in SIGNALS:
        turn = _look_at_signal(agent, row, signal, other, offset)
        if turn is not None:
            yield turn


def _look_at_signal(agent: AgentRows, row: TrendRow, signal: str, other: str | None, offset: int) -> Turn | None:
    sign = agent.profile.values.trend_signs.get(signal, SIGNS[signal])  # type: ignore[call-overload]
    newest = row.newest(signal)
    if newest is None:
        return None
    found = summary(row, signal, newest, sign)
    name = signal if other is None else f"{signal}/{other}"
    before = agent.notice.get(name, {})
    state = _next_state(before, found, offset)
    if state is None:
        return None
    agent.notice[name] = state
    return Turn(agent.key, signal, other, state)


def _next_state(before: Mapping[str, Any], found: TrendSummary, offset: int) -> dict[str, object] | None:
    """What to remember and announce; None when nothing has turned."""
    raise NotImplementedError
