"""Events as memory records and back: one shape for all five domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import Field

from moodstream.schemas.attributes import array, boolean, flag, number, numbers, text_of
from moodstream.schemas.base import Embedding, Event, Model
from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.events import (
    Action,
    DomainEvent,
    Engagement,
    MoodSignal,
    MoodState,
    Observation,
    Outcome,
    Pad,
    Reflection,
    Relationship,
    make,
)
from moodstream.schemas.fields import AnyText, Id, Instant, MemoryId, Unit
from moodstream.schemas.identity import MOOD_PREFIX
from moodstream.schemas.wire_names import ATTRIBUTE_KEYS, DOMAINS, Domain

__all__ = ["ATTRIBUTE_KEYS", "DOMAINS", "UNCAUSED", "MemoryRecord", "from_memory", "to_memory"]

UNCAUSED = "interaction appraisal"
"""The text of a mood signal that names no cause."""

Reader = Callable[[str], Any]
Column = tuple[str, str, Reader]
"""An attribute key, the field that it stands for, and how its text is read back."""


class MemoryRecord(Model):
    """A memory: the one shape in which events of all domains are stored, searched and recalled.

    `memory_id` is the event's id (in the domain mood with `mood:` before it), `text` what was said or done,
    `attributes` the event's own fields as strings, `metadata` what the publisher added.
    """

    memory_id: MemoryId
    tenant_id: Id
    agent_id: Id
    domain: Domain
    text: AnyText
    occurred_at: Instant
    importance: Unit | None = None
    pad: Pad | None = None
    attributes: dict[str, str] = Field(default_factory=dict)
    metadata: dict[AnyText, AnyText] = Field(default_factory=dict)
    case_id: Id | None = None
    turn_id: Id | None = None
    embedding: Embedding | None = None
    type_name: str


_EXPERIENCE: tuple[Column, ...] = (("target-agent", "target_agent", str), ("source-channel", "source_channel", str))
_CAPABILITY: Column = ("capability", "capability", str)
_OTHER: Column = ("other-agent", "other_agent_id", str)

_COLUMNS: dict[type[Event], tuple[Column, ...]] = {
    Observation: (("subject", "subject", str), *_EXPERIENCE),
    Action: (_CAPABILITY, *_EXPERIENCE),
    Outcome: (("result", "result", str), _CAPABILITY, *_EXPERIENCE),
    Relationship: (
        _OTHER,
        ("source-event-type", "source_event_type", str),
        ("quality-signal", "quality_signal", str),
    ),
    Reflection: (
        ("reflection-level", "level", int),
        ("source-memory-ids", "source_memory_ids", array),
        ("ms-insight", "insight", str),  # not among the attribute keys of the domain, but it must not be lost
    ),
    Engagement: (
        _OTHER,
        ("responded", "responded", boolean),
        ("response-time-ms", "response_time_ms", float),
        ("response-length", "response_length", int),
        ("sentiment-shift", "sentiment_shift", float),
        ("reaction-count", "reaction_count", int),
        ("continued", "continued", boolean),
    ),
    MoodSignal: (
        ("ms-kind", "kind", str),
        ("ms-pleasure", "pleasure", float),
        ("ms-arousal", "arousal", float),
        ("ms-dominance", "dominance", float),
    ),
    MoodState: (
        ("pleasure", "pleasure", float),
        ("arousal", "arousal", float),
        ("dominance", "dominance", float),
        ("baseline", "baseline", numbers),
        ("tau", "tau_hours", numbers),
        ("max-displacement", "max_displacement", numbers),
    ),
}
_KINDS: dict[str, type[Event]] = {kind.type_name: kind for kind in _COLUMNS}
_TURN_DOMAINS = frozenset({"experience", "relationship", "engagement", "mood"})
"""The domains that have `turn-id` among their attributes."""
_TURN: Column = ("turn-id", "turn_id", str)
_AS_TEXT: dict[Reader, Callable[[Any], str]] = {str: str, int: str, float: number, boolean: flag}
"""How a field is written, by how it is read back; others as `text_of` does. An event has up to eight of them."""


def _written(kind: type[Event], columns: tuple[Column, ...]) -> Iterator[tuple[str, str, Callable[[Any], str]]]:
    """Attribute keys, their fields, and how their values are written."""
    turn = [_TURN] if kind.type_name.partition(".")[0] in _TURN_DOMAINS else []
    for key, name, reader in (*columns, *turn):
        yield key, name, _AS_TEXT.get(reader, text_of)


_WRITTEN = {kind: tuple(_written(kind, columns)) for kind, columns in _COLUMNS.items()}
_SHARED = ("tenant_id", "agent_id", "occurred_at", "importance", "metadata", "case_id", "turn_id", "embedding")
"""Fields of the same name in events and memory records."""


def to_memory(event: Event) -> MemoryRecord:
    """Return the memory record of an event of any of the five domains (TypeError for anything else).

    `appraisal` and `appraise` are not kept: they say what the event does to the mood, which its shift records. All
    other fields are. A mood signal becomes a record of the domain mood whose PAD values only the fold can know; its
    deltas are kept under keys of our own (`ms-...`).
    """
    attributes = attributes_of(event)
    domain = domain_of(event)
    record = {name: getattr(event, name) for name in _SHARED}
    record.update(_identity(event, domain), attributes=attributes, domain=domain, type_name=event.type_name)
    return MemoryRecord.model_validate(record)


def attributes_of(event: Event) -> dict[str, str]:
    """Return an event's own fields as the attributes of its memory; TypeError for one that is not remembered."""
    columns = _WRITTEN.get(type(event))
    if columns is None:
        raise TypeError(f"{type(event).__name__} is not remembered")
    fields = event.__dict__
    attributes = {key: to_text(value) for key, name, to_text in columns if (value := fields[name]) is not None}
    if type(event) is not Engagement:  # by far the most frequent, and it has nothing but its columns
        attributes.update(_own_attributes(event))
    return attributes


def text_of_memory(event: Event) -> str:
    """Return what the memory of an event says: its description, or its cause where it only moved the mood."""
    if isinstance(event, DomainEvent):
        return event.description
    cause: str | None = getattr(event, "cause", None)
    return cause or UNCAUSED


def domain_of(event: Event) -> Domain:
    """Return the memory domain of an event."""
    return _DOMAIN_OF[event.type_name.partition(".")[0]]


_DOMAIN_OF: dict[str, Domain] = {name: name for name in DOMAINS}


def _identity(event: Event, domain: Domain) -> dict[str, Any]:
    if isinstance(event, DomainEvent):
        return {"memory_id": event.event_id, "text": text_of_memory(event), "pad": event.pad}
    if isinstance(event, MoodState):
        pad = Pad(pleasure=event.pleasure, arousal=event.arousal, dominance=event.dominance)
        return {"memory_id": event.event_id, "text": text_of_memory(event), "pad": pad}
    return {"memory_id": MOOD_PREFIX + event.event_id, "text": text_of_memory(event), "pad": None}


def _own_attributes(event: Event) -> dict[str, str]:
    """What is no field of its own under its own name."""
    own: dict[str, str] = {}
    domain = domain_of(event)
    if domain == "experience":
        own["event-type"] = event.type_name.partition(".")[2]
    if domain == "mood":
        own["cause-event"] = event.event_id.removeprefix(MOOD_PREFIX)
    if isinstance(event, MoodSignal) and event.cause is None:
        own["ms-uncaused"] = "true"
    return own


def from_memory(record: MemoryRecord) -> Event:
    """Return the event that a memory record was made from: the inverse of `to_memory`.

    InvalidEvent where an attribute is missing or broken, or the record names no type that is remembered.
    """
    kind = _KINDS.get(record.type_name)
    if kind is None:
        raise InvalidEvent("type_name", "choice", "names no kind of memory")
    fields = {name: getattr(record, name) for name in _SHARED}
    fields["event_id"] = record.memory_id
    for key, name, reader in _COLUMNS[kind]:
        if key in record.attributes:
            fields[name] = _read(key, reader, record.attributes[key])
    fields.update(_own_fields(record, kind))
    return make(kind, **fields)


def _read(key: str, reader: Reader, text: str) -> Any:  # noqa: ANN401
    try:
        return reader(text)
    except (ValueError, TypeError):
        raise InvalidEvent(f"attributes.{key}", "attribute", "cannot be read back") from None


def _own_fields(record: MemoryRecord, kind: type[Event]) -> dict[str, Any]:
    if issubclass(kind, DomainEvent):
        return {"description": record.text, "pad": record.pad}
    if kind is MoodState:
        return {"cause": record.text}
    cause = None if "ms-uncaused" in record.attributes else record.text
    return {"cause": cause, "event_id": record.memory_id.removeprefix(MOOD_PREFIX)}
