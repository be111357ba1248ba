"""Which agents are to be rebuilt, and which of them the log no longer covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from moodstream.agents.heads import Head
from moodstream.schemas.errors import InvalidUsage
from moodstream.schemas.identity import agent_key, encode_id, partition_of
from moodstream.state.reader import StateReader
from moodstream.streams.event_log import EventLog
from moodstream.streams.settings import StreamSettings


class Target(NamedTuple):
    """An agent, and the partition that it lies in."""

    head: Head
    partition: int


@dataclass
class Plan:
    """What a rebuild comes to."""

    covered: list[Target] = field(default_factory=list)
    lost: list[Target] = field(default_factory=list)
    """Agents whose first events the log no longer has, or may no longer have."""
    starts: dict[int, int] = field(default_factory=dict)
    """Where the log of a partition begins."""

    def add(self, target: Target) -> None:
        """Put an agent where it belongs."""
        (self.covered if target.head.covered(self.starts[target.partition]) else self.lost).append(target)

    def targets(self, *, partial: bool) -> list[Target]:
        """The agents that are rebuilt."""
        return [*self.covered, *self.lost] if partial else self.covered


async def plan_one(streams: StreamSettings, reader: StateReader, tenant: str, agent: str, start: int | None) -> Plan:
    """Plan for one agent, known to Redis or not; `start` is where the log is to be read from.

    Raises `InvalidUsage` when the agent has events before that which the log still has: without them its rows would not
    be what the log says.
    """
    key = agent_key(tenant, agent)
    partition = partition_of(key, await reader.partitions())
    plan = Plan(starts=await _starts(streams, [partition]))
    target = Target(Head.of(key, await reader.head(partition, key)), partition)
    first, begin = target.head.first, plan.starts[partition]
    if start is not None and start > begin and (first is None or first < start):
        where = "cannot be read" if first is None else f"is {first}"
        raise InvalidUsage(
            f"the offset of the agent's first event {where}, the log begins at {begin}: from {start} on it is not all",
            hint="Leave --from-offset away: the log is read from its beginning.",
        )
    plan.add(target)
    return plan


async def plan_all(streams: StreamSettings, reader: StateReader, tenant: str | None) -> Plan:
    """Plan for all agents that Redis knows, of one tenant or of all."""
    numbers = range(await reader.partitions())
    plan = Plan(starts=await _starts(streams, numbers))
    mine = None if tenant is None else encode_id(tenant).encode() + b"/"
    for number in numbers:
        async for page in reader.heads(number):
            for key, row in page:
                if mine is None or key.startswith(mine):
                    plan.add(Target(Head.of(key, row), number))
    return plan


async def _starts(streams: StreamSettings, partitions: Iterable[int]) -> dict[int, int]:
    log = EventLog(streams)
    return {number: await log.start(number) for number in partitions}
