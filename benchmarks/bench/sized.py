"""A workload whose memories are as large as one likes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from bench.filling import fold
from bench.workload import Workload
from moodstream.state.rows import Kind, kind_of

_TEXT = (
    "the release went out an hour late because the migration had to be run again after the first attempt timed out; "
    "support was told, customers noticed little, and the postmortem names the missing index as the cause "
)
_SAMPLE = 200


@dataclass(frozen=True)
class Sized:
    """The events of a workload with descriptions of so many bytes; 0 leaves them as they are."""

    valid: Workload
    description: int

    @property
    def events(self) -> int:
        """Number of records."""
        return self.valid.events

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Give key and value of each record."""
        text = described(self.description)
        for key, value in self.valid:
            yield key, (json.dumps({**json.loads(value), "description": text}).encode() if text else value)


def described(size: int) -> str:
    """Words, so many bytes of them."""
    text = _TEXT * (size // len(_TEXT) + 1)
    return text[: size - 1] + "." if size else ""


async def row_bytes(description: int) -> int:
    """Mean size of the memory rows of such a workload, in bytes, as the worker writes them."""
    template = await fold(Sized(Workload(_SAMPLE, _SAMPLE // 10), description))
    rows = (row for chunk in template.chunks for _, suffix, row in chunk if kind_of(suffix) is Kind.MEMORY)
    return round(statistics.mean(len(row) for row in rows if row))
