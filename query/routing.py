"""Routes whose answers are read in several steps: of one moment, or read again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from moodstream.state.reader import steadily


class SteadyRoute(APIRoute):
    """A route that asks again where the agent was erased in part, or made anew, while it was read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As FastAPI wants it."""
        handle = super().get_route_handler()

        async def handle_steadily(request: Request) -> Response:
            return await steadily(partial(handle, request))

        return handle_steadily
