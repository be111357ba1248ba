"""What a mood does to a recall: measured where it can be checked by hand."""

from pathlib import Path

import pytest

from evidence import recalls
from evidence.feelings import FEELINGS
from evidence.recalls import LOW_MOOD, Question
from moodstream.affect.recall import Candidates, Memory, RecallQuery
from moodstream.schemas.events import Action

HOUR_US = 3_600_000_000


def a_question() -> Question:
    """Twenty sad memories and twenty glad ones in turns; every fourth has a word of the question."""
    pads = [(-0.9, None, None) if at % 2 else (0.9, None, None) for at in range(40)]
    memories = [Memory(f"m{at:02}", (100 - at) * HOUR_US, "experience", None, pad) for at, pad in enumerate(pads)]
    relevance = recalls.text_relevance("kernel", ["kernel" if at % 4 < 2 else "other" for at in range(40)])
    return Question(100 * HOUR_US, (0.8, 0.0, 0.0), Candidates.of(memories), relevance)


def rows_of(about: str, how: str) -> dict[float, dict[str, float]]:
    tallies: dict = {}
    question = a_question()
    relevance = question.relevance if about == "question" else None
    recalls.measure(tallies, (about, "low", how), question, relevance, LOW_MOOD)
    return {influence: tally.means() for (_, _, _, influence), tally in tallies.items()}


@pytest.mark.parametrize("how", ["plain", "centred"])
@pytest.mark.parametrize("about", ["question", "none"])
def test_more_influence_moves_more_and_costs_recency(about: str, how: str) -> None:
    rows = rows_of(about, how)
    assert list(rows) == [0.0, 0.1, 0.3, 0.6, 1.0]
    assert rows[0.0]["kept"] == 1.0
    assert rows[0.0]["pleasure"] == pytest.approx(0.0)
    assert rows[1.0]["pleasure"] == pytest.approx(-0.9)
    assert rows[1.0]["alignment"] > rows[0.0]["alignment"]
    assert rows[1.0]["recency"] < rows[0.0]["recency"]
    assert rows[1.0]["kept"] == 0.5
    assert rows[1.0]["relevance"] == (1.0 if about == "question" else 0.0)


def test_alignment_counts_a_missing_axis_as_0() -> None:
    assert recalls.alignment((0.5, None, None), (0.5, 0.0, 0.0)) == 1.0
    assert recalls.alignment((-1, -1, -1), (1.0, 1.0, 1.0)) == pytest.approx(0.0)


def test_an_influence_of_0_is_no_mood() -> None:
    question = a_question()
    assert recalls.same_without_influence(question, None)
    assert recalls.same_without_influence(question, question.relevance)


def test_an_influence_that_changes_the_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(as_of_us: int, mood: object = None, **_: object) -> RecallQuery:
        return RecallQuery(as_of_us, mood, influence=0.5)  # type: ignore[arg-type]

    monkeypatch.setattr(recalls, "RecallQuery", always)
    assert not recalls.same_without_influence(a_question(), None)


@pytest.mark.parametrize("clock", recalls.CLOCKS)
@pytest.mark.parametrize("feeling", FEELINGS)
def test_tradeoff_of_a_log(log: Path, feeling: str, clock: str) -> None:
    found = recalls.tradeoff(log, None, 1, feeling, clock, 3, 4)
    assert found["unlike"] == 0
    assert found["questions"] == 12
    assert 0.2 < found["annotated"] <= 1.0
    rows = [row for row in found["rows"] if (row["about"], row["mood"], row["how"]) == ("none", "low", "plain")]
    assert rows[-1]["pleasure"] < rows[0]["pleasure"]


def test_memories_are_laid_apart_in_their_order() -> None:
    before = a_question()
    after = recalls.spread(before)
    ages = [(after.as_of_us - one.at_us) // HOUR_US for one in after.candidates.memories]
    assert ages == [3 * (at + 1) for at in range(40)]
    assert [one.pad for one in after.candidates.memories] == [one.pad for one in before.candidates.memories]


def test_questions_know_nothing_of_later(log: Path) -> None:
    for question in recalls.questions(log, None, 1, FEELINGS["text"], 3, 4):
        assert max(memory.at_us for memory in question.candidates.memories) <= question.as_of_us


def test_words_and_outcomes_feel_different() -> None:
    said = [
        Action(
            tenant_id="t",
            agent_id="a",
            event_id=f"e{at}",
            occurred_at="2026-01-05T09:00:00Z",
            description=text,
            turn_id=f"e{at}",
        )
        for at, text in enumerate(("this is great", "this is terrible", "kernel 6.1"))
    ]
    felt = FEELINGS["text"](said, [])
    assert felt["e0"][0] > 0 > felt["e1"][0]
    assert "e2" not in felt
    assert FEELINGS["outcome"](said, []) == {}
