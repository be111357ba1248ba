"""Parameters of the paths that read: strict, so that a misspelt name is an error and not ignored."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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
    """Which page of agents."""

    after: Id | None = None
    """Id of the last agent of the page before."""
    limit: Limit = 100


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
