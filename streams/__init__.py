"""Kafka: topics, the publisher, the changelog, and Faust's chunk transport and app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moodstream.streams.names import TopicNames
from moodstream.streams.settings import StreamSettings

if TYPE_CHECKING:
    from moodstream.streams.bus import Bus
    from moodstream.streams.report import Failure, FireReport, Receipt

__all__ = ["Bus", "Failure", "FireReport", "Receipt", "StreamSettings", "TopicNames"]

_HOMES = {"Bus": "bus", "Failure": "report", "FireReport": "report", "Receipt": "report"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the attribute decides
    """Import the publisher on first use: who only needs the settings does not load the Kafka client."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
