"""An agent's memories in the order of time, page by page."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from moodstream.query.memories import Remembered, kept_points, remembered
from moodstream.query.minds import Mind
from moodstream.schemas.errors import InvalidQuery
from moodstream.schemas.instants import to_us
from moodstream.state.reader import StateReader
from moodstream.state.views import AgentView


class Mark(NamedTuple):
    """The last memory of a page: the next page begins behind it."""

    us: int
    memory_id: str

    @classmethod
    def parse(cls, text: str | None) -> Mark | None:
        """Read what `str` gave. Raises `InvalidQuery`."""
        if text is None:
            return None
        time, dot, memory_id = text.partition(".")
        if not (dot and time.isascii() and time.isdecimal() and len(time) < 19):
            raise InvalidQuery("after: is not a `next` of a page before", field="after", rule="mark")
        return cls(int(time), memory_id)

    def __str__(self) -> str:
        return f"{self.us}.{self.memory_id}"


class Page(NamedTuple):
    """Some memories, newest first."""

    memories: list[Remembered]
    broken: int
    next: Mark | None


async def page_of(
    reader: StateReader,
    view: AgentView,
    mind: Mind,
    *,
    domains: Collection[str],
    since: datetime | None,
    until: datetime | None,
    after: Mark | None,
    limit: int,
) -> Page:
    """Take the newest memories behind a mark; of one time those with the smaller id come first."""
    kept, found, broken = kept_points(mind), list[Remembered](), 0
    low = None if since is None else to_us(since)
    high = _high(until, after)
    async for rows in reader.memories(view, low, high):
        broken += rows.broken
        wanted = [
            each
            for each in remembered(rows, kept)
            if (not domains or each.domain in domains)
            and (low is None or each.us >= low)
            and (high is None or each.us < high)
            and (after is None or _order(each) > (-after.us, after.memory_id))
        ]
        found += sorted(wanted, key=_order)
        if len(found) > limit:
            await reader.confirm(view)
            break
    page = found[:limit]
    following = Mark(page[-1].us, page[-1].memory_id) if len(found) > limit else None
    return Page(page, broken, following)


def _order(memory: Remembered) -> tuple[int, str]:
    return -memory.us, memory.memory_id


def _high(until: datetime | None, after: Mark | None) -> int | None:
    bounds = [to_us(until)] if until is not None else []
    if after is not None:
        bounds.append(after.us + 1)
    return min(bounds, default=None)
