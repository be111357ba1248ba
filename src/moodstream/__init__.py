"""Moods and engagement trends of AI agents as durable state."""

from importlib.metadata import version

__version__ = version("moodstream")
