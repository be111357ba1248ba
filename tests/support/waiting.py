"""Wait for a condition instead of sleeping for a guess."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

STEP_SECONDS = 0.05


def wait_until(condition: Callable[[], T], *, seconds: float = 30.0, what: str = "the condition") -> T:
    """Return the first true value of `condition`; raise `TimeoutError` naming `what` when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come about within {seconds:g} s")
        time.sleep(STEP_SECONDS)
    return value


async def eventually(
    condition: Callable[[], T | Awaitable[T]], *, seconds: float = 30.0, what: str = "the condition"
) -> T:
    """Like `wait_until` without blocking the loop; the condition may be a coroutine function."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        value = await found if inspect.isawaitable(found) else found
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come about within {seconds:g} s")
        await asyncio.sleep(STEP_SECONDS)
