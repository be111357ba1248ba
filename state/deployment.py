"""Whether this Redis may hold this deployment: asked once, before a worker takes its first partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Home(NamedTuple):
    """Where the truth of a deployment lies."""

    cluster: str
    """The broker's id of its cluster; empty where it gives none."""
    log: str
    """Name of the changelog topic."""


async def check_deployment(redis: Redis, settings: StateSettings, partitions: int, home: Home) -> None:
    """Check that Redis never evicts, and holds this format, this many partitions, and the state of this log.

    What is not yet said there is written down. Raises `InvalidSettings`, or `StoreUnavailable` when Redis does not
    answer.
    """
    await check_policy(redis, settings)
    found = await _written_down(redis, settings, {"format": FORMAT, "partitions": partitions})
    _check_format(found, partitions, settings)
    found = await _written_down(redis, settings, home._asdict())
    _check_home(found, home, settings)


async def _written_down(redis: Redis, settings: StateSettings, facts: Mapping[str, Any]) -> StateFormat:
    """Write down what is not yet said there; give what is."""
    key = format_key(settings.prefix)
    async with reported(settings.address):
        for name, value in facts.items():
            if value:
                await call(redis, "HSETNX", key, name, value)
        return StateFormat.of(await call(redis, "HGETALL", key))


async def check_policy(redis: Redis, settings: StateSettings) -> None:
    """Check that no server throws rows away. Raises `InvalidSettings`, or `StoreUnavailable`."""
    async with reported(settings.address):
        servers = await memory_facts(redis)
    policies = [str(memory.get("maxmemory_policy", _POLICY)) for memory in servers]
    policy = next((one for one in policies if one != _POLICY), _POLICY)
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


def _check_home(found: StateFormat, home: Home, settings: StateSettings) -> None:
    """Two deployments on the same keys would take turns in overwriting each other's rows."""
    names = (("cluster", "Kafka cluster", found.cluster, home.cluster), ("log", "changelog", found.log, home.log))
    key = format_key(settings.prefix).decode()
    for field, what, theirs, ours in names:
        if theirs and ours and theirs != ours:
            raise InvalidSettings(
                f"Redis at {settings.address} holds under {settings.prefix!r} the state of the {what} {theirs}; "
                f"that of this worker is {ours}",
                hint="Give each deployment a MOODSTREAM_STATE__PREFIX or a Redis of its own. If the other one is gone "
                f"for good and its rows shall go on here: redis-cli HDEL {key} {field}",
            )
