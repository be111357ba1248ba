"""A digest of rows that does not depend on their order, on offsets or on counters."""

from __future__ import annotations

from hashlib import blake2b

from moodstream.cli.oracle.layout import HEADER, MARK, Kind

_OFFSET = 12
"""Where the offset begins in a row's header: all before it stays."""
_STUB_BYTES = 16
_AGENT_NEWEST = HEADER.size + 16
"""Where `newest` begins in an agent row: after first_offset and accepted."""


def _timeless(body: bytes) -> bytes:
    """The body of a marker row without the offsets of its erasures."""
    end = 2 + MARK.size * int.from_bytes(body[:2], "big")
    if end > len(body):
        return body
    marks = [MARK.pack(scope, what, 0, ms) for scope, what, _, ms in MARK.iter_unpack(body[2:end])]
    return b"".join((body[:2], *marks, body[end:]))


def stripped(row: bytes) -> bytes:
    """A row without its offset; an agent row also without first_offset and accepted, a marker row without any."""
    if row[1:2] == bytes([Kind.ERASED]) and len(row) != HEADER.size + _STUB_BYTES:
        return row[:_OFFSET] + _timeless(row[HEADER.size :])
    body = _AGENT_NEWEST if row[1:2] == bytes([Kind.AGENT]) else HEADER.size
    return row[:_OFFSET] + row[body:]


class Digest:
    """The sum, modulo 2^256, of BLAKE2b-256 over key 0x01 stripped row.

    Equal sets of events give equal digests while no signal was late, in whatever order they came.
    """

    def __init__(self) -> None:
        self._sum = 0

    def add(self, key: bytes, row: bytes) -> None:
        """Count one row in."""
        one = blake2b(key + b"\x01" + stripped(row), digest_size=32).digest()
        self._sum = (self._sum + int.from_bytes(one, "big")) % (1 << 256)

    def hex(self) -> str:
        """64 hexadecimal digits."""
        return f"{self._sum:064x}"
