"""Who an event belongs to: ids, the key of an agent, its partition, and short hashes of ids. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from struct import unpack_from
from urllib.parse import quote, unquote

from uuid_utils import uuid7

from moodstream.schemas.errors import InvalidEvent, KeyMismatch

ID_BYTES = 256
"""The longest id, in bytes of UTF-8."""

ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
"""No control characters (category Cc), and not empty. Reads the same in Rust, Python and ECMAScript."""

MOOD_PREFIX = "mood:"
"""Starts the ids of memories of the domain mood; no event id may start with it."""

_ID = re.compile(ID_PATTERN[:-1] + r"\Z")
_is_unreserved = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
_is_plain_key = re.compile(rb"[A-Za-z0-9._~-]{1,%d}/[A-Za-z0-9._~-]{1,%d}" % (ID_BYTES, ID_BYTES)).fullmatch
_MASK = 0xFFFFFFFF
_M = 0x5BD1E995


def check_id(value: str, field: str) -> str:
    """Return the id if it is 1..256 bytes of UTF-8 without control characters, else raise InvalidEvent."""
    if not isinstance(value, str):
        raise InvalidEvent(field, "type", "must be text")
    if not value:
        raise InvalidEvent(field, "not_blank", "must not be empty")
    if not _ID.match(value):
        raise InvalidEvent(field, "control_character", "must not contain control characters")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidEvent(field, "unicode", "must be valid Unicode, without lone surrogates") from None
    if size > ID_BYTES:
        raise InvalidEvent(field, "too_long", f"has {size} bytes, at most {ID_BYTES} are allowed")
    return value


def encode_id(text: str) -> str:
    """Percent-encode all but the unreserved characters of RFC 3986 (hex digits in upper case). Injective."""
    return text if _is_unreserved(text) else quote(text, safe="")


def decode_id(text: str) -> str:
    """Return the id that `encode_id` made; ValueError for any text that it cannot have made."""
    value = unquote(text, errors="strict")
    if encode_id(value) != text:
        raise ValueError("not the percent-encoding of an id")
    return value


@lru_cache(maxsize=16_384)
def agent_key(tenant: str, agent: str) -> bytes:
    """Return the key of an agent's records and rows: enc(tenant) + "/" + enc(agent)."""
    return f"{encode_id(tenant)}/{encode_id(agent)}".encode()


def split_key(key: bytes) -> tuple[str, str]:
    """Return (tenant, agent) of an agent's key; KeyMismatch for any other bytes."""
    if _is_plain_key(key):
        plain, _, name = key.decode().partition("/")
        return plain, name
    try:
        tenant, agent = key.decode("ascii").split("/")
        pair = decode_id(tenant), decode_id(agent)
        return check_id(pair[0], "tenant_id"), check_id(pair[1], "agent_id")
    except (ValueError, InvalidEvent):
        raise KeyMismatch("the bytes are not the key of an agent") from None


def murmur2(data: bytes) -> int:
    """Return the 32-bit murmur2 hash, unsigned, as the Java client of Kafka computes it (seed 0x9747b28c)."""
    size = len(data)
    h = 0x9747B28C ^ size
    whole = size // 4
    for word in unpack_from(f"<{whole}I", data):
        k = word * _M & _MASK
        h = (h * _M & _MASK) ^ ((k ^ k >> 24) * _M & _MASK)
    if size % 4:
        h = (h ^ int.from_bytes(data[whole * 4 :], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


@lru_cache(maxsize=16_384)
def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key among `partitions`, as the Java client chooses it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def hash_id(text: str) -> bytes:
    """Return H(text) of docs/rows.md: BLAKE2b with 12 bytes over the UTF-8 bytes."""
    return blake2b(text.encode(), digest_size=12).digest()


def new_event_id() -> str:
    """Return a fresh event id: a uuid7 as text, so ids of one publisher sort by the time they were made."""
    return str(uuid7())
