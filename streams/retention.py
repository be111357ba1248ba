"""When the last copy of what is erased now will be gone from each topic, by how the broker is really configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from moodstream.streams.settings import KEEP_FOREVER, StreamSettings
from moodstream.streams.topics import WITHIN, configurations, specs

_WEEK_MS: Final = 7 * 24 * 3_600_000
_CHECKS_MS: Final = 15 * 60_000
"""How often brokers look for what is to be deleted, and how long files outlive it: by default five and one minutes."""
_NEVER_MS: Final = 1 << 53
"""A time beyond which nobody waits; Kafka's own word for "never" is 2^63 - 1."""


class Copies(NamedTuple):
    """How long copies in a topic may last. `after_ms` is counted from now; None: for ever."""

    topic: str
    after_ms: int | None
    cure: str
    """What to set where they last for ever."""


async def last_copies(settings: StreamSettings) -> list[Copies]:
    """Ask the broker how long each topic of the deployment may keep what is in it now. Raises `BrokerUnavailable`."""
    found = await configurations(settings)
    return [_copies(spec.name, {**spec.config, **found[spec.name]}) for spec in specs(settings)]


def _copies(topic: str, config: Mapping[str, str]) -> Copies:
    """A bound from the configuration: whole segments are deleted, so the newest record in one decides."""
    segment = _number(config, "segment.ms", _WEEK_MS)
    if "compact" in config["cleanup.policy"]:
        within = _number(config, WITHIN, _NEVER_MS)
        return Copies(topic, _bounded(within), f"Set {WITHIN} on {topic}")
    retention = _number(config, "retention.ms", _WEEK_MS)
    kept = _NEVER_MS if retention == KEEP_FOREVER else retention + segment
    return Copies(topic, _bounded(kept), f"Set retention.ms on {topic}")


def _number(config: Mapping[str, str], name: str, default: int) -> int:
    return int(config.get(name, default))


def _bounded(ms: int) -> int | None:
    return None if ms >= _NEVER_MS else ms + _CHECKS_MS
