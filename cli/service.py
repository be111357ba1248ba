"""A small client of the query service for the commands that read: the standard library is enough for it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from moodstream.schemas.errors import InvalidQuery, MoodstreamError, ServiceUnavailable
from moodstream.schemas.identity import encode_id

if TYPE_CHECKING:
    from moodstream.query.settings import QuerySettings

Answer = dict[str, Any]
Parameters = Mapping[str, str | int | Sequence[str] | None]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Service:
    """Questions about one tenant. Problems that the service answers are raised as the errors they were.

    Raises `InvalidQuery` where tenant or an id in a path is empty or no Unicode.
    """

    def __init__(self, settings: QuerySettings, tenant: str) -> None:
        self.url = settings.url.rstrip("/")
        self._seconds = settings.url_seconds
        self._tenant = _segment(tenant, "tenant")
        self._opener = _opener(self.url)

    def get(self, *path: str, **parameters: str | int | Sequence[str] | None) -> Answer:
        """Ask for a path below the tenant; its segments are encoded here. Raises `MoodstreamError`."""
        given = {name.rstrip("_"): value for name, value in parameters.items() if value not in (None, [])}
        query = "?" + urlencode(given, doseq=True) if given else ""
        return self._ask(Request(self._place(path) + query))  # noqa: S310 - the settings allow http and https alone

    def post(self, *path: str, body: Mapping[str, object]) -> Answer:
        """Send a JSON object to a path below the tenant. Raises `MoodstreamError`."""
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        return self._ask(Request(self._place(path), data, headers))  # noqa: S310 - as above

    def _place(self, path: Sequence[str]) -> str:
        return "/".join((self.url, "v1", "tenants", self._tenant, *(_segment(one, "id") for one in path)))

    def _ask(self, request: Request) -> Answer:
        try:
            with self._opener.open(request, timeout=self._seconds) as answer:
                return _object(answer.read())
        except HTTPError as error:
            with error:
                raise self._problem(error.code, error.read()) from None
        except (URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise ServiceUnavailable(f"no query service at {self.url}: {reason}", address=self.url) from error

    def _problem(self, status: int, body: bytes) -> MoodstreamError:
        try:
            found = _object(body)
            return _raised(found.pop("code"), found.pop("detail"), found.pop("hint"), found)
        except (ValueError, KeyError):
            text = f"{self.url} answers with status {status}, and not as moodstream does"
            return ServiceUnavailable(text, address=self.url)


def _segment(text: str, field: str) -> str:
    """Encode an id for a path; an empty one would lead to another path. All else is for the service to judge."""
    if not text:
        raise InvalidQuery(f"{field}: must not be empty", field=field, rule="not_blank")
    try:
        return encode_id(text)
    except UnicodeEncodeError as error:
        raise InvalidQuery(f"{field}: must be UTF-8", field=field, rule="unicode") from error


def _opener(url: str) -> OpenerDirector:
    """A proxy of the environment must not stand between us and this very machine."""
    return build_opener(ProxyHandler({})) if urlsplit(url).hostname in _LOOPBACK else build_opener()


def _object(body: bytes) -> Answer:
    value = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _raised(code: str, detail: str, hint: str, members: Answer) -> MoodstreamError:
    """The error that a problem was made from; of the base, with its code, where this program does not know it."""
    kind = next((each for each in _kinds(MoodstreamError) if each.code == code), MoodstreamError)
    own = ("type", "title", "status")
    error = kind.__new__(kind, detail)
    MoodstreamError.__init__(error, detail, hint=hint, **{k: v for k, v in members.items() if k not in own})
    if kind is MoodstreamError:
        error.code = code  # type: ignore[misc]
    return error


def _kinds(base: type[MoodstreamError]) -> Iterator[type[MoodstreamError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
