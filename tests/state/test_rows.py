import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.schemas.identity import hash_id
from moodstream.state import rows
from moodstream.state.rows import Kind, MemoryContent, MemoryRow, RowError
from support.stored import memory_row

SUFFIXES = {
    Kind.AGENT: b"agent",
    Kind.MOOD: b"mood",
    Kind.TRENDS: b"trends",
    Kind.PAIR: rows.pair_suffix("agent/with/slashes"),
    Kind.MEMORY: rows.memory_suffix(2900, b"///////\0\0//a"),
    Kind.SHIFT: rows.shift_suffix(0, hash_id("x")),
    Kind.PROFILE: b"profile",
    Kind.NOTICE: b"notice",
    Kind.ERASED: b"erased/" + b"/\0" * 6,
}

finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
maps = st.dictionaries(text, text, max_size=3).map(lambda found: dict(sorted(found.items())))
contents = st.builds(
    MemoryContent,
    event_id=text,
    type=text,
    occurred_us=st.integers(0, 2**55),
    text=text,
    importance=st.none() | finite,
    pad=st.none() | st.tuples(*[st.none() | finite] * 3),
    attributes=maps,
    metadata=maps,
    case_id=st.none() | text,
    turn_id=st.none() | text,
    embedding=st.none() | st.tuples(text, st.binary(max_size=8)),
)
shifts = st.none() | st.lists(finite, min_size=12, max_size=12).map(tuple)
memories = st.builds(MemoryRow, contents, shifts)


def test_header_is_laid_out_as_specified() -> None:
    row = rows.pack_row(Kind.MEMORY, 2**40, b"body", b"12345678", fold=3)
    assert row == b"\x01\x05\x00\x0312345678" + (2**40).to_bytes(8, "big") + b"body"
    assert rows.unpack_row(row) == (Kind.MEMORY, 3, b"12345678", 2**40, b"body")
    assert rows.row_offset(row) == 2**40


def test_a_row_from_before_the_log_has_offset_minus_one() -> None:
    row = rows.pack_row(Kind.MOOD, -1, b"", b"12345678")
    assert row[12:20] == b"\xff" * 8
    assert rows.unpack_row(row).offset == -1


@pytest.mark.parametrize(
    "data", [b"", b"\x01" * 19, b"\x02" + b"\x01" * 19, b"\x01\x0a" + b"\0" * 18, b"\x01\x00" + b"\0" * 18]
)
def test_other_bytes_are_no_row(data: bytes) -> None:
    with pytest.raises(RowError):
        rows.unpack_row(data)


@pytest.mark.parametrize("kind", Kind)
def test_suffix_names_its_kind(kind: Kind) -> None:
    key = rows.row_key(b"t/a", SUFFIXES[kind])
    assert rows.split_row_key(key) == (b"t/a", SUFFIXES[kind])
    assert rows.kind_of(SUFFIXES[kind]) is kind


@pytest.mark.parametrize("suffix", [b"", b"moods", b"memory2/x", b"owner", b"Agent"])
def test_unknown_suffix_is_refused(suffix: bytes) -> None:
    with pytest.raises(RowError):
        rows.kind_of(suffix)


@given(bucket=st.integers(0, 2**32 - 1), ident=st.binary(min_size=12, max_size=12))
def test_bucket_and_id_are_read_back(bucket: int, ident: bytes) -> None:
    assert rows.bucket_and_id(rows.memory_suffix(bucket, ident)) == (bucket, ident)
    assert rows.bucket_and_id(rows.shift_suffix(bucket, ident)) == (bucket, ident)
    assert rows.memory_suffix(bucket, ident) == b"memory/" + struct.pack(">I", bucket) + ident


def test_a_bucket_is_a_week_of_whole_seconds() -> None:
    week = 604_800_000_000
    assert [rows.bucket_of(us) for us in (0, week - 1, week, 3 * week)] == [0, 0, 1, 3]
    assert rows.bucket_of(253_402_300_799_999_999) < 2**32


@given(memories)
def test_memory_is_an_array_in_the_order_of_the_page_and_the_shift(row: MemoryRow) -> None:
    body = row.encode()
    size = int.from_bytes(body[:4], "big")
    found = msgspec.msgpack.decode(body[4 : 4 + size])
    assert found[:4] == [row.content.event_id, row.content.type, row.content.occurred_us, row.content.text]
    assert [type(found), len(found)] == [list, 11]
    assert body[4 + size :] == (b"" if row.shift is None else struct.pack(">12d", *row.shift))
    assert MemoryRow.decode(body) == row
    assert MemoryRow.decode(body).encode() == body


@given(contents, shifts)
def test_what_an_event_says_is_apart_from_what_it_did(content: MemoryContent, shift: tuple[float, ...] | None) -> None:
    bare = MemoryRow(content, None).encode()
    assert rows.content_of(MemoryRow(content, shift).encode()) == rows.content_of(bare)
    other = MemoryRow(msgspec.structs.replace(content, text=content.text + "!"), shift).encode()
    assert rows.content_of(other) != rows.content_of(bare)


def test_broken_memory_is_a_row_error() -> None:
    body = memory_row("e", 1, shift=(0.0,) * 12).encode()
    for broken in (body[:-1], b"", b"\x93\x01\x02\x03", body.replace(b"text", b"\xff\xff\xff\xff"), body[:9]):
        with pytest.raises(RowError):
            MemoryRow.decode(broken)


def test_a_row_loses_its_place_with_its_log() -> None:
    body = struct.pack(">qQq", 17, 3, 99)
    agent = rows.from_before(rows.pack_row(Kind.AGENT, 55, body, b"12345678"))
    assert agent == rows.pack_row(Kind.AGENT, -1, struct.pack(">qQq", -1, 3, 99), b"12345678")
    assert rows.from_before(rows.pack_row(Kind.MOOD, 55, body, b"12345678"))[20:] == body
