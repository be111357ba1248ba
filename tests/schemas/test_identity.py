"""Ids, keys and partitions: injective, byte for byte, and equal to what the Java client does."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from hypothesis import given
from hypothesis import strategies as st

from moodstream.schemas.errors import InvalidEvent, KeyMismatch
from moodstream.schemas.identity import (
    agent_key,
    check_id,
    decode_id,
    encode_id,
    hash_id,
    murmur2,
    new_event_id,
    partition_of,
    split_key,
)

ids = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=64)


@given(ids, ids)
def test_a_key_gives_tenant_and_agent_back(tenant, agent):
    assert split_key(agent_key(tenant, agent)) == (tenant, agent)


@given(ids, ids, ids, ids)
def test_keys_of_different_agents_differ(tenant, agent, other_tenant, other_agent):
    same = (tenant, agent) == (other_tenant, other_agent)
    assert (agent_key(tenant, agent) == agent_key(other_tenant, other_agent)) is same


@pytest.mark.parametrize(
    ("tenant", "agent", "key"),
    [
        ("acme", "support-7", b"acme/support-7"),
        ("a/b", "c", b"a%2Fb/c"),
        ("a", "b/c", b"a/b%2Fc"),
        ("50%", "~x._-", b"50%25/~x._-"),
        ("ü", "*'()!", b"%C3%BC/%2A%27%28%29%21"),
        ("café", "cafe\u0301", b"caf%C3%A9/cafe%CC%81"),
    ],
)
def test_keys_are_percent_encoded(tenant, agent, key):
    assert agent_key(tenant, agent) == key


@pytest.mark.parametrize(
    "key", [b"", b"a", b"a/", b"/a", b"a/b/c", b"a%2fb/c", b"a%41/c", b"a%/c", b"a/%ff", b"a b/c", b"\xff/a", b"a/%00"]
)
def test_bytes_that_are_no_key_are_refused(key):
    with pytest.raises(KeyMismatch):
        split_key(key)


@pytest.mark.parametrize("text", ["%2f", "%41", "%", "a b", "%FF"])
def test_text_that_encodes_no_id_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        decode_id(text)
    assert decode_id(encode_id(text)) == text


# The vectors of org.apache.kafka.common.utils.UtilsTest.
@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_that_of_java(data, hashed):
    assert murmur2(data) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=80), st.integers(1, 64))
def test_partitions_are_those_of_the_usual_clients(key, partitions):
    assert murmur2(key) == aiokafka_murmur2(key) & 0xFFFFFFFF
    assert partition_of(key, partitions) == DefaultPartitioner.__call__(key, list(range(partitions)), [])


@given(ids)
def test_hashes_are_twelve_bytes_of_blake2b(text):
    assert hash_id(text) == hashlib.blake2b(text.encode("utf-8"), digest_size=12).digest()


def test_hash_of_a_known_text_never_changes():
    assert hash_id("event-1\0x").hex() == "858044b7998483430348db57"


def test_new_ids_are_uuid7_in_order():
    made = [UUID(new_event_id()) for _ in range(50)]
    assert {each.version for each in made} == {7}
    assert len(set(made)) == 50
    assert [each.int >> 80 for each in made] == sorted(each.int >> 80 for each in made)


@pytest.mark.parametrize("value", ["a", " ", "x" * 256, "ü" * 128, "🙂" * 64, "a\u200bb", "a/b\\c", "\u00a0", "mood:x"])
def test_ids_that_are_allowed(value):
    assert check_id(value, "agent_id") == value


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("", "not_blank"),
        ("x" * 257, "too_long"),
        ("ü" * 129, "too_long"),
        ("🙂" * 65, "too_long"),
        ("a\nb", "control_character"),
        ("a\n", "control_character"),
        ("\x00", "control_character"),
        ("\x7f", "control_character"),
        ("\x85", "control_character"),
        ("\x9f", "control_character"),
        ("a\ud800", "unicode"),
        (5, "type"),
        (None, "type"),
    ],
)
def test_ids_that_are_refused(value, rule):
    with pytest.raises(InvalidEvent) as caught:
        check_id(value, "agent_id")
    assert (caught.value.field, caught.value.rule) == ("agent_id", rule)
