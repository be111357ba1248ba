"""What there is of an agent that an erasure would take away, counted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

from moodstream.agents.past import Dated, reaches
from moodstream.schemas.erasure import Erase
from moodstream.schemas.errors import NotFound
from moodstream.schemas.identity import hash_id
from moodstream.state.reader import StateReader, steadily
from moodstream.state.rows import PAIR_PREFIX, Kind, RowError, kind_of, pair_suffix, split_row_key
from moodstream.state.views import AgentView, BucketRows, ScannedAgent


@dataclass(slots=True)
class Traces:
    """Numbers of rows that an erasure takes away."""

    memories: int = 0
    shifts: int = 0
    """Steps of the mood's way that are final; the newest ones are in the mood itself."""
    pairs: int = 0
    """Other agents whose trends go."""
    rows: int = 0
    """Mood, trends, profile and the like, where all of the agent goes."""

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def __add__(self, other: Traces) -> Traces:
        return Traces(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def less(self, after: Traces) -> Traces:
        """What is gone where this was there before and that after."""
        pairs = zip(asdict(self).values(), asdict(after).values(), strict=True)
        return Traces(*(max(a - b, 0) for a, b in pairs))

    def count(self, event: Erase, row: Dated) -> None:
        """Count a row of a bucket, if it goes."""
        if reaches(event, row):
            self.memories += row.kind is Kind.MEMORY
            self.shifts += row.kind is Kind.SHIFT

    def count_small(self, event: Erase, suffix: bytes) -> None:
        """Count another row, if it goes."""
        if suffix.startswith(PAIR_PREFIX):
            goes = event.scope == "agent" or event.domain == "engagement"
            self.pairs += goes or suffix == pair_suffix(event.other_agent_id or "")
        else:
            self.rows += event.scope == "agent"


async def traces(reader: StateReader, event: Erase) -> tuple[Traces, AgentView | None]:
    """Count what is there now; no view where there is no such agent.

    Raises `Restoring`, `Rewritten`, `StoreUnavailable`.
    """
    return await steadily(partial(_traces, reader, event))


async def _traces(reader: StateReader, event: Erase) -> tuple[Traces, AgentView | None]:
    found = Traces()
    try:
        view = await reader.agent(event.tenant_id, event.agent_id, buckets=True)
    except NotFound:
        return found, None
    if event.scope == "memory":
        found.memories = await _is_there(reader, view, event.erased_event)
        return found, view
    for suffix in await reader.suffixes(view):
        found.count_small(event, suffix)
    async for bucket in reader.memories(view):
        _count_bucket(found, event, bucket)
    return found, view


async def _is_there(reader: StateReader, view: AgentView, event_id: str) -> int:
    try:
        return len((await reader.stored(view, hash_id(event_id))).memories)
    except NotFound:
        return 0


def _count_bucket(found: Traces, event: Erase, bucket: BucketRows) -> None:
    for memory in bucket.memories:
        found.count(event, Dated.of_memory(memory.ident, memory.content))
    for ident in bucket.shifts:
        found.count(event, Dated(Kind.SHIFT, ident, 0))  # no scope asks for its time


def scanned(agent: ScannedAgent, event: Erase) -> Traces:
    """Count what an erasure takes from an agent whose rows have all been read."""
    found = Traces()
    for key, row in agent.rows.items():
        owner, suffix = split_row_key(key)
        if not owner:  # the marker row stays
            continue
        try:
            if kind_of(suffix) in (Kind.MEMORY, Kind.SHIFT):
                found.count(event, Dated.of(suffix, row))
            else:
                found.count_small(event, suffix)
        except RowError:
            continue
    return found
