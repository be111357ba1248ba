"""Relevance of text and of embeddings, always in [0, 1]."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.affect.relevance import embedding_relevance, text_relevance, words_of
from moodstream.schemas.errors import InvalidQuery

TEXTS = ["The printer is on fire", "the network is down", "printer network cable", ""]


def test_rare_words_count_for_more() -> None:
    found = text_relevance("printer fire", TEXTS)
    fire, printer = math.log(1 + 3.5 / 1.5), math.log(1 + 2.5 / 2.5)
    assert found.tolist() == pytest.approx([1.0, 0.0, printer / (fire + printer), 0.0])


def test_a_word_that_nobody_has_lowers_all_alike() -> None:
    found, less = text_relevance("printer", TEXTS), text_relevance("printer unicorn", TEXTS)
    assert np.argsort(found).tolist() == np.argsort(less).tolist()
    assert max(less) < max(found) == 1.0


def test_case_order_and_repetition_do_not_matter() -> None:
    assert text_relevance("FIRE, printer! fire", TEXTS).tolist() == text_relevance("printer fire", TEXTS).tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Straße STRASSE", {"strasse"}),
        ("don't stop_it 42", {"don", "t", "stop_it", "42"}),
        ("天気はいい", {"天", "気", "は", "い"}),
        ("Ünïcode天", {"ünïcode", "天"}),
        ("?! ...", set()),
    ],
)
def test_words(text: str, words: set[str]) -> None:
    assert words_of(text) == words


@given(st.text(min_size=1), st.lists(st.text(), max_size=8))
def test_text_relevance_is_a_share(question: str, texts: list[str]) -> None:
    if not words_of(question):
        with pytest.raises(InvalidQuery):
            text_relevance(question, texts)
        return
    found = text_relevance(question, [*texts, question])
    assert ((found >= 0) & (found <= 1)).all()
    assert found[-1] == pytest.approx(1.0)


def test_no_texts() -> None:
    assert text_relevance("anything", []).tolist() == []
    assert embedding_relevance("m", [1.0], []).tolist() == []


def test_embeddings_by_their_angle() -> None:
    memories = [
        ("m", [2.0, 0.0]),
        ("m", np.array([0.0, 3.0], dtype=np.float32)),
        ("m", [-1.0, 0.0]),
        None,
        ("m", [0, 0]),
    ]
    found = embedding_relevance("m", [5.0, 0.0], memories)
    assert found.tolist() == [1.0, 0.5, 0.0, 0.0, 0.5]


@given(st.lists(st.tuples(*[st.floats(-1e308, 1e308)] * 3), min_size=1, max_size=5))
def test_embedding_relevance_is_always_a_share(vectors: list[tuple[float, ...]]) -> None:
    found = embedding_relevance("m", vectors[0], [("m", vector) for vector in vectors])
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("memory", [("other", [1.0, 0.0]), ("m", [1.0]), ("m", [1.0, 0.0, 0.0])])
def test_embeddings_of_another_model_or_length_are_an_error(memory: tuple[str, list[float]]) -> None:
    with pytest.raises(InvalidQuery) as caught:
        embedding_relevance("m", [1.0, 0.0], [("m", [0.5, 0.5]), memory])
    assert caught.value.fields == {"parameter": "embedding"}
