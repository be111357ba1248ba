"""What all events share: strict frozen models, identity, time, and the rules that need more than one field."""

from __future__ import annotations

from datetime import UTC
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from moodstream.schemas.faults import broken, too_long
from moodstream.schemas.fields import AnyText, Float32, Id, Instant, Unit
from moodstream.schemas.identity import ID_BYTES, MOOD_PREFIX, new_event_id
from moodstream.schemas.limits import DEFAULT_LIMITS, Limits
from moodstream.schemas.wire_names import is_reserved


class Model(BaseModel):
    """A frozen, strict model: no unknown fields, no conversions, no NaN. Its errors repeat no values."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )


class Embedding(Model):
    """A vector that stands for the text: only vectors of the same model and length are compared."""

    model: Id
    values: list[Float32] = Field(min_length=1)


class Identified(Model):
    """Whose event it is, which, and when it happened (`occurred_at`, kept in UTC at microseconds)."""

    type_name: ClassVar[str]
    id_fields: ClassVar[tuple[str, ...]] = ("tenant_id", "agent_id", "event_id")

    tenant_id: Id
    agent_id: Id
    event_id: Id = Field(default_factory=new_event_id)
    occurred_at: Instant

    @model_validator(mode="after")
    def _validate(self, info: ValidationInfo) -> Self:
        """Check what Rust could not: the only Python code in a decode. The context may carry other limits."""
        self._check(info.context if isinstance(info.context, Limits) else DEFAULT_LIMITS)
        return self

    def _check(self, limits: Limits) -> None:
        fields = self.__dict__
        instant = fields["occurred_at"]
        if instant.tzinfo is not UTC:
            fields["occurred_at"] = instant.astimezone(UTC)  # a frozen model is still being made here
        for name in self.id_fields:
            value = fields[name]
            if value is not None and not value.isascii():
                check_bytes(name, value)
        self._check_event_id(fields["event_id"])

    def _check_event_id(self, event_id: str) -> None:
        if event_id.startswith(MOOD_PREFIX):
            raise broken("event_id", "reserved_prefix", f"must not start with {MOOD_PREFIX}")


class Event(Identified):
    """What every event but a profile may carry besides its own fields."""

    id_fields: ClassVar[tuple[str, ...]] = (*Identified.id_fields, "case_id", "turn_id")

    case_id: Id | None = None
    turn_id: Id | None = None
    importance: Unit | None = None
    metadata: dict[AnyText, AnyText] = Field(default_factory=dict)
    embedding: Embedding | None = None

    def _check(self, limits: Limits) -> None:
        super()._check(limits)
        fields = self.__dict__
        if fields["metadata"]:
            check_metadata(fields["metadata"], limits)
        embedding = fields["embedding"]
        if embedding is not None and len(embedding.values) > limits.embedding_numbers:
            found = len(embedding.values)
            raise too_long("embedding.values", found, "embedding_numbers", limits.embedding_numbers)


def check_bytes(field: str, value: str, allowed: int = ID_BYTES) -> None:
    """Raise unless an id has at most `allowed` bytes of UTF-8."""
    size = len(value.encode())
    if size > allowed:
        raise broken(field, "too_long", f"has {size} bytes, at most {allowed} are allowed")


def check_text(field: str, value: str, limits: Limits) -> None:
    """Raise when a text is longer than the limit `description_bytes`."""
    size = len(value) if value.isascii() else len(value.encode())
    if size > limits.description_bytes:
        raise too_long(field, size, "description_bytes", limits.description_bytes)


def check_metadata(metadata: dict[str, str], limits: Limits) -> None:
    """Raise when metadata uses a reserved key or is over a limit."""
    for key in metadata:
        if is_reserved(key):
            raise broken(f"metadata.{key[:64]}", "reserved_key", "is a reserved key; choose another one")
    if len(metadata) > limits.metadata_entries:
        raise too_long("metadata", len(metadata), "metadata_entries", limits.metadata_entries)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items())
    if size > limits.metadata_bytes:
        raise too_long("metadata", size, "metadata_bytes", limits.metadata_bytes)
