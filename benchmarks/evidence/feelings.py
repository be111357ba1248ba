"""Which feeling a message carries: the seam between recall and whatever annotates texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from moodstream.affect.annotate import Sentiment
from moodstream.affect.appraisal import appraise
from moodstream.schemas.events import Action, InputEvent
from moodstream.schemas.profile import DEFAULT_PROFILE

Pad = tuple[float | None, float | None, float | None]
Feel = Callable[[Sequence[Action], Sequence[InputEvent]], Mapping[str, Pad]]
"""From messages, and all that has become known by now, to the feeling of each message by its event id."""

LOUDER: Final = 8.0
"""Default rules move a mood by 0.05 to 0.1 an event: this makes a clear feeling of it."""


def by_outcome(messages: Sequence[Action], known: Sequence[InputEvent]) -> dict[str, Pad]:
    """Let a message feel as it landed: what the default rules make of its engagement, times eight, within [-1, 1].

    One of which nothing is known yet has no feeling.
    """
    felt: dict[str | None, list[float]] = {}
    for event in known:
        delta = appraise(event, DEFAULT_PROFILE.rules)
        if delta is not None:
            so_far = felt.setdefault(event.turn_id, [0.0, 0.0, 0.0])
            felt[event.turn_id] = [a + b for a, b in zip(so_far, delta, strict=True)]
    return {message.event_id: _clear(felt[message.turn_id]) for message in messages if message.turn_id in felt}


def _clear(delta: Sequence[float]) -> Pad:
    p, a, d = (min(max(LOUDER * value, -1.0), 1.0) for value in delta)
    return p, a, d


def by_text(messages: Sequence[Action], _: Sequence[InputEvent]) -> dict[str, Pad]:
    """Let a message feel as its words do: the pleasure that `moodstream publish --annotate` would give it."""
    felt = {message.event_id: _pleasure(message.description) for message in messages}
    return {ident: (pleasure, None, None) for ident, pleasure in felt.items() if pleasure is not None}


@cache
def _pleasure(text: str) -> float | None:
    pad = _sentiment()(text)
    return None if pad is None else pad.pleasure


@cache
def _sentiment() -> Sentiment:
    return Sentiment()


FEELINGS: Final[Mapping[str, Feel]] = {"text": by_text, "outcome": by_outcome}
