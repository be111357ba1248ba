"""Notices of trends: entered and left once, steps told once, nothing told again after a restart."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from structlog.testing import capture_logs

from moodstream.affect.params import STANDARD
from moodstream.affect.statistics import summary
from moodstream.agents import notices
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.notices import Turn, announced_again
from moodstream.schemas.events import InputEvent
from moodstream.schemas.outputs import TrendChanged
from moodstream.state.rows import NOTICE, TRENDS
from support.events import T0_MS, outcome, profile
from support.watching import AGENT, HOUR_MS, KEY, TENANT, Watched, replies


def noise(count: int, middle: float = 0.0, seed: int = 1) -> list[float]:
    """Values that say nothing, around a middle."""
    return [float(value) for value in np.random.default_rng(seed).normal(middle, 0.1, count)]


RISE = [value - 0.5 + i * 0.03 for i, value in enumerate(noise(30))]
REST = noise(60, 0.4, seed=21)
LOW, HIGH = noise(40, -0.3, seed=3), noise(60, 0.3, seed=4)


def of_agent(turns: Sequence[Turn], signal: str = "sentiment_shift") -> list[Turn]:
    """Notices of the trend over all other agents."""
    return [turn for turn in turns if turn.other is None and turn.signal == signal]


def directions(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Changes of direction, without notices that only tell of a step."""
    states = [turn.state for turn in turns]
    return [(state.previous, state.direction) for state in states if state.previous != state.direction]


def told(turn: Turn) -> TrendChanged:
    """The notice as subscribers read it."""
    message = turn.message()
    assert message.key == KEY
    assert message.value is not None
    return TrendChanged.model_validate_json(message.value)


def test_a_direction_is_entered_once_and_left_once() -> None:
    watched = Watched()
    watched.see(replies("sentiment_shift", RISE + REST))
    assert directions(of_agent(watched.turns)) == [("stable", "improving"), ("improving", "stable")]


def test_a_direction_is_kept_while_the_evidence_is_weaker_than_it_took_to_enter() -> None:
    watched = Watched()
    kept = []
    for event in replies("sentiment_shift", RISE + REST):
        watched.see([event])
        now = watched.agent.notices.get("sentiment_shift")
        if now is not None and now.direction == "improving":
            found = summary(watched.agent.trends[TRENDS], "sentiment_shift", T0_MS)
            assert found.p is not None
            kept.append(found.p)
    assert kept[0] < 0.002
    assert max(kept) <= 0.2
    assert sum(p >= 0.002 for p in kept) > 3


def test_sparse_reports_need_more_evidence() -> None:
    def first_p(gap_hours: float) -> float:
        watched = Watched()
        events = replies("sentiment_shift", RISE, gap_hours=gap_hours)
        for event in events:
            entered = [turn for turn in of_agent(watched.see([event])) if turn.state.direction == "improving"]
            if entered:
                return entered[0].state.p or 0.0
        raise AssertionError("never entered")

    assert 0.001 <= first_p(1) < 0.002
    assert first_p(25) < 0.001


def test_noise_is_not_announced() -> None:
    watched = Watched()
    assert watched.see(replies("sentiment_shift", noise(150))) == []
    assert NOTICE not in watched.rows


def test_less_than_ten_reports_say_nothing() -> None:
    watched = Watched()
    events = replies("sentiment_shift", [i / 10 + (i % 2) / 100 for i in range(10)])
    assert watched.see(events[:9]) == []
    assert directions(of_agent(watched.see(events[9:]))) == [("stable", "improving")]


def test_a_step_is_announced_once_although_its_place_wobbles() -> None:
    watched = Watched()
    places = set()
    for event in replies("sentiment_shift", LOW + HIGH):
        watched.see([event])
        found = summary(watched.agent.trends[TRENDS], "sentiment_shift", T0_MS).change_at_ms
        places |= {found} - {None}
    steps = [turn.state.change for turn in of_agent(watched.turns) if turn.state.change is not None]
    assert len(places) > 1
    assert len(steps) == 1
    assert abs(steps[0] - (T0_MS + 40 * HOUR_MS)) <= 5 * HOUR_MS


def test_a_second_step_is_another_one() -> None:
    watched = Watched()
    watched.see(replies("sentiment_shift", LOW + HIGH[:40] + LOW))
    steps = [turn.state.change for turn in of_agent(watched.turns) if turn.state.change is not None]
    assert [round((step - T0_MS) / HOUR_MS / 40) for step in steps] == [1, 2]


def test_a_step_without_a_direction_is_told_as_such() -> None:
    watched = Watched()
    (first, *_) = of_agent(watched.see(replies("sentiment_shift", LOW + HIGH[:20])))
    event = told(first)
    assert (event.previous, event.direction) == ("stable", "stable")
    assert event.change_at is not None


def test_pairs_are_told_apart_from_each_other_and_from_the_agent() -> None:
    watched = Watched()
    risen = replies("sentiment_shift", RISE, other="ü/%")
    level = replies("sentiment_shift", noise(len(RISE), seed=5), other="v")
    for one, other in zip(risen, level, strict=True):
        watched.see([one, other])
    assert {turn.other for turn in watched.turns} - {None} == {"ü/%"}
    event = told(next(turn for turn in watched.turns if turn.other))
    assert (event.other_agent_id, event.signal) == ("ü/%", "sentiment_shift")
    assert event.event_id == f"{TENANT}/{AGENT}/trend/sentiment_shift/ü/%/{event.sequence}"


def test_the_sign_of_a_signal_decides_what_is_better() -> None:
    faster = [float(10_000 - 300 * i + 50 * (i % 3)) for i in range(20)]
    plain, turned, none = Watched(), Watched(), Watched()
    turned.see([profile(TENANT, AGENT, "p", T0_MS, trend_signs={"response_time_ms": 1})])
    none.see([profile(TENANT, AGENT, "p", T0_MS, trend_signs={"response_time_ms": 0})])
    for watched in (plain, turned, none):
        watched.see(replies("response_time_ms", faster))
    assert directions(of_agent(plain.turns, "response_time_ms")) == [("stable", "improving")]
    assert directions(of_agent(turned.turns, "response_time_ms")) == [("stable", "declining")]
    assert none.turns == []


def test_a_signal_without_a_sign_has_no_steps_either() -> None:
    watched = Watched()
    watched.see([profile(TENANT, AGENT, "p", T0_MS, trend_signs={"sentiment_shift": 0})])
    assert watched.see(replies("sentiment_shift", LOW + HIGH)) == []


def test_success_of_outcomes_has_a_trend_too() -> None:
    watched = Watched()
    results = ["failure"] * 20 + ["success"] * 10
    events: list[InputEvent] = [
        outcome(TENANT, AGENT, f"o{i}", T0_MS + i * HOUR_MS, result=result, appraise=False)
        for i, result in enumerate(results)
    ]
    watched.see(events)
    (turn,) = watched.turns
    assert (turn.signal, turn.other) == ("outcome_success", None)
    assert turn.state.change is not None
    assert abs(turn.state.change - (T0_MS + 20 * HOUR_MS)) <= HOUR_MS


@pytest.mark.parametrize("cut", [10, 16, 30, 55, 80])
def test_a_restart_from_the_packed_rows_announces_nothing_new(cut: int) -> None:
    events = replies("sentiment_shift", RISE + REST)
    steady, restarted = Watched(), Watched()
    for number, event in enumerate(events):
        if number == cut:
            restarted.restart()
        assert [turn.state for turn in restarted.see([event])] == [turn.state for turn in steady.see([event])]
    assert restarted.rows == steady.rows


def test_larger_chunks_look_less_often_and_announce_no_more() -> None:
    one_by_one, together = Watched(), Watched()
    events = replies("sentiment_shift", RISE + REST)
    one_by_one.see(events)
    for start in range(0, len(events), 30):
        together.chunk(events[start : start + 30])
    assert directions(of_agent(together.turns)) == directions(of_agent(one_by_one.turns))
    assert all(turn.state.offset % 30 == 29 for turn in together.turns)


def test_what_was_noted_from_an_offset_on_is_announced_again() -> None:
    watched = Watched()
    watched.see(replies("sentiment_shift", LOW + HIGH[:20]))
    watched.restart()
    last = {(turn.signal, turn.other): turn for turn in watched.turns}
    newest = max(turn.state.offset for turn in last.values())
    again = announced_again(watched.agent, since=newest)
    assert {(turn.signal, turn.other): turn for turn in again} == last
    assert [turn.message() for turn in again] == [last[turn.signal, turn.other].message() for turn in again]
    assert announced_again(watched.agent, since=newest + 1) == []


def test_the_notice_carries_the_offset_of_the_row_and_the_evidence() -> None:
    watched = Watched()
    watched.offset = 1_000
    (turn, *_) = of_agent(watched.see(replies("sentiment_shift", RISE)))
    event = told(turn)
    assert event.sequence == turn.state.offset == 1_000 + event.observations - 1
    assert event.event_id.endswith(f"/{event.sequence}")
    assert event.p is not None
    assert event.p < 0.002
    assert event.slope_per_hour is not None
    assert event.slope_per_hour > 0
    assert json.loads(turn.message().value or b"")["occurred_at"] == "2026-01-01T10:00:00Z"


def test_what_is_remembered_of_many_others_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "MOST", 6)
    watched = Watched()
    for n in range(9):
        rise = replies("sentiment_shift", RISE[:20], start=n * 20, other=f"other {n}")
        end = replies("sentiment_shift", REST if n == 4 else [], start=n * 20 + 20, other=f"other {n}")
        watched.see([*rise, *end])
    kept = watched.agent.notices
    assert len(kept) == 6
    own = {name for name in kept if "/" not in name}
    assert own == {turn.signal for turn in watched.turns if turn.other is None}
    pairs = [int(name.rpartition(" ")[2]) for name in kept if "/" in name]
    assert sorted(pairs) == [3, 5, 6, 7, 8]  # 4, whose trend has ended, was forgotten first; else the oldest
    assert {turn.other for turn in watched.turns} >= {f"other {n}" for n in range(9)}
    watched.restart()
    assert watched.agent.notices == kept


def test_all_that_one_chunk_announces_is_remembered_for_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "MOST", 2)
    watched = Watched()
    events = [event for n in range(5) for event in replies("sentiment_shift", RISE, other=f"other {n}")]
    told_now = watched.chunk(events)
    assert {turn.name for turn in announced_again(watched.agent, 0)} == {turn.name for turn in told_now}
    assert len(told_now) >= 5
    watched.see(replies("sentiment_shift", [0.0], start=200, other="other 9"))
    assert len(watched.agent.notices) <= len(told_now)


def test_looking_that_raises_stops_nothing_and_tells_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    events = replies("sentiment_shift", RISE)
    watched = Watched()
    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(notices, "look_all", broken)
        assert watched.see(events[:-1]) == []
    assert {line["event"] for line in logs} == {"looking at trends raised"}
    assert directions(of_agent(watched.see(events[-1:]))) == [("stable", "improving")]


def test_rows_that_a_chunk_has_not_touched_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    watched.see(replies("sentiment_shift", RISE[:12]))

    def never(*_: object) -> None:
        raise AssertionError("looked")

    monkeypatch.setattr(notices, "look_all", never)
    assert notices.look([watched.agent, AgentRows(KEY, STANDARD)]) == []
