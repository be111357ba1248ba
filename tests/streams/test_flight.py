"""The bound on what is in flight: never passed, first come first served, nothing lost by cancelling."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.streams.flight import Flight


async def turn() -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_waits_for_room_and_is_let_in_in_order() -> None:
    flight = Flight(max_events=2, max_bytes=100)
    await flight.enter(10)
    await flight.enter(10)
    order: list[int] = []

    async def enter(number: int) -> None:
        await flight.enter(10)
        order.append(number)

    tasks = [asyncio.create_task(enter(number)) for number in range(3)]
    await turn()
    assert order == []
    flight.leave(10)
    await turn()
    assert order == [0]
    flight.leave(10)
    flight.leave(10)
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]


async def test_bytes_are_bounded_too() -> None:
    flight = Flight(max_events=10, max_bytes=100)
    assert flight.try_enter(60)
    assert not flight.try_enter(41)
    assert flight.try_enter(40)


async def test_one_larger_than_all_room_is_let_in_alone() -> None:
    flight = Flight(max_events=10, max_bytes=100)
    assert flight.try_enter(500)
    assert not flight.try_enter(1)
    flight.leave(500)
    assert flight.try_enter(1)


async def test_nobody_passes_one_that_waits() -> None:
    flight = Flight(max_events=10, max_bytes=100)
    await flight.enter(90)
    large = asyncio.create_task(flight.enter(50))
    await turn()
    assert not flight.try_enter(1)
    flight.leave(90)
    await large
    assert (flight.events, flight.size) == (1, 50)


async def test_cancelling_a_wait_gives_its_turn_to_the_next() -> None:
    flight = Flight(max_events=1, max_bytes=100)
    await flight.enter(1)
    first = asyncio.create_task(flight.enter(1))
    second = asyncio.create_task(flight.enter(2))
    await turn()
    first.cancel()
    flight.leave(1)
    await second
    assert (flight.events, flight.size) == (1, 2)


async def test_cancelling_just_after_being_let_in_gives_the_room_back() -> None:
    flight = Flight(max_events=1, max_bytes=100)
    await flight.enter(1)
    waiting = asyncio.create_task(flight.enter(1))
    await turn()
    flight.leave(1)  # lets it in, but it has not run yet
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (flight.events, flight.size) == (0, 0)


@given(st.lists(st.integers(1, 150), max_size=40), st.integers(1, 5), st.integers(50, 120))
def test_never_over_the_bounds_and_empty_at_the_end(sizes: list[int], events: int, size: int) -> None:
    async def run() -> None:
        flight = Flight(events, size)

        async def travel(one: int) -> None:
            await flight.enter(one)
            assert flight.events <= events
            assert flight.size <= size or flight.events == 1
            await asyncio.sleep(0)
            flight.leave(one)

        await asyncio.gather(*(travel(one) for one in sizes))
        assert (flight.events, flight.size) == (0, 0)

    asyncio.run(run())
