"""Load an agent whole: what an erasure takes away is found by looking at all there is, under the fence."""

from __future__ import annotations

from collections.abc import Sequence

from moodstream.agents.agent_rows import AgentRows, is_pair
from moodstream.agents.past import Erasure, Past, Reach, newest_bucket
from moodstream.state.ownership import Ownership
from moodstream.state.scanning import dated_suffix


async def load_past(owned: Ownership, agent: AgentRows, erasures: Sequence[Erasure]) -> Past:
    """Read the rows of an agent, page by page, and keep what the erasures ask of them.

    The rows that the chunk needs anyway have been loaded. Raises what `Ownership.load` raises.
    """
    past, layout, newest, reach = Past(), owned.layout, newest_bucket(erasures), Reach(erasures)
    if newest is None:  # an expiry takes no trends
        async for rows in owned.pages(layout.agent(agent.key)):
            past.add_pairs({suffix: row for suffix, row in rows.items() if is_pair(suffix)}, agent.trends)
    numbers: set[int] = set()
    async for names in owned.pages(layout.buckets(agent.key)):
        numbers.update(map(int, names))
    for bucket in sorted(numbers):
        if newest is None or bucket <= newest:
            async for rows in owned.pages(layout.memory(agent.key, bucket)):
                past.add_dated({dated_suffix(bucket, name): row for name, row in rows.items()}, reach)
    return past
