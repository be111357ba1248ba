"""Every error of the service as problem details (RFC 9457), those of the framework too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from pydantic_core import ErrorDetails, to_json
from starlette.exceptions import HTTPException

from moodstream.schemas.errors import InternalFault, InvalidQuery, MoodstreamError
from moodstream.schemas.faults import rule_of

MEDIA_TYPE = "application/problem+json"
_BRANCHES = ("function-", "literal[", "GivenMood")
"""How parts of a location begin that are no fields, but branches of a union."""
_SOON = {"Retry-After": "1"}


class Problem(BaseModel):
    """Problem details of RFC 9457. Further members tell more, such as `errors`: a list of field, rule and detail."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    """Never changes for a cause."""
    hint: str
    """The next step."""


def install(app: FastAPI) -> None:
    """Let the app answer all errors as problem details."""
    app.add_exception_handler(MoodstreamError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_framework)
    app.add_exception_handler(Exception, _unexpected)


def problem(body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    """Render problem details."""
    status = int(str(body["status"]))
    later = _SOON if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(to_json(body, fallback=str), status, {**later, **(headers or {})}, MEDIA_TYPE)


async def _ours(_request: Request, error: Exception) -> Response:
    if not isinstance(error, MoodstreamError):
        raise error
    return problem(error.to_problem())


async def _invalid(_request: Request, error: Exception) -> Response:
    """Name each field and rule; the values themselves are not repeated."""
    if not isinstance(error, RequestValidationError):
        raise error
    faults = [_fault(each) for each in cast("Sequence[ErrorDetails]", error.errors())[:20]]
    if isinstance(error.body, bytes):  # the framework reads JSON only where the header says that it is
        faults = [{"field": "body", "rule": "content_type", "detail": "send it with Content-Type: application/json"}]
    text = "; ".join(f"{each['field']}: {each['detail']}" for each in faults)
    return problem(InvalidQuery(text, errors=faults).to_problem())


def _fault(error: ErrorDetails) -> dict[str, str]:
    own, rule, detail = rule_of(error)
    place, *path = [str(part) for part in error["loc"]]
    parts = [part for part in (*path, own) if part and not part.startswith(_BRANCHES)]
    if error["type"] == "json_invalid":
        return {"field": place, "rule": "json", "detail": "must be JSON in UTF-8"}
    return {"field": ".".join(parts) or place, "rule": rule, "detail": detail}


async def _of_framework(_request: Request, error: Exception) -> Response:
    """Unknown paths and methods: the framework's own answers, in our form."""
    if not isinstance(error, HTTPException):
        raise error
    status = HTTPStatus(error.status_code)
    code = status.phrase.lower().replace(" ", "_").replace("-", "_")
    body = {
        "type": f"urn:moodstream:error:{code}",
        "title": status.phrase,
        "status": status.value,
        "detail": status.description or status.phrase,
        "code": code,
        "hint": "See /openapi.json for all paths and methods.",
    }
    return problem(body, error.headers)


async def _unexpected(_request: Request, _error: Exception) -> Response:
    """A bug of ours: the log has the details, the caller gets none."""
    fault = InternalFault("the service failed to answer", hint="Look into the log of the query service.")
    return problem(fault.to_problem())
