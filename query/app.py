"""The query service as an ASGI application: answers from the state alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from moodstream import query
from moodstream.query import problems
from moodstream.query.paths import RawPaths
from moodstream.query.routes import agents, health, memories, mood, recall, trends
from moodstream.query.settings import QuerySettings
from moodstream.state.reader import StateReader

_PROBLEM: dict[str, Any] = {"content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {**_PROBLEM, "description": "There is no such thing, or it belongs to somebody else"},
    422: {**_PROBLEM, "description": "The query is not valid"},
    503: {**_PROBLEM, "description": "Redis does not answer, or the state is being restored"},
}


def create_app(settings: QuerySettings, reader: StateReader) -> FastAPI:
    """Make the service over a reader, which is closed with it.

    Raises `InvalidSettings` when the service would be open to everybody.
    """
    settings.check_exposure()
    app = FastAPI(
        title="moodstream",
        version="v1",
        description=query.__doc__ or "",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.reader, app.state.settings = reader, settings
    app.add_middleware(RawPaths)
    problems.install(app)
    app.include_router(health.router)
    app.include_router(_of_tenants())
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document of the service, with the shape of its errors, which the framework does not know."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        document["components"]["schemas"]["Problem"] = problems.Problem.model_json_schema()
        app.openapi_schema = document
    return app.openapi_schema


def _of_tenants() -> APIRouter:
    router = APIRouter(prefix="/v1/tenants/{tenant}", responses=_ERRORS)
    for each in (agents, mood, trends, memories, recall):
        router.include_router(each.router)
    return router


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    await app.state.reader.close()
