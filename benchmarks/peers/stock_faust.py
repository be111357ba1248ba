"""A stock Faust application: one agent, two tables in memory with a changelog, one output an event."""

from __future__ import annotations

import os

import faust

from peers import fold

PARTITIONS = int(os.environ["PARTITIONS"])

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


class Event(faust.Record, serializer="json", validation=True):
    """An engagement report with all signals."""

    tenant_id: str
    agent_id: str
    event_id: str
    occurred_at: str
    turn_id: str
    type: str
    description: str
    other_agent_id: str
    responded: bool
    response_time_ms: float
    response_length: int
    sentiment_shift: float
    reaction_count: int
    continued: bool


events = app.topic(os.environ["EVENTS"], key_type=bytes, key_serializer="raw", value_type=Event)
outputs = app.topic(os.environ["OUTPUT"], key_type=str, key_serializer="raw", value_serializer="json")
moods = app.Table("mood", partitions=PARTITIONS)
trends = app.Table("trend", partitions=PARTITIONS)


@app.agent(events)
async def work(stream: faust.Stream[Event]) -> None:
    """Fold each event into the two rows of its agent, and give them out."""
    async for event in stream:
        key, t = f"{event.tenant_id}/{event.agent_id}", fold.seconds(event.occurred_at)
        moods[key] = mood = fold.mood(moods.get(key), event, t)
        trends[key] = trend = fold.trend(trends.get(key), event, t)
        await outputs.send(key=key.encode(), value=fold.output(event, mood, trend))
