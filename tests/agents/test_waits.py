"""Reasons to wait: told once, ended, or lapsed when nobody repeats them."""

from __future__ import annotations

from moodstream.agents.waits import Waits


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_reason_is_new_once_and_ends_once() -> None:
    waits = Waits(10)
    assert waits.begin("redis", "Redis: frozen")
    assert not waits.begin("redis", "Redis: gone")
    assert str(waits) == "Redis: gone"
    assert waits.end("redis")
    assert not waits.end("redis")
    assert str(waits) == ""


def test_all_reasons_are_told() -> None:
    waits = Waits(10)
    waits.begin("redis", "Redis: frozen")
    waits.begin("broker", "the broker is away")
    assert str(waits) == "Redis: frozen; the broker is away"


def test_one_that_is_not_repeated_lapses() -> None:
    clock = Clock()
    waits = Waits(10, clock)
    waits.begin("redis", "frozen")
    waits.begin("broker", "away")
    clock.now += 9
    waits.begin("broker", "away")
    assert waits.lapse() == []
    clock.now += 2
    assert waits.lapse() == ["redis"]
    assert str(waits) == "away"
