"""Ending what runs beside, also where a client swallows the first cancellation."""

import asyncio

import pytest

from drill.waiting import end


async def test_a_task_that_takes_a_cancellation_for_a_timeout_is_told_again() -> None:
    begun, swallowed = asyncio.Event(), 0

    async def deaf() -> None:
        nonlocal swallowed
        while True:
            try:
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed > 1:
                    raise

    task = asyncio.create_task(deaf())
    await begun.wait()
    await end([task])
    assert swallowed == 2


async def test_an_error_that_ended_a_task_before_is_raised() -> None:
    async def broken() -> None:
        raise ValueError("broken")

    task = asyncio.create_task(broken())
    await asyncio.wait([task])
    with pytest.raises(ValueError, match="broken"):
        await end([task])


async def test_nothing_to_end_is_no_error() -> None:
    await end([])
