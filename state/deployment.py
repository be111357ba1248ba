"""Whether this Redis may hold this deployment: asked once, before a worker takes its first partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moodstream.schemas.errors import InvalidSettings
from moodstream.state.connection import call, reported
from moodstream.state.layout import FORMAT, format_key
from moodstream.state.views import StateFormat

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.state.settings import StateSettings

_POLICY = "noeviction"


async def check_deployment(redis: Redis, settings: StateSettings, partitions: int) -> None:
    """Check that Redis never evicts and holds this format with this many partitions; write that down the first time.

    Raises `InvalidSettings`, or `StoreUnavailable` when Redis does not answer.
    """
    key = format_key(settings.prefix)
    async with reported(settings.address):
        memory = await redis.info("memory")
        await call(redis, "HSETNX", key, "format", FORMAT)
        await call(redis, "HSETNX", key, "partitions", partitions)
        found = StateFormat.of(await call(redis, "HGETALL", key))
    _check_policy(str(memory.get("maxmemory_policy", _POLICY)), settings)
    _check_format(found, partitions, settings)


def _check_policy(policy: str, settings: StateSettings) -> None:
    if policy != _POLICY:
        raise InvalidSettings(
            f"Redis at {settings.address} has maxmemory-policy {policy}: it may throw rows away",
            hint=f"Set maxmemory-policy {_POLICY}; a full Redis then pauses the workers, and nothing is lost.",
        )


def _check_format(found: StateFormat, partitions: int, settings: StateSettings) -> None:
    if found.format != FORMAT:
        raise InvalidSettings(
            f"Redis at {settings.address} holds format {found.format} under {settings.prefix!r}, this is {FORMAT}",
            hint="Use the version of moodstream that wrote it, or start a new deployment (docs/settings.md).",
        )
    if found.partitions != partitions:
        raise InvalidSettings(
            f"Redis at {settings.address} holds {found.partitions} partitions under {settings.prefix!r}, "
            f"the settings say {partitions}",
            hint="The partition count of a deployment never changes: set streams.partitions back, "
            "or start a new deployment (docs/settings.md) and publish the log again there.",
        )
