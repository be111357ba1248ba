"""Ports of the loopback: free or not, told before anything starts."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from moodstream.cli.settings import LOOPBACK
from moodstream.schemas.errors import InvalidSettings, PortInUse


class Wanted(NamedTuple):
    """A port, what it is for, and the flag that sets it."""

    what: str
    port: int
    flag: str


def check_free(wanted: Sequence[Wanted]) -> None:
    """Raise `PortInUse` for the first port that is taken, `InvalidSettings` where two are the same."""
    seen: dict[int, Wanted] = {}
    for one in wanted:
        other = seen.setdefault(one.port, one)
        if other is not one:
            text = f"port {one.port} is set for {other.what} and for {one.what}"
            raise InvalidSettings(text, hint=f"Choose another one: {one.flag} PORT.", port=one.port)
    for one in wanted:
        _check(one)


def _check(one: Wanted) -> None:
    reason = "somebody listens there" if _answers(one.port) else _refusal(one.port)
    if reason:
        raise PortInUse(
            f"port {one.port} of {LOOPBACK}, for {one.what}, cannot be used: {reason}",
            hint=f"Stop what uses it (another `moodstream up`?), or choose another one: {one.flag} PORT.",
            port=one.port,
            flag=one.flag,
        )


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


def _refusal(port: int) -> str | None:
    """Say why the port cannot be bound; connections that are still closing do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            return error.strerror or str(error)
    return None
