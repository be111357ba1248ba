"""The types of fields: constraints that pydantic checks in Rust, so that a decode stays fast."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, Strict, StringConstraints, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.faults import NOT_BLANK_PATTERN, broken
from moodstream.schemas.identity import ID_BYTES, ID_PATTERN, MOOD_PREFIX
from moodstream.schemas.instants import TEXT_SCHEMA, check_instant, parse_instant

MAX_COUNT = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""
MAX_FLOAT32 = 3.4028234663852886e38

_LONGEST_TEXT = 2**40  # never reached: any length bound makes pydantic look for lone surrogates


def _instant(value: object) -> datetime:
    try:
        if isinstance(value, datetime):
            return check_instant(value, "")
        if isinstance(value, str):
            return parse_instant(value, "")
    except InvalidEvent as error:
        raise broken("", error.rule, error.detail.removeprefix(": ")) from None
    raise broken("", "type", "must be a time with an offset")


class _InstantSchema:
    """An aware time in 1970..9999: in JSON RFC 3339 text, in Python that or an aware datetime; never a number."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        python = core_schema.no_info_plain_validator_function(_instant)
        return core_schema.json_or_python_schema(TEXT_SCHEMA, python)


Instant = Annotated[datetime, _InstantSchema, WithJsonSchema({"type": "string", "format": "date-time"})]

Id = Annotated[str, StringConstraints(min_length=1, max_length=ID_BYTES, pattern=ID_PATTERN)]
"""An id. Its length in bytes is checked with the event, as pydantic counts characters."""
MemoryId = Annotated[str, StringConstraints(min_length=1, max_length=ID_BYTES + len(MOOD_PREFIX), pattern=ID_PATTERN)]
"""The id of a memory: an event's id, or `mood:` and an event's id."""

Text = Annotated[str, StringConstraints(max_length=_LONGEST_TEXT, pattern=NOT_BLANK_PATTERN)]
AnyText = Annotated[str, StringConstraints(max_length=_LONGEST_TEXT)]

Unit = Annotated[float, Field(ge=0, le=1)]
Axis = Annotated[float, Field(ge=-1, le=1)]
Delta = Annotated[float, Field(ge=-2, le=2)]
Positive = Annotated[float, Field(gt=0)]
Millis = Annotated[float, Field(ge=0, le=MAX_COUNT)]
"""A duration in milliseconds, whole or not."""
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Float32 = Annotated[float, Field(ge=-MAX_FLOAT32, le=MAX_FLOAT32)]

Pad3 = Annotated[tuple[Axis, Axis, Axis], Strict(False)]
"""Pleasure, arousal, dominance, each in [-1, 1]; an array of three numbers in JSON."""
Delta3 = Annotated[tuple[Delta, Delta, Delta], Strict(False)]
"""A change of pleasure, arousal, dominance, each in [-2, 2]."""


def _spread(value: object) -> object:
    """Let one number stand for all three axes."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (value, value, value)
    return value


_Hours = Annotated[float, Field(gt=0, le=87_600)]
_Bound = Annotated[float, Field(gt=0, le=2)]

Hours3 = Annotated[tuple[_Hours, _Hours, _Hours], Strict(False), BeforeValidator(_spread)]
"""Time constants per axis in hours, at most ten years; one number stands for all three."""
Bound3 = Annotated[tuple[_Bound, _Bound, _Bound], Strict(False), BeforeValidator(_spread)]
"""Largest displacements per axis, in (0, 2]; one number stands for all three."""

_Gain = Annotated[float, Field(ge=0, le=5)]
Gains3 = Annotated[tuple[_Gain, _Gain, _Gain], Strict(False), BeforeValidator(_spread)]
"""Factors per axis, each in [0, 5]; one number stands for all three."""
