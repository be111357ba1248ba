"""What the worker tells subscribers: the newest mood of an agent, its profile, trends that have turned.

Each output's id is (agent, kind, sequence) with the log offset of the announced row as sequence, so a repeat, after a
crash between the write and the commit, is recognisable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moodstream.affect.mood import mood_at, octant
from moodstream.agents.agent_rows import AgentRows
from moodstream.schemas.codec import encode
from moodstream.schemas.identity import split_key
from moodstream.schemas.instants import from_ms
from moodstream.schemas.outputs import MoodChanged, output_id
from moodstream.streams.sending import Message

ERASED_CAUSE: Final = "erased"
"""The cause of a mood whose cause was erased."""


def mood_changed(agent: AgentRows, octants: Sequence[str], kind: str = "mood") -> Message | None:
    """Announce the newest mood; None for an agent without one, or whose row is from before this log.

    `kind` is a part of the output's id.
    """
    row, dynamics = agent.mood, agent.profile.dynamics
    if row.empty or agent.mood_offset < 0:
        return None
    t = row.newest_t if row.base is None else max(row.newest_t, row.base.t)
    reading = mood_at(row, t, dynamics)
    tenant, name = split_key(agent.key)
    event = MoodChanged.model_construct(  # our own values, and one for every agent of a chunk
        tenant_id=tenant,
        agent_id=name,
        event_id=output_id(tenant, name, kind, agent.mood_offset),
        occurred_at=from_ms(t),
        sequence=agent.mood_offset,
        mood=reading.mood,
        baseline=dynamics.baseline,
        tau_hours=agent.profile.values.tau_hours,
        displacement=reading.displacement,
        cause=row.cause or ERASED_CAUSE,
        octant=octant(reading.mood),  # type: ignore[arg-type]  # one of the nine names
        octants_passed=list(octants),  # type: ignore[arg-type]
    )
    wire = encode(event, mode="binary")
    return Message(wire.key, wire.value, wire.headers)


def profile_message(agent: AgentRows) -> Message:
    """The profile in force, for the compacted topic of profiles; nothing for an agent that has none any more."""
    if not agent.profile.revisions:
        return Message(agent.key, None, [])
    return Message(agent.key, agent.profile.values.canonical(), [("content-type", b"application/json")])
