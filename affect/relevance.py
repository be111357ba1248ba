"""How well a memory answers a question, in [0, 1]: by the words of its text, or by the angle between embeddings.

Both are made for the candidates of one query, which are scored all together. There is no index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moodstream.schemas.errors import InvalidQuery

Column = NDArray[np.float64]

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W{_IDEOGRAPH}]+")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text, folded to one case; in scripts without spaces each character is a word.

    >>> sorted(words_of("Grüße, GRÜSSE!"))
    ['grüsse']
    """
    return frozenset(_WORD.findall(text.casefold()))


def text_relevance(question: str, texts: Sequence[str]) -> Column:
    """Return for each text the share of the question's words that it has, rare words counting for more.

    relevance = Σ idf(words in both) / Σ idf(words of the question), idf(w) = ln(1 + (N - n + .5) / (n + .5)) where n of
    the N texts have w (Robertson and Zaragoza 2009, The Probabilistic Relevance Framework, as in BM25). InvalidQuery
    when the question has no word.
    """
    asked = words_of(question)
    if not asked:
        raise InvalidQuery("the question has no word to look for", parameter="question")
    found = [asked & words_of(text) for text in texts]
    idf = {word: _idf(len(texts), sum(word in words for words in found)) for word in sorted(asked)}
    most = sum(idf.values())
    return np.array([min(sum(idf[word] for word in sorted(words)) / most, 1.0) for words in found], dtype=np.float64)


def embedding_relevance(model: str, vector: ArrayLike, memories: Sequence[tuple[str, ArrayLike] | None]) -> Column:
    """Return (1 + cosine) / 2 for each memory's (model, vector); 0 for a memory that has none.

    InvalidQuery when a memory's embedding is of another model or length: such vectors cannot be compared.
    """
    asked = np.asarray(vector, dtype=np.float64)
    places = [at for at, memory in enumerate(memories) if memory is not None]
    known = [memory for memory in memories if memory is not None]
    for other, values in known:
        _check_comparable((model, len(asked)), (other, len(np.asarray(values))))
    relevance = np.zeros(len(memories))
    if known:
        matrix = np.array([values for _, values in known], dtype=np.float64)
        cosine = _unit(matrix) @ _unit(asked[np.newaxis])[0]
        relevance[places] = (1.0 + np.clip(cosine, -1.0, 1.0)) / 2.0
    return relevance


def _idf(texts: int, having: int) -> float:
    return log(1.0 + (texts - having + 0.5) / (having + 0.5))


def _check_comparable(asked: tuple[str, int], found: tuple[str, int]) -> None:
    if asked != found:
        detail = f"the embedding is of {asked[0]} with {asked[1]} numbers, a memory's of {found[0]} with {found[1]}"
        raise InvalidQuery(detail, parameter="embedding")


def _unit(rows: Column) -> Column:
    """Scale each row to length 1, a row of zeros to zeros; by its largest number first, so that no square overflows."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0.0, largest, 1.0)
    length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return scaled / np.where(length > 0.0, length, 1.0)
