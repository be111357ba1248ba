"""A deployment of its own for each test: names that no other test uses, on a shared platform."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.platforms import Platform

if TYPE_CHECKING:
    from moodstream.cli.settings import Settings
    from moodstream.state.settings import StateSettings
    from moodstream.streams.settings import StreamSettings


@dataclass(frozen=True)
class Deployment:
    """Where one test's topics and rows lie."""

    platform: Platform
    label: str

    @classmethod
    def on(cls, platform: Platform, test: str) -> Deployment:
        """Make names out of the test's name and something random."""
        word = re.sub(r"[^a-z0-9]+", "-", test.lower())[:40].strip("-")
        return cls(platform, f"{word}-{uuid.uuid4().hex[:8]}")

    @property
    def prefix(self) -> str:
        """What topics and Redis keys of this test begin with."""
        return f"{self.label}."

    @property
    def streams(self) -> StreamSettings:
        """Settings of the broker side, quick to rebalance."""
        from moodstream.streams.settings import StreamSettings

        return StreamSettings(
            bootstrap=self.platform.bootstrap, prefix=self.prefix, app_id=self.label, rebalance_seconds=2
        )

    @property
    def state(self) -> StateSettings:
        """Settings of the Redis side."""
        from moodstream.state.settings import StateSettings

        return StateSettings(url=self.platform.redis_url, prefix=self.prefix)

    @property
    def settings(self) -> Settings:
        """All settings, as the command line would have them."""
        from moodstream.cli.settings import Settings

        return Settings(streams=self.streams, state=self.state)

    @property
    def environment(self) -> dict[str, str]:
        """The same settings for a `moodstream` that runs as a process of its own."""
        parts = {
            "STREAMS__BOOTSTRAP": self.platform.bootstrap,
            "STREAMS__PREFIX": self.prefix,
            "STREAMS__APP_ID": self.label,
            "STREAMS__REBALANCE_SECONDS": "2",
            "STATE__URL": self.platform.redis_url,
            "STATE__PREFIX": self.prefix,
        }
        return {f"MOODSTREAM_{name}": value for name, value in parts.items()}
