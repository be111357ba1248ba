"""The memories of an agent as queries see them: events, and the shifts of the mood that they caused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import Any, Final, NamedTuple

from moodstream.affect.dynamics import Dynamics, mood_of
from moodstream.affect.mood import Shift, trajectory_points
from moodstream.query.answers import Memory
from moodstream.query.minds import Mind
from moodstream.schemas.attributes import text_of
from moodstream.schemas.identity import MOOD_PREFIX
from moodstream.schemas.instants import from_us
from moodstream.schemas.wire_names import Domain
from moodstream.state.profile_row import dynamics_of
from moodstream.state.rows import MemoryContent
from moodstream.state.views import BucketRows, StoredMemory

MOOD: Final = "mood"
_SIGNAL: Final = "mood.signal"
_STATE: Final = "mood.state"
_DOMAINS: Final[Mapping[str, Domain]] = {
    "experience": "experience",
    "relationship": "relationship",
    "reflection": "reflection",
    "engagement": "engagement",
}
AXES: Final = ("pleasure", "arousal", "dominance")

SomePad = tuple[float | None, float | None, float | None]


class Remembered(NamedTuple):
    """One memory: an event, or with `shifted` the mood just after it. `pad` as stored: it may be broken."""

    us: int
    """When it happened, in microseconds."""
    memory_id: str
    domain: Domain
    pad: SomePad | None
    content: MemoryContent
    offset: int
    shifted: bool = False
    in_force: tuple[float, ...] = ()
    """Of a shift: baseline, time constants in hours and largest displacement that held then."""
    approximate: bool = False
    broken: bool = False
    """A shift whose mood is not known."""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of its domain; a shift has those of a mood state."""
        return _mood_attributes(self) if self.shifted else self.content.attributes


def remembered(rows: BucketRows, kept: Mapping[bytes, Shift]) -> Iterator[Remembered]:
    """Give the memories of a bucket. `kept`: shifts that are still in the mood row, by H(event_id)."""
    for stored in rows.memories:
        content = stored.content
        if content.type != _SIGNAL:
            domain = _DOMAINS[content.type.partition(".")[0]]
            yield Remembered(content.occurred_us, content.event_id, domain, content.pad, content, stored.offset)
        if stored.shift is not None and (stored.ident in kept or stored.ident in rows.shifts):  # else it was erased
            yield _shifted(stored, stored.shift, _point(stored.ident, rows, kept))


def kept_points(mind: Mind) -> dict[bytes, Shift]:
    """The shifts that are still in the mood row, by H(event_id)."""
    return {point.id: point for point in trajectory_points(mind.row, mind.profile.dynamics)}


def _point(ident: bytes, rows: BucketRows, kept: Mapping[bytes, Shift]) -> Shift | None:
    if ident in kept:
        return kept[ident]
    try:
        return Shift.unpack(ident, rows.shifts[ident])
    except PackingError:
        return None


def _shifted(stored: StoredMemory, shift: tuple[float, ...], point: Shift | None) -> Remembered:
    content, in_force = stored.content, shift[3:]
    return Remembered(
        content.occurred_us,
        MOOD_PREFIX + content.event_id,
        MOOD,
        None if point is None else mood_of(point.x, _dynamics(in_force)),
        content,
        stored.offset,
        shifted=True,
        in_force=in_force,
        approximate=point is not None and point.approximate,
        broken=point is None,
    )


@lru_cache(maxsize=1024)
def _dynamics(numbers: tuple[float, ...]) -> Dynamics:
    return dynamics_of(numbers)


def _mood_attributes(memory: Remembered) -> dict[str, str]:
    own = dict(memory.content.attributes) if memory.content.type == _SIGNAL else {}
    own["cause-event"] = memory.content.event_id
    if memory.content.turn_id is not None:
        own["turn-id"] = memory.content.turn_id
    if memory.pad is not None:
        own.update(zip(AXES, map(text_of, memory.pad), strict=True))
    for place, name in enumerate(("baseline", "tau", "max-displacement")):
        own[name] = text_of(memory.in_force[3 * place : 3 * place + 3])
    return dict(sorted(own.items()))


def fields_of(agent: str, memory: Remembered) -> dict[str, Any]:
    """The members of a memory in answers. A broken annotation is shown as none."""
    content, pad = memory.content, memory.pad
    usable = pad is not None and all(axis is None or -1.0 <= axis <= 1.0 for axis in pad)
    importance = content.importance
    return {
        "memory_id": memory.memory_id,
        "agent_id": agent,
        "domain": memory.domain,
        "type": _STATE if memory.shifted else content.type,
        "text": content.text,
        "occurred_at": from_us(memory.us),
        "importance": importance if importance is not None and 0.0 <= importance <= 1.0 else None,
        "pad": dict(zip(AXES, pad, strict=True)) if usable and pad is not None else None,
        "attributes": memory.attributes,
        "metadata": {} if memory.shifted and content.type != _SIGNAL else content.metadata,
        "case_id": content.case_id,
        "turn_id": content.turn_id,
        "embedding_model": None if content.embedding is None else content.embedding[0],
        "approximate": memory.approximate,
        "offset": memory.offset,
    }


def answer(agent: str, memory: Remembered) -> Memory:
    """Put a memory into the shape of the answers."""
    return Memory(**fields_of(agent, memory))
