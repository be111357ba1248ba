"""What has been erased of an agent: the marker row, and the rule by which records are dropped."""

from __future__ import annotations

import struct
from typing import NamedTuple

from moodstream.cli.oracle.layout import MARK, hash_id
from moodstream.schemas.base import Identified
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.events import InputEvent
from moodstream.schemas.instants import to_ms
from moodstream.schemas.profile import AgentProfile

AGENT, DOMAIN, MEMORY, OTHER, EXPIRE = 1, 2, 3, 4, 5
MOST_IDS = 64
MOST_MARKS = 4_096
NOBODY = bytes(12)

Key = tuple[int, bytes]
"""Kind of what was erased, and the hash of its name."""


class Mark(NamedTuple):
    """Offset and time in ms of an erasure."""

    offset: int
    ms: int


def domain_of(event: Identified) -> str:
    """The memory domain of an event."""
    return event.type_name.split(".")[0]


def others_of(event: Identified) -> set[str]:
    """The other agents that an event names."""
    fields = event.model_dump(include={"other_agent_id", "target_agent"})
    return {name for name in fields.values() if name is not None}


class OracleMarkers:
    """The marker row of one agent."""

    def __init__(self) -> None:
        self.marks: dict[Key, Mark] = {}
        self.ids: list[bytes] = []

    def erase(self, offset: int, key: Key, ms: int) -> None:
        """Note an erasure: offset of the last, time of the latest. That of the agent makes up for earlier ones."""
        if key in self.marks:
            ms = max(ms, self.marks[key].ms)
        self.marks[key] = Mark(offset, ms)
        if key[0] == AGENT:
            for other in [other for other, mark in self.marks.items() if other != key and mark.ms <= ms]:
                del self.marks[other]
        while len(self.marks) > MOST_MARKS:
            small = [other for other in self.marks if other[0] in (MEMORY, OTHER)]
            del self.marks[min(small, key=lambda other: (self.marks[other].offset, other))]

    def forget(self, ms: int) -> None:
        """Drop erasures, not expiries, from before a time."""
        self.marks = {key: mark for key, mark in self.marks.items() if key[0] == EXPIRE or mark.ms >= ms}

    def erased(self, offset: int, event: InputEvent) -> bool:
        """Whether a record counts no more."""
        ms = to_ms(event.occurred_at)
        keys: list[Key] = [(AGENT, NOBODY)]
        if not isinstance(event, AgentProfile):
            keys.append((DOMAIN, hash_id(domain_of(event))))
            keys += [(OTHER, hash_id(other)) for other in others_of(event)]
            if (MEMORY, hash_id(event.event_id)) in self.marks or self.expired(domain_of(event), ms):
                return True
        return any(self._before(key, offset, ms) for key in keys)

    def still(self, offset: int, ms: int) -> bool:
        """Whether the mood was erased after a record: it moves nothing then."""
        return self._before((DOMAIN, hash_id("mood")), offset, ms)

    def expired(self, domain: str, ms: int) -> bool:
        """Whether something of a domain is older than is kept."""
        keys = [(EXPIRE, NOBODY), (EXPIRE, hash_id(domain))]
        return any(key in self.marks and ms < self.marks[key].ms for key in keys)

    def _before(self, key: Key, offset: int, ms: int) -> bool:
        mark = self.marks.get(key)
        return mark is not None and (offset < mark.offset or ms < mark.ms)

    def wanted(self, agent_exists: bool) -> bool:
        """Whether there is a marker row."""
        return agent_exists or any(kind != EXPIRE for kind, _ in self.marks)

    def pack(self) -> bytes:
        """The body of the marker row."""
        out = struct.pack(">H", len(self.marks))
        for (kind, what), mark in sorted(self.marks.items()):
            out += MARK.pack(kind, what, mark.offset, mark.ms)
        ids = self.ids[-MOST_IDS:]
        return out + bytes([len(ids)]) + b"".join(ids)


def key_of(event: Erase | Expire) -> Key:
    """What an erasure is about."""
    if isinstance(event, Expire):
        return EXPIRE, NOBODY if event.domain is None else hash_id(event.domain)
    if event.scope == "agent":
        return AGENT, NOBODY
    if event.scope == "domain":
        return DOMAIN, hash_id(str(event.domain))
    if event.scope == "other_agent":
        return OTHER, hash_id(str(event.other_agent_id))
    return MEMORY, hash_id(erased_id(event))


def erased_id(event: Erase) -> str:
    """The id of the event whose memory goes; that of its shift stands for it."""
    name = str(event.memory_id)
    return name[len("mood:") :] if name.startswith("mood:") else name


def takes(event: Erase | Expire, memory: Identified) -> bool:
    """Whether an erasure takes the memory of an event away."""
    if isinstance(event, Expire):
        return event.domain in (None, domain_of(memory)) and to_ms(memory.occurred_at) < to_ms(event.before)
    if event.scope == "domain":
        return event.domain == domain_of(memory)
    return event.scope == "other_agent" and event.other_agent_id in others_of(memory)


def takes_shift(event: Erase | Expire, t: int) -> bool:
    """Whether an erasure takes the shift row of a time (ms) away."""
    if isinstance(event, Expire):
        return event.domain in (None, "mood") and t < to_ms(event.before)
    return event.scope == "domain" and event.domain == "mood"
