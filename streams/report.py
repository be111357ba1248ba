"""What publishing gives back: where an event landed, and which failed and why."""

from __future__ import annotations

from dataclasses import dataclass

from moodstream.schemas.errors import MoodstreamError


@dataclass(frozen=True, slots=True)
class Receipt:
    """The broker has this event: its place in the log. Offset -1 = written, place unknown (a repeated write)."""

    event_id: str
    partition: int
    offset: int

    @property
    def position(self) -> str:
        """Token `partition:offset`; reads can wait for it."""
        return f"{self.partition}:{self.offset}"


@dataclass(frozen=True, slots=True)
class Failure:
    """One event that was not sent: its place in what was given (from 0), its id where known, and why."""

    index: int
    event_id: str | None
    error: MoodstreamError


@dataclass(frozen=True, slots=True)
class FireReport:
    """Outcome of `fire_all`: one receipt per event sent, one failure per event that was not."""

    receipts: tuple[Receipt, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every event is in the log."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise the first failure, if any."""
        if self.failures:
            raise self.failures[0].error
