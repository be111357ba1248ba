"""What the benchmarks of trends and annotation measure is what they say."""

import random

import pytest

import annotate
import trends
from annotate import Rated
from moodstream.affect.signals import SIGNALS


def test_sentences_are_put_together_with_their_mean() -> None:
    lines = ["1_1\t2\tA fine day", "2_1\t-4\tBad!", "1_2\t-1\tbut cold."]
    assert annotate.together([annotate.rated(line) for line in lines]) == [
        Rated("1", 0.125, "A fine day. but cold."),
        Rated("2", -1.0, "Bad!"),
    ]


def test_agreement_is_over_what_is_annotated() -> None:
    texts = ["wonderful", "terrible", "good", "bad", "a file", "nice"]
    ratings = [1, -1, 0.5, -0.5, 1, 0.4]
    found = annotate.measured([Rated("", *one) for one in zip(ratings, texts, strict=True)])
    assert (found.texts, found.coverage, found.same_sign) == (6, pytest.approx(5 / 6), 1.0)
    assert found.pearson_low < found.pearson < found.pearson_high
    assert found.spearman > 0.8


def test_rows_at_their_limit_hold_64_turns_with_six_signals() -> None:
    rng = random.Random(1)  # noqa: S311
    row = trends.read(trends.stored(rng, 90, others=4))
    assert [len(row.observations(signal)) for signal in SIGNALS] == [64] * 6 + [0]
    folded = trends.fold({b"a": trends.stored(rng, 64)}, [(b"a", b"a", trends.event(rng, 99, "peer-0"))])
    assert trends.read(folded[b"a"]).count == 64


def test_a_missed_target_is_told() -> None:
    assert trends.verdict(trends.Result("", "", 45.0, 1.0, 90.0, 30.0)) == "missed by 50%"
    assert trends.verdict(trends.Result("", "", 30.0, 1.0, 90.0, 30.0)) == "met"
