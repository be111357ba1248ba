"""How large an event may be. Each limit is a setting with a ceiling; an error names the one exceeded."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from moodstream.schemas.errors import BatchTooLarge, EventTooLarge


class Limits(BaseModel):
    """The limits of events and batches. Sizes are bytes of UTF-8; `le` is the ceiling of each setting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description_bytes: int = Field(8_192, ge=1, le=65_536, description="each of description, insight and cause")
    metadata_entries: int = Field(32, ge=0, le=256, description="entries of metadata")
    metadata_bytes: int = Field(4_096, ge=0, le=65_536, description="all keys and values of metadata together")
    source_memory_ids: int = Field(64, ge=1, le=1_024, description="memories that a reflection names")
    event_bytes: int = Field(65_536, ge=1_024, le=524_288, description="an encoded event")
    batch_events: int = Field(500, ge=1, le=10_000, description="events of one batch")
    batch_bytes: int = Field(1_048_576, ge=1_024, le=16_777_216, description="a batch, encoded")
    embedding_numbers: int = Field(4_096, ge=1, le=16_384, description="numbers of an embedding")
    future_seconds: int = Field(300, ge=0, le=86_400, description="occurred_at after the record's own timestamp")


DEFAULT_LIMITS = Limits()


def check_event_bytes(size: int, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise EventTooLarge when an encoded event of `size` bytes is over the limit `event_bytes`."""
    if size > limits.event_bytes:
        detail = f"{size} bytes, the limit event_bytes is {limits.event_bytes}"
        raise EventTooLarge(detail, limit="event_bytes", allowed=limits.event_bytes, found=size)


def check_batch(events: int, size: int, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise BatchTooLarge when a batch of `events` events and `size` bytes is over a limit."""
    for name, found in (("batch_events", events), ("batch_bytes", size)):
        allowed = getattr(limits, name)
        if found > allowed:
            raise BatchTooLarge(f"{found}, the limit {name} is {allowed}", limit=name, allowed=allowed, found=found)
