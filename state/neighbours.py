"""Whether somebody else's workers live on the same keys: told by what they say of themselves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from moodstream.schemas.errors import InvalidSettings
from moodstream.state.workers import read_reports

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from moodstream.state.settings import StateSettings

_LOOK_SECONDS: Final = 0.25


async def refuse_neighbours(redis: Redis, settings: StateSettings, broker: str) -> None:
    """Refuse to take over rows of another log while a worker on another broker is alive.

    A report may be one of a worker that has just died: so wait until it is renewed, or too old to count.
    Raises `InvalidSettings`, or `StoreUnavailable` when Redis does not answer.
    """
    first: dict[str, float] = {}
    while True:
        others = [one for one in await read_reports(redis, settings) if one.fresh and one.broker not in ("", broker)]
        if not others:
            return
        for one in others:
            if one.at > first.setdefault(one.name, one.at):
                raise InvalidSettings(
                    f"the worker {one.name} on the broker {one.broker} works on the keys of {settings.prefix!r} "
                    f"in Redis at {settings.address}, with another changelog than this broker has",
                    hint="Give each deployment a MOODSTREAM_STATE__PREFIX or a Redis of its own, or stop that worker.",
                )
        await asyncio.sleep(_LOOK_SECONDS)
