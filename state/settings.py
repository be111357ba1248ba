"""Where the Redis lies that holds the table `state`."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_SCHEMES = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")


def _known_scheme(url: str) -> str:
    """Refuse a URL that redis-py would misread; the text must not repeat a password."""
    if urlsplit(url).scheme not in _SCHEMES:
        msg = "a Redis URL starts with redis://, rediss://, unix://, redis+cluster:// or rediss+cluster://"
        raise ValueError(msg)
    return url


class StateSettings(BaseModel):
    """Address of Redis and the names used in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, AfterValidator(_known_scheme)] = "redis://127.0.0.1:6379/0"
    prefix: str = Field("moodstream.", pattern=r"^[A-Za-z0-9._-]*$")
    """Begins every Redis key; the same as the prefix of the topics by default."""
    connect_seconds: float = Field(3.0, gt=0, le=60)
    """How long a connection may take before Redis counts as unreachable."""
    answer_seconds: float = Field(5.0, gt=0, le=300)
    """How long one answer of Redis may take."""

    @property
    def address(self) -> str:
        """The address without user and password: what logs and errors may show."""
        return address_of(self.url)


def address_of(url: str) -> str:
    """Cut user, password and query from a Redis URL."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"
