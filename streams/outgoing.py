"""From an event to the record that is sent: everything that can be wrong with it is found here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from moodstream.schemas.codec import encode, parse
from moodstream.schemas.errors import MoodstreamError
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import partition_of
from moodstream.schemas.limits import Limits, check_event_bytes
from moodstream.streams.report import Failure
from moodstream.streams.sender import Record

Fireable = InputEvent | Mapping[str, object]
"""An event, or its plain-JSON form: a mapping with a `type`."""

Mode = Literal["all", "part"]


@dataclass(frozen=True, slots=True)
class Checked:
    """An event that is fit to be sent."""

    event_id: str
    record: Record


def check(event: Fireable, partitions: int, limits: Limits) -> Checked:
    """Check and encode one event.

    Raises `InvalidEvent`, `UnknownType` or `EventTooLarge`.
    """
    known = parse(dict(event)) if isinstance(event, Mapping) else event
    wire = encode(known)
    check_event_bytes(len(wire.value), limits)
    return Checked(known.event_id, Record(partition_of(wire.key, partitions), wire.key, wire.value, wire.headers))


def check_all(
    events: Iterable[Fireable], partitions: int, limits: Limits, mode: Mode
) -> tuple[list[tuple[int, Checked]], list[Failure]]:
    """Check many: with `all` the first bad one raises, with `part` it becomes a failure. Places count from 0."""
    good: list[tuple[int, Checked]] = []
    bad: list[Failure] = []
    for index, event in enumerate(events):
        try:
            good.append((index, check(event, partitions, limits)))
        except MoodstreamError as error:
            error.fields["index"] = index
            if mode == "all":
                raise
            bad.append(Failure(index, event_id_of(event), error))
    return good, bad


def event_id_of(event: Fireable) -> str | None:
    """Give the id of an event, also of one that is not valid."""
    found = event.get("event_id") if isinstance(event, Mapping) else event.event_id
    return found if isinstance(found, str) else None
