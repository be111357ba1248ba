"""Events that take away: an erasure that somebody asked for, and the expiry of what is older than it may be.

They are inputs of the log like any other, so a replay erases again what it folded again. They are no memories.
"""

from __future__ import annotations

from datetime import UTC
from typing import ClassVar, Literal

from pydantic_core import PydanticCustomError

from moodstream.schemas.base import Identified, check_bytes
from moodstream.schemas.faults import broken
from moodstream.schemas.fields import Id, Instant, MemoryId
from moodstream.schemas.identity import ID_BYTES, MOOD_PREFIX
from moodstream.schemas.limits import Limits
from moodstream.schemas.wire_names import Domain

Scope = Literal["agent", "domain", "memory", "other_agent"]

TARGETS: dict[Scope, str | None] = {
    "agent": None,
    "domain": "domain",
    "memory": "memory_id",
    "other_agent": "other_agent_id",
}
"""The field that says what of the agent is meant, by scope."""


class Erase(Identified):
    """Erases all of an agent, a domain of its memories, one memory, or the traces of another agent in it.

    Exactly the field that belongs to `scope` is given: `domain`, `memory_id` (an event's id, or `mood:` and that id,
    which means the same event) or `other_agent_id`.
    """

    type_name: ClassVar[str] = "erase"
    type: Literal["erase"] = "erase"
    id_fields: ClassVar[tuple[str, ...]] = (*Identified.id_fields, "other_agent_id")

    scope: Scope
    domain: Domain | None = None
    memory_id: MemoryId | None = None
    other_agent_id: Id | None = None

    @property
    def erased_event(self) -> str:
        """The id of the event whose memory is erased; empty for other scopes."""
        return (self.memory_id or "").removeprefix(MOOD_PREFIX)

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        wanted = TARGETS[self.scope]
        for name in TARGETS.values():
            if name is not None and (getattr(self, name) is None) is (name == wanted):
                raise _wrong_target(name, self.scope)
        if self.memory_id is not None:
            check_bytes("memory_id", self.memory_id, ID_BYTES + len(MOOD_PREFIX))
            if not self.erased_event:
                raise broken("memory_id", "not_blank", f"must name an event after {MOOD_PREFIX}")
        if self.other_agent_id == self.agent_id:
            raise broken("other_agent_id", "differs", "must differ from agent_id; scope agent erases all of it")


def _wrong_target(name: str, scope: Scope) -> PydanticCustomError:
    if name == TARGETS[scope]:
        return broken(name, "missing", f"is required by scope {scope}")
    return broken(name, "choice", f"is not used by scope {scope}")


class Expire(Identified):
    """Erases the memories of an agent that are older than `before`, of all domains or of one; made by a sweep.

    Mood, trends and profile stay. `markers_before` also forgets earlier erasures that are older than any input that
    can still come.
    """

    type_name: ClassVar[str] = "expire"
    type: Literal["expire"] = "expire"

    before: Instant
    domain: Domain | None = None
    markers_before: Instant | None = None

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        fields = self.__dict__
        for name in ("before", "markers_before"):
            instant = fields[name]
            if instant is None:
                continue
            if instant.tzinfo is not UTC:
                fields[name] = instant.astimezone(UTC)
            if instant > fields["occurred_at"]:
                raise broken(name, "range", "must not be later than occurred_at")
