"""Parameters of the paths that read: strict, so that a misspelt name is an error and not ignored."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from moodstream.schemas.faults import broken
from moodstream.schemas.fields import Id, Instant
from moodstream.schemas.wire_names import Domain, TrendSignal

_LOST_PLUS = re.compile(r"(T.*) (\d\d:?\d\d)$")


def _mend_plus(value: Any) -> Any:  # noqa: ANN401
    """A plus sign in a query means a space: `...T12:00:00+02:00` arrives without it."""
    return _LOST_PLUS.sub(r"\1+\2", value) if isinstance(value, str) else value


QueryInstant = Annotated[Instant, BeforeValidator(_mend_plus)]
Limit = Annotated[int, Field(ge=1, le=500, description="Largest number of items in the answer")]


class Parameters(BaseModel):
    """What all of them share."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True)


class AgentsParameters(Parameters):
    """Which page of agents, or by which trend."""

    after: Id | None = None
    """Id of the last agent of the page before."""
    limit: Limit = 100
    order: Literal["id", "trend"] = "id"
    """id: by their ids, page by page; trend: those that come first by the trend of a signal."""
    signal: TrendSignal | None = None
    """By which signal; only with order=trend, and needed there."""
    first: Literal["improving", "declining"] | None = None
    """Who comes first by trend, default improving."""
    as_of: QueryInstant | None = None
    """Clock of a ranking, default: now."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.order == "trend":
            if self.signal is None:
                raise broken("signal", "missing", "by which signal? order=trend needs one")
            if self.after is not None:
                raise broken("after", "conflict", "a ranking has one page: raise limit")
            return self
        for name in ("signal", "first", "as_of"):
            if getattr(self, name) is not None:
                raise broken(name, "conflict", "is for order=trend")
        return self


class MoodParameters(Parameters):
    """At which time, and whether with its reasons."""

    at: QueryInstant | None = None
    """Default: now."""
    explain: bool = False
    """Tell which shifts make up the mood."""


class TrendsParameters(Parameters):
    """Which trends, and as of when."""

    other: Id | None = Field(None, alias="with")
    """Only with this other agent."""
    signal: TrendSignal | None = None
    """Only this signal."""
    as_of: QueryInstant | None = None
    """Clock of the query, default: now."""


class MemoriesParameters(Parameters):
    """Which memories of one agent."""

    domain: list[Domain] = []
    """Only these domains; may be repeated."""
    since: QueryInstant | None = None
    """Not before this time."""
    until: QueryInstant | None = None
    """Before this time."""
    after: str | None = Field(None, max_length=1024)
    """`next` of the page before."""
    limit: Limit = 50


def or_now(instant: datetime | None) -> datetime:
    """The time asked for, else now: the only place that reads the clock."""
    return datetime.now(UTC) if instant is None else instant
