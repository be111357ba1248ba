"""Errors of moods: the truth has to be one, and the rule that it is compared with the usual one."""

from math import exp
from pathlib import Path

import numpy as np
import pytest

from evidence import moods
from evidence.jobs import rng_of
from evidence.moods import HOUR_MS, SCENARIOS, Arrival, Moving, Usual
from evidence.talk import chat
from moodstream.schemas.identity import hash_id
from support import slow_mood

PROFILE = slow_mood.Profile((0.0, 0.0, 0.0), (4.0 * HOUR_MS,) * 3, (1.0, 1.0, 1.0))


def moved(log: Path) -> list[Moving]:
    return moods.most_moved(log, None, 1)[0][1]


def test_truth_is_that_of_the_slow_fold(log: Path) -> None:
    events = moved(log)
    arrivals = [slow_mood.Arrival(one.at, hash_id(one.event.event_id), one.delta) for one in events]
    for wall in range(events[0].at, events[-1].at + 50 * HOUR_MS, 5 * HOUR_MS):
        assert moods.truth(events[::-1], wall) == pytest.approx(slow_mood.mood_at(PROFILE, arrivals, wall), abs=1e-12)


def test_the_usual_rule_adds_then_decays() -> None:
    rule, twin = Usual(moods.dynamics(), False), Usual(moods.dynamics(), True)
    for each in (rule, twin):
        each.arrive(0, (0.5, -0.5, 0.0))
        each.arrive(4 * HOUR_MS, (0.8, 0.0, 0.0))
    assert rule.read(4 * HOUR_MS) == pytest.approx((exp(-1), -0.5 * exp(-1), 0.0))
    assert twin.read(4 * HOUR_MS) == pytest.approx((min(0.5 * exp(-1) + 0.8, 1.0), -0.5 * exp(-1), 0.0))
    assert rule.read(8 * HOUR_MS) == pytest.approx((exp(-2), -0.5 * exp(-2), 0.0))


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_arrives_before_it_happens_and_nothing_is_lost(log: Path, name: str) -> None:
    events = moved(log)
    coming = moods.arrivals(rng_of(1, name), SCENARIOS[name][1], events)
    assert [one.wall for one in coming] == sorted(one.wall for one in coming)
    assert all(one.wall >= one.moving.at for one in coming)
    assert {one.number for one in coming} == set(range(len(events)))
    copies = 2 if name in ("twice", "everything") else 1
    assert len(coming) == copies * len(events)
    in_order = [one.number for one in coming] == list(range(len(events)))
    assert in_order == (name in ("in order", "backlog"))


def test_readings_come_between_arrivals() -> None:
    one = Moving(0, (0.1, 0.0, 0.0), None)  # type: ignore[arg-type]  # the event is not looked at
    coming = [Arrival(wall, at, one) for at, wall in enumerate((0, 10, 10, HOUR_MS))]
    given = list(moods.with_reads(rng_of(1), coming, 50))
    assert [arrival for arrival, _ in given] == coming
    assert sum(len(reads) for _, reads in given) == 50
    bounds = [*(arrival.wall for arrival in coming), float("inf")]
    for at, (arrival, reads) in enumerate(given):
        assert all(arrival.wall <= wall < bounds[at + 1] for wall in reads)


@pytest.mark.parametrize("name", SCENARIOS)
def test_ours_is_exact_or_flagged_and_the_usual_rule_is_not(log: Path, name: str) -> None:
    found = moods.errors(log, None, 1, name, 3, 30)
    assert found["ours"]["readings"] == found["usual"]["readings"] == 90
    assert found["ours"]["silent"] == 0.0
    assert found["ours"]["max"] < 0.1
    assert found["usual"]["mean"] > 100 * found["ours"]["mean"]
    if name in ("in order", "twice", "shuffled", "backlog"):
        assert found["ours"]["exact"] == 1.0
    if name != "in order":
        assert found["milder"]["mean"] > 1e-3


def test_errors_are_counted() -> None:
    errors = moods.Errors()
    errors.note((0.5, 0.0, 0.0), (0.5, 0.0, 0.0), True)
    errors.note((0.5, 0.0, 0.0), (-0.5, 0.0, 0.0), False)
    found = errors.summed_up()
    assert (found["max"], found["mean"]) == (1.0, pytest.approx(1 / 6))
    assert (found["octant"], found["silent"], found["flagged"]) == (0.5, 0.5, 0.5)
    assert found["exact"] == pytest.approx(5 / 6)


def test_a_day_shows_what_moved_the_mood(log: Path) -> None:
    day = moods.day(log, None)
    assert day["agent"] in chat(log, None).events
    assert len(day["hours"]) == len(day["moods"]) == 36 * 12 + 1
    assert day["moods"][0] != day["moods"][-1]
    events = np.array(day["events"])
    assert len(events) > 20
    assert (events[:, 0] >= 0).all()
    assert (events[:, 0] <= 36).all()
