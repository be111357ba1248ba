"""Why a mood is what it is: the shifts behind it are read with their causes, and taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import Final

from moodstream.affect.explain import Explanation, Moved, Part, explain, reach_ms
from moodstream.affect.mood_row import Shift, cut_cause
from moodstream.query.answers import Axes, MoodExplanation, MoodPart
from moodstream.query.minds import Mind, Mood
from moodstream.schemas.instants import from_ms
from moodstream.state.profile_row import dynamics_of
from moodstream.state.reader import StateReader
from moodstream.state.rows import MemoryContent
from moodstream.state.views import AgentView, BucketRows, StoredMemory

SHIFTS_READ: Final = 20_000
"""Once so many shifts have been read, no further bucket is: they count as `earlier`."""

_US_PER_MS = 1000

Told = dict[bytes, MemoryContent]
"""What the events behind shifts say, by H(event_id)."""


async def explanation_of(reader: StateReader, view: AgentView, mind: Mind, found: Mood, t: int) -> MoodExplanation:
    """Take the mood at `t` (ms) apart. The view must have been read with its buckets."""
    told, past = await _shifts(reader, view, mind, t)
    terms = explain(mind.row, past, mind.revisions, t, found.reading, initial=mind.initial, dynamics=found.dynamics)
    return _answer(terms, told)


async def _shifts(reader: StateReader, view: AgentView, mind: Mind, t: int) -> tuple[Told, list[Moved]]:
    """Read the shifts that may count, newest bucket first."""
    told: Told = {}
    past: list[Moved] = []
    kept = {each[1] for each in mind.row.kept}
    since = min(t, mind.row.newest_t) - round(reach_ms(mind.revisions, mind.initial, mind.profile.dynamics))
    async for rows in reader.memories(view, max(since, 0) * _US_PER_MS, (t + 1) * _US_PER_MS):
        for stored in rows.memories:
            shifted = stored.ident in kept or stored.ident in rows.shifts  # else the mood was erased since
            if shifted and stored.shift is not None and stored.content.occurred_us // _US_PER_MS <= t:
                told[stored.ident] = stored.content
                if stored.ident not in kept:
                    past.append(_moved(stored, stored.shift, _point(stored.ident, rows)))
        past += _nameless(rows, t)
        if len(told) >= SHIFTS_READ:
            await reader.confirm(view)
            break
    return told, past


def _moved(stored: StoredMemory, shift: tuple[float, ...], point: Shift | None) -> Moved:
    ms = stored.content.occurred_us // _US_PER_MS
    return Moved(ms, stored.ident, (shift[0], shift[1], shift[2]), dynamics_of(shift[3:]), point)


def _nameless(rows: BucketRows, t: int) -> list[Moved]:
    """Shifts of memories that were erased: what they moved stays."""
    named = {stored.ident for stored in rows.memories}
    points = [_point(ident, rows) for ident in rows.shifts if ident not in named]
    return [Moved(point.t, point.id, None, None, point) for point in points if point is not None and point.t <= t]


def _point(ident: bytes, rows: BucketRows) -> Shift | None:
    try:
        return Shift.unpack(ident, rows.shifts[ident])
    except PackingError:
        return None


def _answer(terms: Explanation, told: Mapping[bytes, MemoryContent]) -> MoodExplanation:
    return MoodExplanation(
        baseline=Axes.of(terms.baseline),
        shifts=Axes.of(terms.shifts),
        cut=Axes.of(terms.cut),
        earlier=Axes.of(terms.earlier),
        unlisted=terms.unlisted,
        parts=[_part(part, told.get(part.id)) for part in terms.parts],
    )


def _part(part: Part, content: MemoryContent | None) -> MoodPart:
    return MoodPart(
        kind="shift" if part.id else "profile",
        event_id=None if content is None else content.event_id,
        type=None if content is None else content.type,
        cause=None if content is None else cut_cause(content.text),
        occurred_at=from_ms(part.t),
        delta=Axes.of(part.delta),
        left=Axes.of(part.left),
        cut=Axes.of(part.cut),
        late=part.late,
    )
