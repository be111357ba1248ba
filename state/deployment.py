"""Whether this Redis may hold this deployment: asked once, before a worker takes its first partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moodstream.schemas.errors import FoldMismatch, InvalidSettings
from moodstream.state.connection import call, memory_facts, reported
from moodstream.state.layout import FORMAT, format_key
from moodstream.state.scripts import DECLARE_FOLD
from moodstream.state.views import StateFormat

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.affect.params import Fold
    from moodstream.state.settings import StateSettings

_POLICY = "noeviction"


async def check_deployment(redis: Redis, settings: StateSettings, partitions: int) -> None:
    """Check that Redis never evicts and holds this format with this many partitions; write that down the first time.

    Raises `InvalidSettings`, or `StoreUnavailable` when Redis does not answer.
    """
    key = format_key(settings.prefix)
    async with reported(settings.address):
        servers = await memory_facts(redis)
        await call(redis, "HSETNX", key, "format", FORMAT)
        await call(redis, "HSETNX", key, "partitions", partitions)
        found = StateFormat.of(await call(redis, "HGETALL", key))
    for memory in servers:
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


async def declare_fold(redis: Redis, settings: StateSettings, fold: Fold, *, starting: bool = True) -> None:
    """Write down by which fold this worker works, so that readers know its default profile; only ever forward.

    Raises `FoldMismatch` where another fold of the same revision is known, and, for a worker that is `starting`, where
    a newer one is: one that has been at work goes on with the partitions whose rows are still its own.
    """
    version, revision = fold.order
    mine = f"{version} {revision} {fold.stamp.hex()}"
    script = redis.register_script(DECLARE_FOLD)
    async with reported(settings.address):
        arguments: list[str | int] = [version, revision, fold.stamp.hex(), fold.params.default_profile]
        answer: bytes = await script(keys=[format_key(settings.prefix)], args=arguments)
    newest = answer.decode()
    if newest == mine:
        return
    if _order(newest) == fold.order:
        raise FoldMismatch(
            f"this deployment has revision {revision} of the fold with other parameters than this worker",
            hint="Set fold.default_profile as the other workers have it, or raise fold.revision (docs/upgrades.md).",
        )
    if starting:
        raise FoldMismatch(
            f"this deployment has gone on to {_named(newest)}, this worker has {_named(mine)}",
            hint="Start it with the settings, or the release, of the newer workers (docs/upgrades.md).",
        )


def _order(text: str) -> tuple[int, int]:
    version, revision, _ = text.split()
    return int(version), int(revision)


def _named(text: str) -> str:
    version, revision = _order(text)
    return f"fold {version}, revision {revision}"
