"""How far a restore is, by offsets; and that a short one is not told of."""

from __future__ import annotations

import time

import pytest

from moodstream.state.progress import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a test moves."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_speed_and_rest_follow_from_what_is_done(clock: list[float]) -> None:
    progress = Progress(start=1_000, end=5_000)
    assert progress.facts() == {"rows": 0, "rows_per_s": 0, "percent": 0, "seconds_left": 0}
    clock[0] += 10
    progress.moved(2_000, 600)
    assert progress.facts() == {"rows": 600, "rows_per_s": 60, "percent": 25, "seconds_left": 30}
    clock[0] += 10
    progress.moved(5_000, 400)
    assert progress.facts() == {"rows": 1_000, "rows_per_s": 50, "percent": 100, "seconds_left": 0}


def test_it_is_told_every_two_seconds_and_not_at_once(clock: list[float]) -> None:
    progress = Progress(0, 10)
    told = []
    for _ in range(8):
        clock[0] += 0.75
        told.append(progress.is_time())
    assert told == [False, False, True, False, False, True, False, False]


def test_a_restore_of_nothing_divides_by_nothing(clock: list[float]) -> None:
    progress = Progress(7, 7)
    progress.moved(7, 0)
    assert progress.facts()["percent"] == 0
