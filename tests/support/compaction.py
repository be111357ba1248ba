"""Have the broker's cleaner come at once, and know when it has been there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from moodstream.schemas.changelog import POSITION_KEY, Position, encode_position
from moodstream.streams.changelog import KafkaChangelog
from moodstream.streams.settings import StreamSettings
from moodstream.streams.topics import specs
from support.waiting import eventually

_AT_ONCE = {"segment.ms": "500", "min.cleanable.dirty.ratio": "0.001", "min.compaction.lag.ms": "0"}
_FIRST = 20_000


async def compacted(changelog: KafkaChangelog, settings: StreamSettings, marks: list[bytes]) -> None:
    """Wait until the log of each partition has gaps. `marks` are those of the owners, whose last position was zero."""
    await _configure(settings)
    for partition, mark in enumerate(marks):
        await eventually(_cleaned(changelog, partition, mark), seconds=120, what="compaction")


def _cleaned(changelog: KafkaChangelog, partition: int, mark: bytes) -> Callable[[], Awaitable[bool]]:
    async def has_gaps() -> bool:
        async for records in changelog.read(partition, 0, _FIRST):
            if records[-1].offset - records[0].offset >= len(records):
                return True
        # The cleaner leaves the newest segment alone: begin another one.
        await changelog.append(partition, mark, [(POSITION_KEY, encode_position(Position()))])
        return False

    return has_gaps


async def _configure(settings: StreamSettings) -> None:
    """Change how the changelog is kept; what is not named goes back to the broker's default."""
    (spec,) = [one for one in specs(settings) if one.name == settings.topics.changelog]
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap)
    await admin.start()
    try:
        config = {**spec.config, **_AT_ONCE}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, spec.name, configs=config)])
    finally:
        await admin.close()
