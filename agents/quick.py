"""A fast reader of common events: what it takes it takes exactly as the models do, what it doubts it leaves to them.

Most records of a log are plain JSON, of few kinds, and right. For those a typed decoder in C checks types and ranges,
and a few comparisons here check the rest. Whatever fails or is unusual (an appraisal of its own, an embedding, an id
that is not ASCII, an unknown field, an odd way to write a time) gives None: the models then decide, and say what is
wrong. `tests/agents/test_quick.py` holds the two against each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce
from operator import itemgetter, or_
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from moodstream.schemas.base import check_metadata
from moodstream.schemas.errors import MoodstreamError
from moodstream.schemas.events import (
    Action,
    Engagement,
    Event,
    InputEvent,
    MoodSignal,
    Observation,
    Outcome,
    Pad,
    Relationship,
)
from moodstream.schemas.fields import MAX_COUNT, Axis, Count, Delta, Id, Instant, Millis, Text, Unit
from moodstream.schemas.identity import ID_BYTES, MOOD_PREFIX
from moodstream.schemas.instants import EPOCH
from moodstream.schemas.limits import Limits

_KINDS: Final = (Observation, Action, Outcome, Relationship, Engagement, MoodSignal)
"""Kinds whose own rules are known here. Others, such as profiles and reflections, are for the models."""


def _within(kind: type, low: float, high: float) -> Any:  # noqa: ANN401 - a type
    return Annotated[kind, msgspec.Meta(ge=low, le=high)]


def _struct(name: str, fields: list[tuple[Any, ...]], tag: str | None = None) -> type[msgspec.Struct]:
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True, tag_field=tag and "type", tag=tag)


_READ_AS: Final = (
    (Id, Annotated[str, msgspec.Meta(min_length=1, max_length=ID_BYTES)]),
    (Text, Annotated[str, msgspec.Meta(min_length=1)]),
    (Instant, str),
    (Unit, _within(float, 0, 1)),
    (Axis, _within(float, -1, 1)),
    (Delta, _within(float, -2, 2)),
    (Millis, _within(float, 0, MAX_COUNT)),
    (Count, _within(int, 0, MAX_COUNT)),
    (bool, bool),
    (Pad, _struct("Pad", [(axis, _within(float, -1, 1) | None, None) for axis in Pad.model_fields])),
)
"""Types of fields, and what they are for the decoder."""


def _read_as(hint: Any) -> Any:  # noqa: ANN401 - types
    """The decoder's type for a field; None where it must be missing or null."""
    parts = get_args(hint) if type(None) in get_args(hint) else (hint,)
    found = [known for part in parts for ours, known in _READ_AS if part == ours]
    if get_origin(hint) is Literal:
        return hint
    if get_origin(hint) is dict:
        return dict[str, str]
    return None if not found else found[0] | None if len(parts) > 1 else found[0]


class _Kind(NamedTuple):
    """A kind of event: its model, and which of its fields need a look."""

    model: type[Event]
    ids: Callable[[dict[str, Any]], tuple[str | None, ...]]
    texts: tuple[str, ...]
    names: set[str]


def _hints(model: type[Event]) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    return {name: hints[name] for name in model.model_fields if name != "type"}


def _reader(model: type[Event]) -> type[msgspec.Struct]:
    fields = []
    for name, hint in _hints(model).items():
        info = model.model_fields[name]
        required = info.is_required() or name == "event_id"  # one made here would differ at each reading
        default = msgspec.field(default_factory=dict) if name == "metadata" else info.default
        fields.append((name, _read_as(hint)) if required else (name, _read_as(hint), default))
    return _struct(model.__name__, fields, model.type_name)


def _kind(model: type[Event]) -> _Kind:
    def named(wanted: Any) -> tuple[str, ...]:  # noqa: ANN401 - a type
        return tuple(name for name, hint in _hints(model).items() if wanted in (hint, *get_args(hint)))

    return _Kind(model, itemgetter(*named(Id)), named(Text), set(model.model_fields))


_BY_STRUCT: Final[dict[type[msgspec.Struct], _Kind]] = {_reader(model): _kind(model) for model in _KINDS}
_decode: Final[Callable[[bytes], Any]] = msgspec.json.Decoder(reduce(or_, _BY_STRUCT)).decode
_is_common_time: Final = re.compile(
    r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
).fullmatch


def read_quickly(value: bytes, limits: Limits) -> InputEvent | None:
    """Read a record's value if it is plain JSON of a common kind and right; None leaves it to `codec.decode`."""
    try:
        found = _decode(value)
        kind = _BY_STRUCT[type(found)]
        fields = msgspec.structs.asdict(found)
        if not _fits(fields, kind, limits):
            return None
        fields["occurred_at"] = _instant(fields["occurred_at"])
    except (msgspec.DecodeError, MoodstreamError, ValueError, OverflowError):
        return None
    fields["type"] = kind.model.type_name
    if fields.get("pad") is not None:
        fields["pad"] = _made(Pad, msgspec.structs.asdict(fields["pad"]), set(Pad.model_fields))
    event: InputEvent = _made(kind.model, fields, kind.names)
    return event


def _fits(fields: dict[str, Any], kind: _Kind, limits: Limits) -> bool:
    """Whether fields that the decoder took keep the other rules; raises, or says False, where that is in doubt."""
    ids = "".join(filter(None, kind.ids(fields)))
    if not (ids.isascii() and ids.isprintable()):
        return False
    for name in kind.texts:
        value = fields[name]
        if value is not None and (value[0].isspace() or len(value) * 4 > limits.description_bytes):
            return False
    if fields["metadata"]:
        check_metadata(fields["metadata"], limits)
    if kind.model is MoodSignal and fields["cause"] is None and fields["kind"] == "direct_shift":
        return False
    return not fields["event_id"].startswith(MOOD_PREFIX) and fields.get("other_agent_id") != fields["agent_id"]


def _instant(text: str) -> datetime:
    if not _is_common_time(text):
        raise ValueError(text)
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    if instant < EPOCH:
        raise ValueError(text)
    return instant


_new: Final[Callable[[type[Any]], Any]] = object.__new__
_set: Final = object.__setattr__


def _made(model: type[Any], fields: dict[str, Any], names: set[str]) -> Any:  # noqa: ANN401 - an instance of the model
    """An instance of a frozen model with fields that were checked already: what `model_construct` makes, but bare."""
    made = _new(model)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", names)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made
