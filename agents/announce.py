"""What the worker tells subscribers: the newest mood of an agent, its profile, trends that have turned.

Each output's id is (agent, kind, sequence) with the log offset of the announced row as sequence, so a repeat, after a
crash between the write and the commit, is recognisable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from moodstream.affect.dynamics import Triple
from moodstream.affect.mood import mood_at, octant
from moodstream.agents.agent_rows import AgentRows
from moodstream.schemas.codec import headers_of
from moodstream.schemas.identity import split_key
from moodstream.schemas.instants import from_ms, iso
from moodstream.schemas.outputs import MoodChanged, output_id_of
from moodstream.streams.sending import Message

ERASED_CAUSE: Final = "erased"
"""The cause of a mood whose cause was erased."""


class _Said(msgspec.Struct):
    """What `MoodChanged` says, in its order: our own values, and one for every agent of a chunk: no model is made."""

    tenant_id: str
    agent_id: str
    event_id: str
    occurred_at: str
    sequence: int
    mood: Triple
    baseline: Triple
    tau_hours: Triple
    displacement: Triple
    cause: str
    octant: str
    octants_passed: Sequence[str]


_encode: Final = msgspec.json.Encoder().encode


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
    event_id, time = output_id_of(agent.key, kind, agent.mood_offset), iso(from_ms(t))
    said = _Said(
        tenant,
        name,
        event_id,
        time,
        agent.mood_offset,
        reading.mood,
        dynamics.baseline,
        agent.profile.values.tau_hours,
        reading.displacement,
        row.cause or ERASED_CAUSE,
        octant(reading.mood),
        octants,
    )
    return Message(agent.key, _encode(said), headers_of(MoodChanged, agent.key, event_id, time))


def profile_message(agent: AgentRows) -> Message:
    """The profile in force, for the compacted topic of profiles; nothing for an agent that has none any more."""
    if not agent.profile.revisions:
        return Message(agent.key, None, [])
    return Message(agent.key, agent.profile.values.canonical(), [("content-type", b"application/json")])
