"""Names of the topics: one place, derived from the prefix and the name of the application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moodstream.streams.settings import StreamSettings

TABLE = "state"
"""The one Faust table: all row kinds live in it."""


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics of one deployment.

    `prefix` stands before every public topic; `app_id` before the changelog, as Faust names it.
    """

    prefix: str = "moodstream."
    app_id: str = "moodstream"

    @classmethod
    def of(cls, settings: StreamSettings) -> TopicNames:
        """Give the names for these settings."""
        return cls(settings.prefix, settings.app_id)

    @property
    def events(self) -> str:
        """All inputs, keyed by the agent."""
        return f"{self.prefix}events.v1"

    @property
    def mood(self) -> str:
        """`MoodChanged` notices."""
        return f"{self.prefix}mood.v1"

    @property
    def trends(self) -> str:
        """`TrendChanged` notices."""
        return f"{self.prefix}trends.v1"

    @property
    def profiles(self) -> str:
        """Newest profile of each agent (compacted)."""
        return f"{self.prefix}profiles.v1"

    @property
    def dead(self) -> str:
        """Records that could not be accepted, raw."""
        return f"{self.prefix}dead.v1"

    @property
    def changelog(self) -> str:
        """Changelog of the table `state` (compacted, never deleted by age)."""
        return f"{self.app_id}-{TABLE}-changelog"

    def all(self) -> tuple[str, ...]:
        """Every topic, inputs first."""
        return (self.events, self.mood, self.trends, self.profiles, self.dead, self.changelog)
