"""Rows written out by hand from docs/rows.md, byte by byte, against the oracle."""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from struct import pack, unpack

import msgspec
import pytest

from moodstream.affect.params import STANDARD
from moodstream.cli.oracle import OracleAgent
from moodstream.cli.oracle.appraisal import EMOTIONS
from moodstream.cli.oracle.profile import DEFAULTS, compact, stamp_of
from moodstream.schemas.events import InputEvent
from moodstream.schemas.profile import DEFAULT_PROFILE
from support import logs

T0 = int(logs.START.timestamp() * 1000)
K = b"acme/ada\x00"
AT_REST = (0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0)


def h(text: str) -> bytes:
    """H of docs/rows.md."""
    return blake2b(text.encode(), digest_size=12).digest()


def header(kind: int, offset: int) -> bytes:
    """The first 20 bytes of a row."""
    return bytes([1, kind, 0, 1]) + STANDARD.stamp + offset.to_bytes(8, "big")


def dated(word: bytes, name: str, ms: int = T0) -> bytes:
    """Key of a memory or shift row."""
    return K + word + b"/" + pack(">I", ms // 1000 // 604_800) + h(name)


def folded(*events: InputEvent, first: int = 5) -> dict[bytes, bytes]:
    """Rows of these events, whose offsets begin at `first`."""
    oracle = OracleAgent("acme", "ada")
    for offset, event in enumerate(events, first):
        assert oracle.apply(offset, event) == "accepted"
    return oracle.rows()


def f32s(*values: float) -> bytes:
    """Big endian singles."""
    return pack(f">{len(values)}f", *values)


def as_f32(*values: float) -> tuple[float, ...]:
    """The values that singles hold."""
    return unpack(f">{len(values)}f", f32s(*values))


def test_parameters_are_those_of_the_worker() -> None:
    assert stamp_of(0, compact(DEFAULTS)) == STANDARD.stamp
    assert compact(DEFAULTS).encode() == DEFAULT_PROFILE.canonical()


def test_one_outcome_gives_four_rows() -> None:
    event = logs.outcome("o1", 0.5, " OK", importance=0.5, metadata={"b": "2", "a": "1"}, case_id="c1", turn_id="m7")
    rows = folded(event)
    t = T0 + 500
    delta = (0.25 * 0.5, 0.10 * 0.5, 0.20 * 0.5)
    content = msgspec.msgpack.encode(
        [
            "o1",
            "experience.outcome",
            t * 1000,
            "tried o1",
            0.5,
            None,
            {"event-type": "outcome", "result": " OK", "turn-id": "m7"},
            {"a": "1", "b": "2"},
            "c1",
            "m7",
            None,
        ]
    )
    moved = pack(">12d", *as_f32(*delta), *AT_REST)
    mood = b"\x00" + b"\x00\x08tried o1" + pack(">q", t) + h("o1") + b"\x01" + pack(">I", 0) + h("o1") + f32s(*delta)
    trends = pack(">H", 1) + t.to_bytes(6, "big") + h("\x00o1") + h("o1") + bytes([1 << 6]) + f32s(1.0)
    assert rows == {
        K + b"agent": header(1, 5) + pack(">qQq", 5, 1, t),
        K + b"mood": header(2, 5) + mood,
        K + b"trends": header(3, 5) + trends,
        dated(b"memory", "o1"): header(5, 5) + pack(">I", len(content)) + content + moved,
    }


def test_an_engagement_writes_the_agent_and_the_pair() -> None:
    event = logs.engagement("g1", other="ö/x", turn="m1", responded=False, response_length=9, sentiment_shift=-0.5)
    rows = folded(event)
    values = bytes([0b1101]) + f32s(0.0, math.log(10), -0.5)
    body = pack(">H", 1) + T0.to_bytes(6, "big") + h("ö/x\x00m1") + h("g1") + values
    assert rows[K + b"trends"] == header(3, 5) + body
    assert rows[K + b"pair/" + "ö/x".encode()] == header(4, 5) + body
    delta = [-0.05 + 0.20 * -0.5, -0.03 + 0.05 * -0.5, -0.03 + 0.05 * -0.5]
    assert rows[K + b"mood"][-12:] == f32s(*delta)


def test_an_engagement_that_knows_nothing_writes_empty_rows() -> None:
    rows = folded(logs.engagement("g1"))
    assert rows[K + b"trends"] == header(3, 5) + bytes(2)
    assert rows[K + b"pair/bob"] == header(4, 5) + bytes(2)
    assert K + b"mood" not in rows


def test_of_one_turn_the_newest_report_wins_per_signal() -> None:
    events = [
        logs.engagement("g3", 30, responded=True),
        logs.engagement("g1", 10, responded=False, reaction_count=2),
        logs.engagement("g2", 20, responded=False),
    ]
    rows = folded(*events)
    first = (T0 + 10_000).to_bytes(6, "big") + h("bob\x00m1") + h("g1") + bytes([1 << 4]) + f32s(math.log(3))
    second = (T0 + 30_000).to_bytes(6, "big") + h("bob\x00m1") + h("g3") + b"\x01" + f32s(1.0)
    assert rows[K + b"trends"] == header(3, 7) + pack(">H", 2) + first + second


def test_of_a_signal_the_newest_64_turns_stay() -> None:
    events = [logs.engagement(f"g{n}", n, turn=f"m{n}", responded=True) for n in range(70)]
    events += [logs.engagement("late", 5.5, turn="m999", responded=True)]
    body = folded(*events)[K + b"trends"][20:]
    assert body[:8] == pack(">H", 64) + (T0 + 6_000).to_bytes(6, "big")
    assert h("late") not in body


def test_a_duplicate_changes_nothing_and_other_content_is_a_conflict() -> None:
    oracle = OracleAgent("acme", "ada")
    oracle.apply(1, logs.outcome("o1"))
    before = oracle.rows()
    assert oracle.apply(2, logs.outcome("o1")) == "duplicate"
    assert oracle.apply(3, logs.outcome("o1", importance=0.25)) == "conflict"
    assert oracle.apply(4, logs.push("o1")) == "conflict"
    assert oracle.rows() == before


def test_a_duplicate_is_one_also_under_another_profile() -> None:
    oracle = OracleAgent("acme", "ada")
    oracle.apply(1, logs.outcome("o1"))
    oracle.apply(2, logs.profile("p1", baseline=(0.5, 0.0, 0.0)))
    assert oracle.apply(3, logs.outcome("o1")) == "duplicate"


def test_profiles_know_their_last_16_revisions_and_no_memories() -> None:
    oracle = OracleAgent("acme", "ada")
    oracle.apply(0, logs.outcome("p0"))
    for n in range(17):
        assert oracle.apply(n + 1, logs.profile(f"p{n}", n)) == "accepted"
        assert oracle.apply(n + 100, logs.profile(f"p{n}", n)) == "duplicate"
    assert oracle.apply(200, logs.profile("p1")) == "duplicate"
    assert oracle.apply(201, logs.profile("p0")) == "accepted"


def test_a_profile_row() -> None:
    rows = folded(logs.profile("p1", 7, baseline=(0.5, 0.0, -0.5), tau_hours=1.1, max_displacement=(0.5, 1.0, 2.0)))
    text = json.dumps(
        {**DEFAULTS, "baseline": [0.5, 0.0, -0.5], "tau_hours": [1.1] * 3, "max_displacement": [0.5, 1.0, 2.0]},
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    values = (0.5, 0.0, -0.5, 1.1, 1.1, 1.1, 0.5, 1.0, 2.0)
    revision = h("p1") + pack(">q12d", T0 + 7_000, 0.0, 0.0, 0.0, *values)
    assert rows == {
        K + b"agent": header(1, 5) + pack(">qQq", 5, 1, T0 + 7_000),
        K + b"profile": header(7, 5) + pack(">I", len(text)) + text + b"\x01" + revision,
    }


def test_the_profile_in_force_decides() -> None:
    tough = {"on_failure": (-0.01, 0.0, 0.0), "failure": ["Oops"]}
    rows = folded(logs.profile("p1", rules=tough), logs.outcome("o1", 1, "oops "), logs.outcome("o2", 2, "failed"))
    assert rows[K + b"mood"][-12:] == f32s(-0.01, 0.0, 0.0)
    assert rows[K + b"trends"][20:28] == pack(">H", 1) + (T0 + 1_000).to_bytes(6, "big")
    sizes = [len(rows[dated(b"memory", name)]) for name in ("o1", "o2")]
    assert sizes[0] - sizes[1] == 96 + len("oops ") - len("failed")  # only the first was a shift


@pytest.mark.parametrize("name", sorted(EMOTIONS))
def test_emotions_scale_with_their_intensity(name: str) -> None:
    rows = folded(logs.outcome("o1", appraisal={"emotion": name, "intensity": 0.5}))
    assert rows[K + b"mood"][-12:] == f32s(*[x * 0.5 for x in EMOTIONS[name]])


def test_an_own_appraisal_wins_and_appraise_false_moves_nothing() -> None:
    mine = folded(logs.outcome("o1", appraisal={"pleasure": -2.0}))
    assert mine[K + b"mood"][-12:] == f32s(-2.0, 0.0, 0.0)
    none = folded(logs.outcome("o1", appraisal={"pleasure": -2.0}, appraise=False))
    assert K + b"mood" not in none
    assert K + b"trends" in none


def test_embeddings_are_big_endian_singles() -> None:
    event = logs.outcome("o1", embedding={"model": "m", "values": [1.0, -0.1]}, pad={"arousal": 0.25})
    row = folded(event)[dated(b"memory", "o1")]
    size = int.from_bytes(row[20:24], "big")
    content = msgspec.msgpack.decode(row[24 : 24 + size])
    assert content[5] == [None, 0.25, None]
    assert content[10] == ["m", f32s(1.0, -0.1)]
