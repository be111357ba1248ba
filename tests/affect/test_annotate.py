"""From text to PAD: what is said, what is not, and that nobody's own values are touched."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.affect.annotate import PASSAGE, SCALE, Annotator, Sentiment, annotated, passages
from moodstream.affect.english import may_be_english
from moodstream.schemas.errors import MissingExtra
from moodstream.schemas.events import Pad
from support.events import T0_MS, outcome, profile, signal

SENTIMENT = Sentiment()


def pleasure(text: str, annotate: Annotator = SENTIMENT) -> float | None:
    pad = annotate(text)
    return None if pad is None else pad.pleasure


def test_good_is_pleasant_and_bad_is_not() -> None:
    assert pleasure("That was a wonderful answer, thank you!") > 0.2
    assert pleasure("That was a terrible answer and it made me angry.") < -0.2


def test_negation_turns_it_round() -> None:
    assert pleasure("The answer was helpful.") > 0 > pleasure("The answer was not helpful.")


def test_emphasis_and_emoji_count() -> None:
    assert pleasure("The answer was GREAT!!!") > pleasure("The answer was great") > 0
    assert pleasure("😍") > 0 > pleasure(":(")


def test_only_pleasure_is_said() -> None:
    assert SENTIMENT("thank you") == Pad(pleasure=pleasure("thank you"))


@pytest.mark.parametrize("text", ["", "  \n", "The disk is full of files.", "你好", "12 + 30", "x", "http://"])
def test_text_without_a_known_word_gives_none_and_not_zero(text: str) -> None:
    assert SENTIMENT(text) is None


def test_words_that_cancel_out_are_known_all_the_same() -> None:
    sentiment = Sentiment({"plus": 2.0, "minus": -2.0})
    assert pleasure("plus and minus", sentiment) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe die Lösung in der Doku gefunden.",
        "Das war heute leider nicht so, die Antwort fehlt.",
        "Je ne comprends pas, c'est mort",
        "Il server è in fine vita",
        "O servidor não funciona, hospital",
        "Jag har inte en bra dag",
        "Het is niet best, ik heb pest",
    ],
)
def test_other_languages_give_none_though_some_words_look_english(text: str) -> None:
    assert not may_be_english(text)
    assert SENTIMENT(text) is None


@pytest.mark.parametrize("text", ["thanks", "I would rather die.", "it works, merci!", "no, the war is over", "💀"])
def test_english_is_not_taken_for_another_language(text: str) -> None:
    assert may_be_english(text)


def test_a_long_text_is_averaged_and_not_driven_to_the_bound() -> None:
    one = "The answer was good and it came at once. " * 3
    assert pleasure(one * 40) == pytest.approx(pleasure(one), abs=0.02)
    assert pleasure(one + "The disk has files of many kinds in it. " * 30) < pleasure(one) / 4


def test_a_text_without_full_stops_is_cut_by_words() -> None:
    text = "good " * 1_600
    parts = list(passages(text))
    assert max(map(len, parts)) <= PASSAGE
    assert " ".join(parts).split() == text.split()
    assert pleasure(text) <= SCALE


@given(st.text(max_size=400))
def test_any_text_gives_the_same_each_time_and_within_bounds(text: str) -> None:
    found = SENTIMENT(text)
    assert found == SENTIMENT(text)
    assert found is None or (abs(found.pleasure) <= SCALE and found.arousal is None and found.dominance is None)


@given(st.text("ab .!?\n", max_size=900))
def test_passages_keep_every_word_in_order(text: str) -> None:
    assert " ".join(passages(text)).split() == text.split()


def test_words_of_ones_own() -> None:
    assert pleasure("please kill the process") < 0
    assert pleasure("kill the process", Sentiment({"kill": 0})) is None
    assert pleasure("lgtm", Sentiment({"LGTM": 2})) > 0


def test_a_given_pad_is_never_touched() -> None:
    for given_pad in (Pad(), Pad(arousal=0.5), Pad(pleasure=0.0)):
        event = outcome("t", "a", "e", T0_MS, description="wonderful", pad=given_pad)
        assert annotated(event, SENTIMENT) is event


def test_an_event_gets_the_pad_of_its_description() -> None:
    event = outcome("t", "a", "e", T0_MS, description="wonderful")
    found = annotated(event, SENTIMENT)
    assert found.pad == SENTIMENT("wonderful")
    assert found.model_copy(update={"pad": None}) == event


@pytest.mark.parametrize("answer", [None, Pad()])
def test_nothing_found_leaves_the_event_as_it_is(answer: Pad | None) -> None:
    event = outcome("t", "a", "e", T0_MS)
    assert annotated(event, lambda _: answer) is event


def test_events_that_have_no_pad_are_not_annotated() -> None:
    for event in (profile("t", "a", "p", T0_MS), signal("t", "a", "s", T0_MS, 0.5, cause="wonderful")):
        assert annotated(event, SENTIMENT) is event


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vader", None)
    with pytest.raises(MissingExtra, match=r"moodstream\[annotate\]") as caught:
        Sentiment()
    assert caught.value.fields["extra"] == "annotate"
