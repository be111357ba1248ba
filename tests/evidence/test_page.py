"""The whole run: page and object say what was measured, the same each time, and what was not."""

import json
import re
from pathlib import Path

import pytest

from evidence import __main__ as evidence
from evidence import page, people, plan
from evidence.plan import Share
from evidence.promises import Promise
from evidence.tables import promised

SMALL = plan.Size(
    series=20, streams=1, length=120, steps=10, permutations=2, agents=3, readings=5, messages=None, part=20
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "QUICK", SMALL)
    monkeypatch.delenv(evidence.DATA_VARIABLE, raising=False)


ROOT = Path(__file__).resolve().parents[2]


def test_a_run_is_the_same_each_time(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name in ("one", "two"):
        assert (
            evidence.main(["--quick", "--json", "--jobs", "1", "--data", str(log), "--out", str(tmp_path / name)]) == 0
        )
        written = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        files.append({path.relative_to(tmp_path / name): path.read_bytes() for path in written})
    assert files[0] == files[1]
    text = files[0][Path("evidence.md")].decode()
    assert "$" not in text
    assert str(tmp_path) not in text
    pictures = set(re.findall(r"\]\((evidence/\w+\.svg)\)", text))
    assert pictures | {"evidence.md"} == {str(path) for path in files[0]}
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["seed"] == plan.SEED
    for promise in found["promises"]:
        assert promise["promise"] in text
    assert found["results"]["recall"]["text log"]["unlike"] == 0


def test_without_a_chat_log_the_page_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evidence.main(["--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "evidence.md").read_text()
    assert "No chat log was given" in text
    assert "permuted" not in text
    assert capsys.readouterr().out == ""
    assert {path.name for path in (tmp_path / "evidence").iterdir()} == {"single.svg", "streams.svg", "steps.svg"}


@pytest.mark.parametrize("content", [None, "no log\n"])
def test_a_log_that_is_none_ends_the_run_at_once(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    if content:
        path.write_text(content)
    monkeypatch.setenv(evidence.DATA_VARIABLE, str(path))
    assert evidence.main(["--quick", "--out", str(tmp_path / "out")]) == 2
    assert "error: log.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("value", "at_least", "verdict"),
    [
        (0.03, False, "met"),
        (0.049, False, "met, within the error"),
        (0.051, False, "missed, within the error"),
        (0.08, False, "missed"),
        (0.08, True, "met"),
        (0.03, True, "missed"),
    ],
)
def test_a_promise_is_met_or_missed_by_its_value(value: float, at_least: bool, verdict: str) -> None:
    promise = Promise("a rate", 0.05, Share(value, 0.002), "here", at_least=at_least)
    assert promise.verdict == verdict
    assert promise.met == verdict.startswith("met")
    assert (f"**{verdict}**" in promised([promise])) == (not promise.met)
    assert ("**Missed: 1 of 1.**" in page.missed([promise])) == (not promise.met)


def test_people_of_the_log(log: Path) -> None:
    found = people.trends(log, None, 1, 3)
    assert found["authors"] == 3
    real = found["people"]["real"]
    assert real["responded"]["looks"] == 3
    assert {one["responded"]["looks"] for one in found["people"]["permuted"]} == {3}
    assert sum(of["looks"] for of in found["pairs"]["real"].values()) > 0


def test_other_outcomes_keep_the_messages_and_mix_what_became_of_them() -> None:
    from evidence.jobs import rng_of

    known = [people.Outcome(at, 10 * at, float(at % 2)) for at in range(40)]
    mixed = people.other_outcomes(rng_of(1), known)
    assert [one.sent for one in mixed] == [one.sent for one in known]
    assert sorted((one.waited, one.value) for one in mixed) == sorted((one.waited, one.value) for one in known)
    assert mixed != known
    series = people.reported("responded", mixed)
    assert list(series.times) == sorted(one.sent + one.waited for one in mixed)
    assert {one.waited for one in people.one_delay(known)} == {people.DAY_MS}


def test_a_person_s_outcomes_are_those_of_the_trend_row(log: Path) -> None:
    from evidence.talk import chat, lived
    from moodstream.state.rows import TRENDS

    for name, events in chat(log, None).events.items():
        row = lived(name, events).trends[TRENDS]
        for signal, known in people.outcomes_of(events).items():
            series = people.reported(signal, known)
            times, values = zip(*row.observations(signal), strict=True)
            assert series.times.tolist() == list(times)
            assert series.values.tolist() == pytest.approx(list(values))


def test_the_page_that_is_published_is_of_a_full_run() -> None:
    text = (ROOT / "docs/evidence.md").read_text()
    assert f"{plan.FULL.series:,} series of each kind" in text
    assert f"Seed {plan.SEED}" in text
    assert "No chat log was given" not in text
