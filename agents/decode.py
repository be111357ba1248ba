"""From a chunk of records to the events of each agent, and what cannot be accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from moodstream.agents.fold import Entry
from moodstream.agents.quick import read_quickly
from moodstream.schemas.codec import check_future, check_key, decode
from moodstream.schemas.erasure import Erase
from moodstream.schemas.errors import InternalFault, MoodstreamError, PartitionMismatch
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import hash_id, partition_of
from moodstream.schemas.instants import to_us
from moodstream.schemas.limits import Limits
from moodstream.schemas.rebuild import Rebuild

log = structlog.get_logger(__name__)

Record = Any
"""A record as aiokafka gives it: offset, key, value, headers, timestamp."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that goes to the dead letters, and why."""

    record: Record
    reason: MoodstreamError


@dataclass(slots=True)
class Decoded:
    """A chunk, decoded: entries by agent key, each in log order."""

    agents: dict[bytes, list[Entry]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    """Accepted records by offset: a fold may still refuse one."""
    rebuilds: dict[bytes, Rebuild] = field(default_factory=dict)
    """By agent, the newest event that asks for its rows to be made anew."""
    ignored: int = 0
    """Fields that no model knows."""
    raised: int = 0
    """Records whose decoding raised what is no error of ours: bugs."""


def decode_records(records: Iterable[Record], partition: int, partitions: int, limits: Limits) -> Decoded:
    """Decode records; one that breaks a rule is refused and stops nothing."""
    found = Decoded()
    agents = found.agents
    for record in records:
        entries = agents.get(record.key)
        try:
            event, us, ignored = _read(record, limits, entries)
            if entries is None:
                _check_partition(record.key, partition, partitions)
            entry = Entry(record.offset, event, hash_id(event.event_id), us)
        except MoodstreamError as error:
            found.refused.append(Refused(record, _bare(error)))
            continue
        except Exception as error:
            if not found.raised:  # the others of the chunk are counted with the dead letters
                log.exception("decoding raised", offset=record.offset)
            found.raised += 1
            found.refused.append(Refused(record, InternalFault(f"{type(error).__name__} while decoding")))
            continue
        found.ignored += ignored
        found.records[record.offset] = record
        if entries is None:
            agents[record.key] = [entry]
        else:
            entries.append(entry)
        if type(event) is Rebuild:
            found.rebuilds[record.key] = event
    return found


def _read(record: Record, limits: Limits, known: Sequence[Entry] | None) -> tuple[InputEvent, int, int]:
    """Read a record, the quick way where that is sure to give what the long way would: event, its time, ignored fields.

    `known`: earlier entries of the same key, if there are any: the key is that of their agent.
    """
    value = record.value
    if value is not None and not record.headers and len(value) <= limits.event_bytes:
        event = read_quickly(value, limits)
        if event is not None:
            if known is None or not _same_agent(event, known[0].event):
                check_key(record.key, event)
            us = to_us(event.occurred_at)
            if us > record.timestamp * 1000:
                check_future(event, record.timestamp, limits)
            return event, us, 0
    found = decode(record.key, value, record.headers, limits=limits, timestamp_ms=record.timestamp)
    return found.event, to_us(found.event.occurred_at), found.ignored


def _same_agent(event: InputEvent, other: InputEvent) -> bool:
    return event.agent_id == other.agent_id and event.tenant_id == other.tenant_id


def _bare(error: MoodstreamError) -> MoodstreamError:
    """The error without the frames and the causes that it holds on to: there may be thousands in a chunk."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def _check_partition(key: bytes, partition: int, partitions: int) -> None:
    right = partition_of(key, partitions)
    if right != partition:
        raise PartitionMismatch(f"the key belongs to partition {right}, the record lies in {partition}")


_UNREMEMBERED = frozenset({"agent.profile", "erase", "expire", "rebuild"})
"""Events that are no memories: their ids are not among those of the memories."""


def idents_of(entries: Sequence[Entry]) -> list[bytes]:
    """H(event_id) of the memories that these events are, or erase by their id."""
    idents: list[bytes] = []
    for entry in entries:
        event = entry.event
        if event.type_name not in _UNREMEMBERED:
            idents.append(entry.ident)
        elif isinstance(event, Erase) and event.scope == "memory":
            idents.append(hash_id(event.erased_event))
    return idents


def others_of(entries: Sequence[Entry]) -> Mapping[str, None]:
    """The other agents whose pair rows these events change, in order of appearance."""
    return {event.other_agent_id: None for event in (e.event for e in entries) if _of_pair(event)}  # type: ignore[union-attr,misc]


def _of_pair(event: InputEvent) -> bool:
    kind = event.type_name
    return kind == "engagement" or (kind == "erase" and event.scope == "other_agent")  # type: ignore[union-attr]
