"""What a worker does with `rebuild` events: it makes the rows of their agents anew, before it folds their chunk."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from moodstream.agents.heads import Head, batches
from moodstream.agents.rebuild import Rebuilder
from moodstream.schemas.rebuild import Rebuild
from moodstream.state.partition import Wanted
from moodstream.state.rows import AGENT

log = structlog.get_logger(__name__)


async def repair(rebuilder: Rebuilder, events: Mapping[bytes, Rebuild]) -> None:
    """Make the rows of agents (key to event) anew from the log, up to where the partition stands.

    The whole log is read, whatever the row `agent` says: it may be the one that is wrong. An agent that the log does
    not cover keeps its rows unless its event says `partial`.
    """
    owned = rebuilder.ownership
    start = await rebuilder.start()
    keys = sorted(events)
    rows = await owned.load([Wanted(owned.layout.agent(key), [AGENT]) for key in keys])
    heads = [Head.of(key, row) for key, (row,) in zip(keys, rows, strict=True)]
    todo = [head for head in heads if events[head.key].partial or head.covered(start)]
    log.info("rebuilding", partition=owned.partition, agents=len(todo), not_covered=len(heads) - len(todo))
    for batch in batches(todo):
        first = max(start, min(_first(head, events[head.key]) for head in batch))
        parts = {head.key for head in batch if not head.covered(start)}
        async for _ in rebuilder.rebuild([head.key for head in batch], first, parts):
            pass
    log.info("rebuilt", partition=owned.partition, agents=len(todo))


def _first(head: Head, event: Rebuild) -> int:
    """Where to begin: an offset that cannot be true is one of another log, whose events were published again."""
    offset = event.from_offset or 0
    return offset if head.first is not None and head.first >= offset else 0
