"""Where the query service listens, and where its clients find it."""

from __future__ import annotations

from ipaddress import ip_address

from pydantic import BaseModel, ConfigDict, Field

from moodstream.schemas.errors import InvalidSettings


class QuerySettings(BaseModel):
    """Address and limits of the query service."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    """Interface to listen on. Others than loopback are refused unless `insecure` is set."""
    port: int = Field(8085, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""
    insecure: bool = False
    """Listen on other interfaces than loopback, without asking anybody for a token."""
    recall_candidates: int = Field(500_000, ge=1)
    """Most memories that one recall may have to score: what passes its filters is held in memory."""
    ranked_agents: int = Field(10_000, ge=1, le=1_000_000)
    """Most agents that are looked at to rank a tenant's agents by trend; the answer says when there are more."""
    url: str = Field("http://127.0.0.1:8085", pattern=r"^https?://")
    """Where the commands that read (`mood`, `recall`, ...) find the service."""
    url_seconds: float = Field(30.0, gt=0, le=600)
    """How long those commands wait for an answer."""

    def check_exposure(self) -> None:
        """Refuse an open service that others can reach. Raises `InvalidSettings`."""
        if not (self.insecure or is_loopback(self.host)):
            raise InvalidSettings(
                f"query.host is {self.host}, which other machines can reach, and the service asks nobody for a token",
                hint="Listen on 127.0.0.1 behind a proxy that checks who asks, or set query.insecure (--insecure).",
                setting="query.host",
            )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an interface. Names other than localhost are not looked up."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
