"""From a failed validation to the one typed error that names field and rule."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from moodstream.schemas.errors import InvalidEvent
from moodstream.schemas.identity import ID_PATTERN
from moodstream.schemas.instants import INSTANT_PATTERN

NOT_BLANK_PATTERN = r"[^\s\x1c-\x1f]"
"""Something besides white space, by the same set of characters as `str.strip`."""

_BY_PATTERN = {
    NOT_BLANK_PATTERN: ("not_blank", "must not be blank"),
    ID_PATTERN: ("control_character", "must not contain control characters"),
    INSTANT_PATTERN: ("instant", "must be a date and time such as 2026-01-31T12:00:00Z"),
}
_BY_TYPE = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "finite_number": "finite",
    "greater_than": "range",
    "greater_than_equal": "range",
    "less_than": "range",
    "less_than_equal": "range",
    "int_parsing_size": "range",
    "literal_error": "choice",
    "string_too_short": "not_blank",
    "string_too_long": "too_long",
    "string_unicode": "unicode",
    "too_long": "too_long",
    "too_short": "too_short",
    "timezone_aware": "timezone",
    "union_tag_not_found": "missing",
    "union_tag_invalid": "choice",
}
NAMES: Final[dict[str, str]] = {}
"""What may stand below a field, for the error of a misspelt name: the model that owns the names notes them here."""
_TAGS = frozenset({"<deltas>", "<emotion>", "[key]"})
"""Parts of a location that are no fields: tags of unions, and pydantic's mark for the key of a dict."""


def broken(field: str, rule: str, detail: str) -> PydanticCustomError:
    """Return the error that a validator raises for a rule of ours; `invalid_event` reads it back."""
    return PydanticCustomError("moodstream", "{detail}", {"field": field, "rule": rule, "detail": detail})


def too_long(field: str, found: int, limit: str, allowed: int) -> PydanticCustomError:
    """Return the error of a limit that is exceeded; its text names the limit."""
    return broken(field, "too_long", f"{found}, the limit {limit} is {allowed}")


def _field(location: tuple[int | str, ...], own: str) -> str:
    parts = [str(part)[:64] for part in location if part not in _TAGS]  # a key of metadata may be long
    return ".".join([*parts, own] if own else parts) or "event"


def rule_of(error: ErrorDetails) -> tuple[str, str, str]:
    """Return the field (where a validator of ours named it), the rule and the detail of one pydantic error."""
    context: dict[str, Any] = error.get("ctx") or {}
    kind = error["type"]
    if kind == "moodstream":
        return context["field"], context["rule"], context["detail"]
    if kind == "string_pattern_mismatch":
        return "", *_BY_PATTERN.get(context["pattern"], ("pattern", error["msg"]))
    if kind.startswith("datetime_") and kind != "datetime_type":
        return "", "instant", error["msg"]
    return "", _BY_TYPE.get(kind, "type"), error["msg"]


def invalid_event(failure: ValidationError, *, tagged: bool = False) -> InvalidEvent:
    """Return the error for the first broken rule; its member `errors` lists them all (at most 20).

    `tagged` says that each location starts with the tag of the event's type. No value of the event is repeated.
    """
    found = []
    for error in failure.errors(include_url=False, include_input=False)[:20]:
        own, rule, detail = rule_of(error)
        field = _field(error["loc"][tagged:], own)
        if rule == "unknown_field" and (names := NAMES.get(field.rpartition(".")[0])):
            detail = f"is not known; known are {names}"
        found.append({"field": field, "rule": rule, "detail": detail})
    found.sort(key=lambda entry: entry["rule"] == "unknown_field")  # a wrong name is told last, it may be a typo of it
    result = InvalidEvent(**found[0])
    result.fields["errors"] = found
    return result
