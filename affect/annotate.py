"""From text to PAD, for publishers who have words and no values: the interface, and one implementation.

Import path: `from moodstream.affect.annotate import Sentiment`; it needs `moodstream[annotate]`. An annotator is used
where events are made (SDK, `publish --annotate`, `replay --annotate`), never by a fold: rows depend on the log alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol, TypeVar

from moodstream.affect.english import may_be_english
from moodstream.schemas.errors import MissingExtra
from moodstream.schemas.events import DomainEvent, Pad

__all__ = ["Annotator", "Sentiment", "annotated"]

PASSAGE: Final = 140
"""Characters that are scored together: as many as a tweet had, what the scores were made for."""
SCALE: Final = 0.58
"""Pleasure per unit of VADER's compound score: the least squares fit through 0 to human ratings of tweets, both in
[-1, 1]. Without it, scores say about twice what people say (docs/benchmarks.md has the test on other texts)."""

AnyEvent = TypeVar("AnyEvent")
_Score = Callable[[str], Mapping[str, float]]
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Annotator(Protocol):
    """Anything that can be called with a text: it says what the text feels like, or None where it cannot tell.

    An axis that it does not know stays None. The same text must give the same values, or repeats of an event would
    count as conflicts.
    """

    def __call__(self, text: str, /) -> Pad | None:
        """Annotate one text."""


def annotated(event: AnyEvent, annotate: Annotator) -> AnyEvent:
    """Return the event with a PAD of its description, or as it is: a pad that was given is never touched.

    Only events that become memories of their own have one; whatever the annotator raises goes through.
    """
    if not isinstance(event, DomainEvent) or event.pad is not None:
        return event
    pad = annotate(event.description)
    if pad is None or pad == Pad():
        return event
    return event.model_copy(update={"pad": pad})


class Sentiment:
    """Pleasure of English text by VADER (Hutto and Gilbert 2014): 7,500 words rated by people, negation, emphasis.

    Text without a known word, or mostly in another language, gives None, not 0. Arousal and dominance stay missing:
    there are ratings of words for them, but none that may be used freely, and none that tell much of a sentence.
    Longer text is scored by passages of 140 characters and averaged, as one score of all would soon be at its bound.

    Example::

        Sentiment()("The answer was not helpful.")   # Pad(pleasure=-0.1886)

    `words` adds to the lexicon or corrects it, from -4 to 4: `Sentiment({"kill": 0, "lgtm": 2})` for technical talk.
    Raises `MissingExtra` where the package is not installed.
    """

    def __init__(self, words: Mapping[str, float] | None = None) -> None:
        self._score = _vader(words or {})

    def __call__(self, text: str, /) -> Pad | None:
        """Return the pleasure of a text, None for one that says nothing about it."""
        if not may_be_english(text):
            return None
        scores = [self._score(passage) for passage in passages(text)]
        if not any(score["pos"] or score["neg"] for score in scores):
            return None
        mean = sum(score["compound"] for score in scores) / len(scores)
        return Pad(pleasure=round(SCALE * mean, 4) + 0.0)


def passages(text: str, most: int = PASSAGE) -> Iterator[str]:
    """Give a text in passages: as many whole sentences as `most` characters hold, only a longer one is cut in two."""
    passage = ""
    for piece in _pieces(text, most):
        if passage and len(passage) + len(piece) >= most:
            yield passage
            passage = piece
        else:
            passage = f"{passage} {piece}" if passage else piece
    if passage:
        yield passage


def _pieces(text: str, most: int) -> Iterator[str]:
    """Give the sentences; one of more than two passages by its words, for there may be no full stop at all."""
    for sentence in filter(None, map(str.strip, _SENTENCE.split(text))):
        if len(sentence) <= 2 * most:
            yield sentence
        else:
            yield from sentence.split()


def _vader(words: Mapping[str, float]) -> _Score:
    try:
        from vader import SentimentIntensityAnalyzer
    except ModuleNotFoundError as error:
        text = f"the package {error.name} is not installed; it comes with moodstream[annotate]"
        hint = "pip install 'moodstream[annotate]'"
        raise MissingExtra(text, hint=hint, extra="annotate", package=error.name) from error
    return SentimentIntensityAnalyzer(extra_lexicon=words).polarity_scores
