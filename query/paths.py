"""Ids in paths: they are free text, a slash among it, so paths are routed before they are decoded."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import Depends, Path
from starlette.types import ASGIApp, Receive, Scope, Send

from moodstream.schemas.errors import InvalidEvent, InvalidQuery
from moodstream.schemas.identity import MOOD_PREFIX, check_id

_MOOD_PREFIXES = (MOOD_PREFIX, quote(MOOD_PREFIX), quote(MOOD_PREFIX).lower())


class RawPaths:
    """Routes by the path as it was sent: `a%2Fb` stays one segment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on with its raw path."""
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw:
            scope = {**scope, "path": raw.partition(b"?")[0].decode("latin-1")}
        await self._app(scope, receive, send)


def decoded_id(text: str, field: str) -> str:
    """Decode a segment of a path and check that it may be an id. Raises `InvalidQuery`."""
    try:
        return check_id(unquote(text, errors="strict"), field)
    except UnicodeDecodeError:
        raise InvalidQuery(f"{field}: must be UTF-8, percent-encoded", field=field, rule="unicode") from None
    except InvalidEvent as error:
        raise InvalidQuery(error.detail, field=field, rule=error.rule) from None


def _tenant(tenant: Annotated[str, Path(description="Tenant, percent-encoded")]) -> str:
    return decoded_id(tenant, "tenant")


def _agent(agent: Annotated[str, Path(description="Agent, percent-encoded")]) -> str:
    return decoded_id(agent, "agent")


def _memory(
    memory_id: Annotated[str, Path(description=f"Id of a memory: an event's id, or {MOOD_PREFIX} and an event's id")],
) -> str:
    """Ids of the domain mood may be longer than an event's by their prefix."""
    prefix = next((each for each in _MOOD_PREFIXES if memory_id.startswith(each)), None)
    if prefix is None:
        return decoded_id(memory_id, "memory_id")
    return MOOD_PREFIX + decoded_id(memory_id.removeprefix(prefix), "memory_id")


Tenant = Annotated[str, Depends(_tenant)]
AgentId = Annotated[str, Depends(_agent)]
MemoryId = Annotated[str, Depends(_memory)]
