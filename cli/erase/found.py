"""What an erasure is about, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import add

from moodstream.cli.erase.traces import Traces
from moodstream.schemas.erasure import TARGETS, Erase
from moodstream.schemas.instants import iso
from moodstream.streams.report import Receipt
from moodstream.streams.retention import Copies


@dataclass(frozen=True)
class Target:
    """One erasure: the event, and what it would take away."""

    event: Erase
    taken: Traces
    known: bool = True
    """Whether there is such an agent. If not, what comes late is dropped all the same."""

    @property
    def of(self) -> str | None:
        """What of the agent: a domain, a memory, another agent; None: all."""
        name = TARGETS[self.event.scope]
        return None if name is None else str(getattr(self.event, name))


@dataclass
class Result:
    """What was found, and what was done."""

    targets: Sequence[Target]
    copies: Sequence[Copies]
    receipts: Sequence[Receipt] = ()
    applied: bool = False
    left: Sequence[Traces] = ()
    """What was still, or again, there afterwards, target by target."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def removed(self) -> Traces:
        """What has gone."""
        gone = (target.taken.less(left) for target, left in zip(self.targets, self.left, strict=False))
        return reduce(add, gone, Traces())

    def gone_by(self, copies: Copies) -> datetime | None:
        """When the last copy in a topic is gone at the latest; None: never."""
        return None if copies.after_ms is None else self.now + timedelta(milliseconds=copies.after_ms)

    @property
    def last_copy(self) -> datetime | None:
        """When the last copy in any topic is gone; None: never."""
        times = [self.gone_by(each) for each in self.copies]
        known = [each for each in times if each is not None]
        return max(known) if known and len(known) == len(times) else None

    def as_json(self) -> dict[str, object]:
        """The object of `--json`. Times are null where copies stay for ever; `cure` then says what to do."""
        found: dict[str, object] = {"targets": [self._target(place) for place in range(len(self.targets))]}
        if not self.receipts:
            return {**found, "published": False}
        return {
            **found,
            "published": True,
            "applied": self.applied,
            "removed": asdict(self.removed),
            "copies": [
                {"topic": each.topic, "gone_by": _text(at), "cure": each.cure if at is None else None}
                for each, at in ((each, self.gone_by(each)) for each in self.copies)
            ],
            "last_copy": _text(self.last_copy),
        }

    def _target(self, place: int) -> dict[str, object]:
        target = self.targets[place]
        event = target.event
        found: dict[str, object] = {
            "tenant_id": event.tenant_id,
            "agent_id": event.agent_id,
            "scope": event.scope,
            "of": target.of,
            "known": target.known,
            "found": asdict(target.taken),
        }
        if self.receipts:
            receipt = self.receipts[place]
            found |= {"event_id": receipt.event_id, "partition": receipt.partition, "offset": receipt.offset}
        return found


def _text(at: datetime | None) -> str | None:
    return None if at is None else iso(at.replace(microsecond=0))
