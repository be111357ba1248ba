"""Row keys, the row header and memory rows (docs/rows.md)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from hashlib import blake2b
from struct import Struct as Packing
from struct import error as PackingError  # noqa: N812 - a class of the standard library in lower case
from typing import NamedTuple

import msgspec

ROW_FORMAT = 1
FOLD_VERSION = 1
BUCKET_SECONDS = 604_800
"""Width of a storage bucket of memories: a week. Nothing else depends on it."""
_BUCKET_US = BUCKET_SECONDS * 1_000_000

HEADER = Packing(">BBH8sq")
_MAKER = Packing(">H8s")
_U32 = Packing(">I")
_I64 = Packing(">q")
_ID_BYTES = 12


class Kind(IntEnum):
    """Kinds of rows, by their number in the header."""

    AGENT = 1
    MOOD = 2
    TRENDS = 3
    PAIR = 4
    MEMORY = 5
    SHIFT = 6
    PROFILE = 7
    NOTICE = 8
    ERASED = 9


AGENT = b"agent"
MOOD = b"mood"
TRENDS = b"trends"
PROFILE = b"profile"
NOTICE = b"notice"
PAIR_PREFIX = b"pair/"
MEMORY_PREFIX = b"memory/"
SHIFT_PREFIX = b"shift/"
ERASED = b"erased"
"""Stands for an agent's marker row among its suffixes; the row's key is `erased_key`."""
ERASED_PREFIX = b"\0" + ERASED + b"/"
"""Begins the keys of marker rows."""

_SINGLE = {AGENT: Kind.AGENT, MOOD: Kind.MOOD, TRENDS: Kind.TRENDS, PROFILE: Kind.PROFILE, NOTICE: Kind.NOTICE}
_BY_NUMBER = {kind.value: kind for kind in Kind}
_PREFIXED = {b"pair": Kind.PAIR, b"memory": Kind.MEMORY, b"shift": Kind.SHIFT, b"erased": Kind.ERASED}


class Row(NamedTuple):
    """One row, header taken apart."""

    kind: Kind
    fold: int
    """Version of the fold that wrote it."""
    stamp: bytes
    """Revision and hash of the fold parameters, 8 bytes."""
    offset: int
    """Offset of the last record of the agent's log that changed it; -1: from before this log began."""
    body: bytes

    @property
    def maker(self) -> bytes:
        """Fold version and stamp of whoever made it, as `maker_of` gives them."""
        return _MAKER.pack(self.fold, self.stamp)


class RowError(ValueError):
    """Bytes in Redis or the changelog that are no row of this format."""


def pack_row(kind: Kind, offset: int, body: bytes, stamp: bytes, fold: int = FOLD_VERSION) -> bytes:
    """Put the header before a body. `stamp` is 8 bytes."""
    return HEADER.pack(ROW_FORMAT, kind, fold, stamp, offset) + body


def pack_erased(offset: int, body: bytes) -> bytes:
    """A marker row, or what stands for an erased memory: no fold and no parameter has a say in it."""
    return HEADER.pack(ROW_FORMAT, Kind.ERASED, 0, bytes(8), offset) + body


def unpack_row(data: bytes) -> Row:
    """Take a row apart. Raises `RowError` for bytes of another format or an unknown kind."""
    if len(data) < HEADER.size:
        raise RowError(f"a row has at least {HEADER.size} bytes, here are {len(data)}")
    version, kind, fold, stamp, offset = HEADER.unpack_from(data)
    if version != ROW_FORMAT:
        raise RowError(f"row format {version} is not known, only {ROW_FORMAT}")
    known = _BY_NUMBER.get(kind)
    if known is None:
        raise RowError(f"row kind {kind} is not known")
    return Row(known, fold, stamp, offset, data[HEADER.size :])


def row_offset(data: bytes) -> int:
    """The offset in a row's header, without taking the row apart."""
    offset: int = HEADER.unpack_from(data)[4]
    return offset


def maker_of(data: bytes) -> bytes:
    """Fold version and stamp of whoever made a row, 10 bytes of its header."""
    return data[2:12]


NO_MAKER = bytes(10)
"""That of rows in which no fold has a say: `pack_erased`."""

BEFORE = -1
"""Offset of rows from before their log began: the broker that numbered them has lost its log."""


def from_before(data: bytes) -> bytes:
    """The same row without its place in a log that is gone."""
    row = unpack_row(data)
    body = row.body
    if row.kind is Kind.AGENT:
        body = _I64.pack(BEFORE) + body[_I64.size :]  # its first offset
    elif row.kind is Kind.ERASED and len(body) != _STUB.size:
        body = _marks_from_before(body)
    return HEADER.pack(ROW_FORMAT, row.kind, row.fold, row.stamp, BEFORE) + body


MARK = Packing(">B12sqq")
"""One erasure in a marker row: scope, hash of what is meant, offset, time in ms."""
MARK_COUNT = Packing(">H")


def _marks_from_before(body: bytes) -> bytes:
    """The body of a marker row whose erasures have no place in this log any more: only their times count."""
    start, (count,) = MARK_COUNT.size, MARK_COUNT.unpack_from(body)
    end = start + count * MARK.size
    marks = (MARK.pack(scope, what, BEFORE, ms) for scope, what, _, ms in MARK.iter_unpack(body[start:end]))
    return b"".join((body[:start], *marks, body[end:]))


class Stub(NamedTuple):
    """What stands in the place of a memory that was erased by its id: it can never come back."""

    ms: int
    """When the erased event had happened."""
    erased_ms: int
    """Time of the erasure."""

    def encode(self) -> bytes:
        """The body's bytes."""
        return _STUB.pack(*self)

    @classmethod
    def decode(cls, body: bytes) -> Stub:
        """Read a body; struct.error if it is none."""
        return cls(*_STUB.unpack(body))


_STUB = Packing(">qq")


def bucket_of(occurred_us: int) -> int:
    """Number of the storage bucket of a time in microseconds."""
    return occurred_us // _BUCKET_US


def row_key(agent: bytes, suffix: bytes) -> bytes:
    """Key of a row in the changelog: agent key, zero byte, suffix."""
    return agent + b"\0" + suffix


def erased_key(agent: bytes) -> bytes:
    """Key of an agent's marker row: it names the agent by a hash, for it outlives the agent's erasure."""
    return ERASED_PREFIX + hash_key(agent)


def hash_key(agent: bytes) -> bytes:
    """H of an agent's key."""
    return blake2b(agent, digest_size=_ID_BYTES).digest()


def split_row_key(key: bytes) -> tuple[bytes, bytes]:
    """Agent key and suffix. Keys of the partition itself begin with the zero byte: their agent key is empty."""
    agent, _, suffix = key.partition(b"\0")
    return agent, suffix


def kind_of(suffix: bytes) -> Kind:
    """Which kind of row a suffix names. Raises `RowError`."""
    kind = _SINGLE.get(suffix) or _PREFIXED.get(suffix.partition(b"/")[0])
    if kind is None:
        raise RowError(f"no kind of row has the suffix {suffix!r}")
    return kind


def pair_suffix(other_agent: str) -> bytes:
    """Suffix of the pair row with another agent."""
    return PAIR_PREFIX + other_agent.encode()


def memory_suffix(bucket: int, ident: bytes) -> bytes:
    """Suffix of a memory row; `ident` is H(event_id)."""
    return MEMORY_PREFIX + _U32.pack(bucket) + ident


def shift_suffix(bucket: int, ident: bytes) -> bytes:
    """Suffix of a shift row; `ident` is H(event_id)."""
    return SHIFT_PREFIX + _U32.pack(bucket) + ident


def memory_key(agent: bytes, occurred_us: int, ident: bytes) -> bytes:
    """Key of the memory row of an event; `ident` is H(event_id)."""
    return b"%b\0%b%b%b" % (agent, MEMORY_PREFIX, _U32.pack(occurred_us // _BUCKET_US), ident)


def shift_key(agent: bytes, occurred_us: int, ident: bytes) -> bytes:
    """Key of the shift row of an event; `ident` is H(event_id)."""
    return b"%b\0%b%b%b" % (agent, SHIFT_PREFIX, _U32.pack(occurred_us // _BUCKET_US), ident)


def pack_memory(offset: int, said: bytes, shifted: bytes, stamp: bytes) -> bytes:
    """A memory row, of what the event says (`MemoryContent.encode`) and what it did to the mood (`pack_shifted`)."""
    header = HEADER.pack(ROW_FORMAT, Kind.MEMORY, FOLD_VERSION, stamp, offset)
    return b"".join((header, _U32.pack(len(said)), said, shifted))


def bucket_and_id(suffix: bytes) -> tuple[int, bytes]:
    """Bucket and H(event_id) of a memory or shift suffix."""
    tail = suffix[-(_U32.size + _ID_BYTES) :]
    return _U32.unpack_from(tail)[0], tail[_U32.size :]


def content_us(content: bytes) -> int:
    """When the event of a content (`content_of`) happened, in microseconds."""
    return _DECODER.decode(content).occurred_us


def content_of(body: bytes) -> bytes:
    """What an event says, from its memory row's body, as bytes: equal for a repeat, different for a conflict."""
    return body[_U32.size : _U32.size + _U32.unpack_from(body)[0]]


class MemoryContent(msgspec.Struct, array_like=True, frozen=True):
    """What an accepted event says, in the order of docs/rows.md.

    Floats must be floats (an int would be packed as an int): then equal memories have equal bytes.
    """

    event_id: str
    type: str
    """Short name of the event type, as `experience.outcome`."""
    occurred_us: int
    text: str
    importance: float | None
    pad: tuple[float | None, float | None, float | None] | None
    attributes: dict[str, str]
    metadata: dict[str, str]
    case_id: str | None
    turn_id: str | None
    embedding: tuple[str, bytes] | None
    """Model, and the numbers as big endian f32."""

    def encode(self) -> bytes:
        """As bytes: equal for a repeat, different for a conflict."""
        return _ENCODER.encode(self)


class MemoryRow(NamedTuple):
    """Body of a memory row: what the event says, and what it did to the mood."""

    content: MemoryContent
    shift: tuple[float, ...] | None
    """Twelve floats: the delta, then baseline, tau in hours and largest displacement per axis; None: moved nothing."""

    def encode(self) -> bytes:
        """The body's bytes."""
        content = self.content.encode()
        tail = b"" if self.shift is None else _SHIFT.pack(*self.shift)
        return _U32.pack(len(content)) + content + tail

    @classmethod
    def decode(cls, body: bytes) -> MemoryRow:
        """Read a body. Raises `RowError`."""
        try:
            end = _U32.size + _U32.unpack_from(body)[0]
            tail = body[end:]
            return cls(_DECODER.decode(body[_U32.size : end]), _SHIFT.unpack(tail) if tail else None)
        except (msgspec.MsgspecError, PackingError) as error:
            raise RowError(f"broken memory row: {error}") from error


def pack_in_force(numbers: Sequence[float]) -> bytes:
    """The end of a memory row whose event moved the mood: baseline, tau in hours and largest displacement per axis."""
    return _IN_FORCE.pack(*numbers)


def pack_shifted(delta: Sequence[float], in_force: bytes) -> bytes:
    """What an event did to the mood: the delta per axis, and what was in force (`pack_in_force`)."""
    return _DELTA.pack(*delta) + in_force


_ENCODER = msgspec.msgpack.Encoder(order="sorted")
_DECODER = msgspec.msgpack.Decoder(MemoryContent)
_SHIFT, _DELTA, _IN_FORCE = Packing(">12d"), Packing(">3d"), Packing(">9d")
