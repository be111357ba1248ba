"""The memory row of an event."""

from __future__ import annotations

import struct

import msgspec

from moodstream.cli.oracle.dynamics import Dynamics, Triple
from moodstream.schemas.events import DomainEvent, MoodSignal
from moodstream.schemas.instants import to_us
from moodstream.schemas.memory import to_memory


def content_of(event: DomainEvent | MoodSignal) -> bytes:
    """What the event says, as a MessagePack array: the same whatever the profile in force."""
    record = to_memory(event)
    pad, embedding = record.pad, record.embedding
    return msgspec.msgpack.encode(
        [
            event.event_id,
            event.type_name,
            to_us(event.occurred_at),
            record.text,
            record.importance,
            None if pad is None else [pad.pleasure, pad.arousal, pad.dominance],
            {key: record.attributes[key] for key in sorted(record.attributes)},
            {key: record.metadata[key] for key in sorted(record.metadata)},
            record.case_id,
            record.turn_id,
            None if embedding is None else [embedding.model, single_floats(embedding.values)],
        ]
    )


def single_floats(values: list[float]) -> bytes:
    """The numbers as big endian f32."""
    return struct.pack(f">{len(values)}f", *values)


def body_of(content: bytes, delta: Triple | None, dynamics: Dynamics) -> bytes:
    """The body of the memory row: the content, then what the event did to the mood and the values in force."""
    body = struct.pack(">I", len(content)) + content
    if delta is None:
        return body
    return body + struct.pack(">12d", *delta, *dynamics.baseline, *dynamics.tau_hours, *dynamics.largest)
