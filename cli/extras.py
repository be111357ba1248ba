"""Parts that are installed on request: a missing one is named, with the extra that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moodstream.schemas.errors import MissingExtra


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a missing package inside the block into `MissingExtra` that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "moodstream":
            raise
        text = f"the package {error.name} is not installed; it comes with moodstream[{extra}]"
        hint = f"pip install 'moodstream[{extra}]'"
        raise MissingExtra(text, hint=hint, extra=extra, package=error.name) from error
