"""The oracle of the peers: their fold over one partition of the log, in this process, beside what they gave out."""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import NamedTuple

import msgspec

from moodstream.streams.changelog import read_records
from moodstream.streams.settings import StreamSettings
from peers import fold

FOLDED = 200_000
"""Events of the partition that are folded: so many fit in a few seconds."""
CHECKED = 20_000
"""Outputs that are read at most, where there is one an event; else as many as events are folded."""
TOLERANCE = 1e-9
"""Relative; of what a difference is made of where digits cancel out."""

_PARTITION = 0
_WHAT = ("outputs", f"partition {_PARTITION}")


class Checked(NamedTuple):
    """How many outputs or rows were compared with an oracle, and how many are not as they should be."""

    checked: int
    wrong: int
    unit: str
    """What was checked: outputs, or rows."""
    scope: str
    """Of what."""


class Event(msgspec.Struct):
    """What the fold takes of an event."""

    tenant_id: str
    agent_id: str
    event_id: str
    occurred_at: str
    responded: bool
    response_time_ms: float
    response_length: int
    sentiment_shift: float
    reaction_count: int
    continued: bool


class Output(msgspec.Struct):
    """What a peer gives out."""

    tenant_id: str
    agent_id: str
    event_id: str
    p: float
    a: float
    d: float
    mean: list[float]
    slope: list[float]

    @property
    def values(self) -> tuple[float, ...]:
        """All numbers in one row."""
        return (self.p, self.a, self.d, *self.mean, *self.slope)


class Reference:
    """What should be given out for each event, in the order of the log."""

    def __init__(self) -> None:
        self.events: dict[str, tuple[str, array[float]]] = {}
        """By id: the agent, then the values of the output, each followed by how far it may be off."""
        self._states: dict[str, tuple[fold.State, fold.State]] = {}

    def add(self, body: bytes) -> None:
        """Fold the next event."""
        event = _EVENTS.decode(body)
        t = fold.seconds(event.occurred_at)
        before = self._states.get(event.agent_id, (None, None))
        mood, trend = fold.mood(before[0], event, t), fold.trend(before[1], event, t)
        self._states[event.agent_id] = mood, trend
        self.events[event.event_id] = event.agent_id, _expected(event, mood, trend)

    def check(self, outputs: Iterable[bytes], *, one_each: bool) -> Checked:
        """Compare outputs. `one_each`: there has to be one an event, in the order of the log.

        Otherwise each is compared with what it should be after the event that it names, if that one was folded.
        """
        given = [_OUTPUTS.decode(body) for body in outputs]
        if one_each:
            pairs = list(zip(given, self.events, strict=False))
            wrong = sum(one.event_id != event_id or not self._agrees(one) for one, event_id in pairs)
            return Checked(len(pairs), wrong, *_WHAT)
        known = [one for one in given if one.event_id in self.events]
        return Checked(len(known), sum(not self._agrees(one) for one in known), *_WHAT)

    def _agrees(self, output: Output) -> bool:
        agent, expected = self.events[output.event_id]
        values = output.values
        near = (abs(x - y) <= off for x, y, off in zip(values, expected[::2], expected[1::2], strict=True))
        return output.agent_id == agent and all(near)


_EVENTS = msgspec.json.Decoder(Event)
_OUTPUTS = msgspec.json.Decoder(Output)


def _expected(event: Event, mood: fold.State, trend: fold.State) -> array[float]:
    given = fold.output(event, mood, trend)
    values = [given["p"], given["a"], given["d"], *given["mean"], *given["slope"]]
    near = [TOLERANCE * max(1.0, abs(value)) for value in values[:7]] + [_slope_error(trend, i) for i in fold.SUMS]
    return array("d", [number for pair in zip(values, near, strict=True) for number in pair])


def _slope_error(trend: fold.State, i: int) -> float:
    """How far a slope may be off: two libraries' exp differ in the last digit, and the sums cancel out."""
    w, wx, wxx, wy, wxy = trend[i : i + 5]
    spread = w * wxx - wx * wx
    if spread <= fold.FLAT:
        return TOLERANCE
    slope = abs(w * wxy - wx * wy) / spread
    return TOLERANCE * (abs(w * wxy) + abs(wx * wy) + slope * (w * wxx + wx * wx)) / spread


async def reference(topics: StreamSettings) -> Reference:
    """Fold the beginning of a partition."""
    found = Reference()
    async for body in _bodies(topics, topics.topics.events, FOLDED):
        found.add(body)
    return found


async def checked(found: Reference, topics: StreamSettings, output: str, *, one_each: bool) -> Checked:
    """Compare the first outputs of the same partition."""
    bodies = [body async for body in _bodies(topics, output, CHECKED if one_each else FOLDED)]
    return found.check(bodies, one_each=one_each)


async def _bodies(topics: StreamSettings, topic: str, most: int) -> AsyncIterator[bytes]:
    async with aclosing(read_records(topics, topic, _PARTITION, 0)) as pages:
        count = 0
        async for page in pages:
            for record in page[: most - count]:
                yield record.value
            count += len(page)
            if count >= most:
                return
