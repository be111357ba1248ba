"""The same folds as a stock Faust application would run them: one agent, two tables, one output an event.

It decodes with the same models, folds mood and trends of the agent with the same functions and keeps the same bytes.
It keeps no memories, no pairs, no duplicates and no promises, so it does less than the worker it is compared with.
"""

from __future__ import annotations

import os

import faust

from moodstream.affect.appraisal import appraise
from moodstream.affect.mood import Dynamics, MoodRow, Signal, mood_at, octant, shift
from moodstream.affect.trends import TrendRow, observe, turn_key, values_of
from moodstream.schemas.codec import decode
from moodstream.schemas.events import Engagement, Event
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_ms
from moodstream.schemas.limits import Limits
from moodstream.schemas.outputs import MoodChanged, output_id
from moodstream.schemas.profile import DEFAULT_PROFILE

LIMITS, PROFILE = Limits(), DEFAULT_PROFILE
DYNAMICS = Dynamics.of(PROFILE)
PARTITIONS = int(os.environ["PARTITIONS"])
RAW = {"key_type": bytes, "value_type": bytes}

app = faust.App(
    os.environ["APP"],
    broker="kafka://" + os.environ["BOOTSTRAP"],
    store="memory://",
    datadir=os.environ["FOLDER"],
    topic_partitions=PARTITIONS,
    topic_replication_factor=1,
    topic_disable_leader=True,
    consumer_auto_offset_reset="earliest",
    web_enabled=False,
)
events = app.topic(os.environ["EVENTS"], **RAW)
changes = app.topic(os.environ["CHANGES"], **RAW)
moods = app.Table("moods", partitions=PARTITIONS, **RAW)
trends = app.Table("trends", partitions=PARTITIONS, **RAW)


@app.agent(events)
async def fold(stream: faust.Stream[bytes]) -> None:
    """Fold each event into the two rows of its agent, and announce the mood."""
    async for record in stream.events():
        message = record.message
        headers = list(message.headers or ())
        event = decode(message.key, message.value, headers, limits=LIMITS, timestamp_ms=None).event
        row, t = MoodRow.unpack(moods.get(message.key)), to_ms(event.occurred_at)
        delta = appraise(event, PROFILE.rules)
        if delta is not None:
            shift(row, Signal(t, hash_id(event.event_id), delta), DYNAMICS, event.description)
            moods[message.key] = row.pack()
        trends[message.key] = observed(trends.get(message.key), event, t)
        await changes.send(key=message.key, value=announcement(row, event, t, message.offset))


def observed(body: bytes | None, event: Event, t: int) -> bytes:
    """Fold the event into the agent's trend row."""
    row = TrendRow.unpack(body)
    key = (
        turn_key(event.other_agent_id, event.turn_id) if isinstance(event, Engagement) else turn_key("", event.event_id)
    )
    observe(row, key, hash_id(event.event_id), t, values_of(event, PROFILE.rules))
    return row.pack()


def announcement(row: MoodRow, event: Event, t: int, offset: int) -> bytes:
    """Say what the mood is now."""
    reading = mood_at(row, t, DYNAMICS)
    changed = MoodChanged(
        tenant_id=event.tenant_id,
        agent_id=event.agent_id,
        event_id=output_id(event.tenant_id, event.agent_id, "mood", offset),
        occurred_at=event.occurred_at,
        sequence=offset,
        mood=reading.mood,
        baseline=PROFILE.baseline,
        tau_hours=PROFILE.tau_hours,
        displacement=reading.displacement,
        cause=row.cause,
        octant=octant(reading.mood),
        octants_passed=[],
    )
    return changed.model_dump_json().encode()
