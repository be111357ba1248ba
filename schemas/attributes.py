"""Attribute values: typed fields as strings, and the strings read back.

Numbers are the shortest text that reads back equal (`2`, `0.25`, `1e+16`), booleans `true` or `false`, lists JSON
arrays without spaces. A field that is null has no attribute.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def number(value: float) -> str:
    """Return the shortest text of a number that reads back equal."""
    return repr(value).removesuffix(".0")


def text_of(value: Any) -> str:  # noqa: ANN401
    """Return the attribute value of a field that is not null."""
    to_text = _TEXT.get(type(value))
    return "[" + ",".join(_item(item) for item in value) + "]" if to_text is None else to_text(value)


def flag(value: bool) -> str:
    """Return `true` or `false`."""
    return "true" if value else "false"


_TEXT: dict[type, Callable[[Any], str]] = {str: str, bool: flag, int: str, float: number}


def _item(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else number(value)


def boolean(text: str) -> bool:
    """Read `true` or `false`; ValueError for anything else."""
    if text not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text == "true"


def numbers(text: str) -> list[float]:
    """Read a JSON array of numbers as floats; ValueError for anything else."""
    return [float(item) for item in array(text)]


def array(text: str) -> list[Any]:
    """Read a JSON array; ValueError for anything else."""
    value = json.loads(text)
    if not isinstance(value, list):
        raise ValueError("not an array")
    return value
