"""A Quix Streams application: one stateful function, two entries of state a key with a changelog, one output an event.

Quix writes state and changelog once per key and commit. It validates nothing, so neither does the dataclass.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from quixstreams import Application, State

from peers import fold


@dataclass(slots=True)
class Event:
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


def step(value: dict[str, Any], state: State) -> dict[str, Any]:
    """Fold an event into the state of its key, and give both out."""
    event = Event(**value)
    t = fold.seconds(event.occurred_at)
    mood = fold.mood(state.get("mood"), event, t)
    trend = fold.trend(state.get("trend"), event, t)
    state.set("mood", mood)
    state.set("trend", trend)
    return fold.output(event, mood, trend)


app = Application(
    broker_address=os.environ["BOOTSTRAP"],
    consumer_group=os.environ["APP"],
    auto_offset_reset="earliest",
    commit_interval=3.0,
    state_dir=os.environ["FOLDER"],
    use_changelog_topics=True,
    processing_guarantee="at-least-once",
    loglevel="WARNING",
)
events = app.topic(os.environ["EVENTS"], key_deserializer="str", value_deserializer="json")
outputs = app.topic(os.environ["OUTPUT"], key_serializer="str", value_serializer="json")
app.dataframe(events).apply(step, stateful=True).to_topic(outputs)

if __name__ == "__main__":
    app.run()
