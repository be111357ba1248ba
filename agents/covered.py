"""Whether an erasure, or an expiry, has made an event of no account. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import to_ms
from moodstream.schemas.profile import AgentProfile
from moodstream.state.marker_row import Markers, Place, ScopeKind

_ALL = Place.of(ScopeKind.AGENT)
_MOOD = Place.of(ScopeKind.DOMAIN, "mood")


def covered(markers: Markers, event: InputEvent, offset: int) -> bool:
    """Whether the record at an offset is to be dropped and counted as erased.

    It is where it lies before an erasure of its agent, domain, other agent or id, in the log or in time, or where its
    event is older than an expiry. A profile goes with the agent only; erasures themselves always count.
    """
    if isinstance(event, Erase | Expire):
        return False
    ms = to_ms(event.occurred_at)
    if markers.covers(_ALL, offset, ms):
        return True
    if isinstance(event, AgentProfile):
        return False
    domain = event.type_name.partition(".")[0]
    return (
        markers.covers(Place.of(ScopeKind.DOMAIN, domain), offset, ms)
        or Place(ScopeKind.MEMORY, hash_id(event.event_id)) in markers.marks
        or any(markers.covers(Place.of(ScopeKind.OTHER_AGENT, name), offset, ms) for name in named(event))
        or markers.expired(domain, ms)
    )


def moves_no_mood(markers: Markers, offset: int, ms: int) -> bool:
    """Whether the mood was erased after a record: what it tells is kept, and moves the mood no more."""
    return markers.covers(_MOOD, offset, ms)


def named(event: InputEvent) -> Iterator[str]:
    """The other agents that an event names."""
    for name in ("other_agent_id", "target_agent"):
        other = getattr(event, name, None)
        if other is not None:
            yield other
