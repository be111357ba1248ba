"""From an event to the record that is sent: everything that can be wrong with it is found here."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from moodstream.affect.annotate import Annotator, annotated
from moodstream.schemas.codec import check_future, encode, parse
from moodstream.schemas.errors import MoodstreamError, UnknownType
from moodstream.schemas.events import INPUT_TYPES, InputEvent
from moodstream.schemas.identity import partition_of
from moodstream.schemas.limits import DEFAULT_LIMITS, Limits
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


def check(event: Fireable, partitions: int, limits: Limits, annotate: Annotator | None = None) -> Checked:
    """Check and encode one event, with the PAD that the annotator, if any, finds in its description.

    Raises `InvalidEvent`, `UnknownType`, `FutureEvent` or `EventTooLarge`.
    """
    known = parse(event, limits=limits) if isinstance(event, Mapping) else event
    if known.type_name not in INPUT_TYPES:
        raise UnknownType(f"{known.type_name} is made by moodstream, never sent to it")
    if annotate is not None:
        known = annotated(known, annotate)
    now_ms = time.time_ns() // 1_000_000
    check_future(known, now_ms, limits)
    wire = encode(known, limits=limits)
    if limits is not DEFAULT_LIMITS:  # the event was made under others
        parse(wire.value, limits=limits)
    partition = partition_of(wire.key, partitions)
    return Checked(known.event_id, Record(partition, wire.key, wire.value, wire.headers, now_ms))


def check_all(
    events: Iterable[Fireable], partitions: int, limits: Limits, mode: Mode, annotate: Annotator | None = None
) -> tuple[list[tuple[int, Checked]], list[Failure]]:
    """Check many: with `all` the first bad one raises, with `part` it becomes a failure. Places count from 0."""
    good: list[tuple[int, Checked]] = []
    bad: list[Failure] = []
    for index, event in enumerate(events):
        try:
            good.append((index, check(event, partitions, limits, annotate)))
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
