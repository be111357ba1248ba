"""How long nothing went on: the longest time in which a partition had something to read and did not move."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from redis.exceptions import RedisError

from drill.names import PARTITIONS
from drill.publisher import Publisher
from drill.store import Store
from drill.store_cluster import ClusterStore
from moodstream.state.connection import connect
from moodstream.state.layout import Layout
from moodstream.state.settings import StateSettings

STEP_SECONDS = 0.1
_AT_ONCE = 0.5


@dataclass
class Pace:
    """Looks at positions as they come in. Times are seconds of any one clock."""

    longest: float = 0.0
    _reached: dict[int, int] = field(default_factory=dict)
    _waits_since: dict[int, float] = field(default_factory=dict)

    def look(self, now: float, ends: Mapping[int, int], sources: Mapping[int, int]) -> None:
        """Take the ends of the log as far as they are known, and the positions, of which some may be unknown."""
        for partition, end in ends.items():
            reached = self._reached.get(partition, 0)
            source = max(sources.get(partition, 0), reached)
            self._reached[partition] = source
            if source >= end:
                self._waits_since.pop(partition, None)
            elif source > reached:
                self._waits_since[partition] = now
            else:
                since = self._waits_since.setdefault(partition, now)
                self.longest = max(self.longest, now - since)


async def watch(pace: Pace, store: Store | ClusterStore, publisher: Publisher) -> None:
    """Look every so often, until cancelled. What the broker does not take counts: a publisher waits for it too."""
    while True:
        found = await positions(store, publisher.names.prefix)
        pace.look(time.monotonic(), publisher.expected_ends(), found)
        await asyncio.sleep(STEP_SECONDS)


async def positions(store: Store | ClusterStore, prefix: str) -> dict[int, int]:
    """Positions in the log as Redis has them now; none where it does not answer."""
    return {p: int(meta.get(b"source", 0)) for p, meta in (await metas(store, prefix)).items()}


async def metas(store: Store | ClusterStore, prefix: str) -> dict[int, dict[bytes, bytes]]:
    """What Redis says of each partition; nothing where it does not answer at once."""
    client = connect(StateSettings(url=store.direct, connect_seconds=_AT_ONCE, answer_seconds=_AT_ONCE))
    try:
        found = [await client.hgetall(Layout(prefix, partition).meta) for partition in range(PARTITIONS)]
    except (RedisError, OSError, TimeoutError):
        return {}
    finally:
        await client.aclose()
    return dict(enumerate(found))
