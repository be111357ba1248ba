"""Keys and headers of rows, written out from docs/rows.md."""

from __future__ import annotations

import struct
from enum import IntEnum
from hashlib import blake2b
from urllib.parse import quote

ROW_FORMAT = 1
FOLD_VERSION = 1
WEEK_SECONDS = 604_800
HEADER = struct.Struct(">BBH8sq")
MARK = struct.Struct(">B12sqq")
"""One erasure in a marker row: scope, hash, offset, time."""
STAMP = slice(4, 12)
"""Where a header has the stamp of the fold."""
BEFORE_THIS_LOG = -1
"""Header offset, and first offset, of rows from before their log began: the broker lost the log that numbered them."""


MARKERS = b"\x00erased/"
"""Begins the keys of marker rows."""


class Kind(IntEnum):
    """Kinds of rows by their number in the header."""

    AGENT = 1
    MOOD = 2
    TRENDS = 3
    PAIR = 4
    MEMORY = 5
    SHIFT = 6
    PROFILE = 7
    NOTICE = 8
    ERASED = 9


def hash_id(text: str) -> bytes:
    """H(x): BLAKE2b of 12 bytes over the UTF-8 bytes of x."""
    return blake2b(text.encode("utf-8"), digest_size=12).digest()


def agent_key(tenant: str, agent: str) -> bytes:
    """K = enc(tenant) "/" enc(agent), enc = RFC 3986 percent-encoding of all but unreserved characters."""
    return f"{quote(tenant, safe='')}/{quote(agent, safe='')}".encode("ascii")


def row_key(agent: bytes, suffix: bytes) -> bytes:
    """Key of a row: the agent's key, a zero byte, the suffix."""
    return agent + b"\x00" + suffix


def marker_key(agent: bytes) -> bytes:
    """Key of an agent's marker row: a zero byte, a word, and 12 bytes of BLAKE2b over the agent's key."""
    return MARKERS + blake2b(agent, digest_size=12).digest()


def dated_suffix(word: bytes, t_ms: int, ident: bytes) -> bytes:
    """Suffix of a memory or shift row: the word, u32 bucket of the time in ms, the event's 12 bytes."""
    return word + b"/" + struct.pack(">I", t_ms // 1000 // WEEK_SECONDS) + ident


def write_row(kind: Kind, offset: int, stamp: bytes, body: bytes) -> bytes:
    """A full row: header of 20 bytes, then the body."""
    return HEADER.pack(ROW_FORMAT, kind, FOLD_VERSION, stamp, offset) + body


def write_erased(offset: int, body: bytes) -> bytes:
    """A marker row, or the stub of an erased memory: fold 0, stamp of zeros."""
    return HEADER.pack(ROW_FORMAT, Kind.ERASED, 0, bytes(8), offset) + body


def f32(value: float) -> float:
    """The nearest number that an IEEE single holds."""
    single: float = struct.unpack(">f", struct.pack(">f", value))[0]
    return single
