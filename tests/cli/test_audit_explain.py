"""Differences in words."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from moodstream.cli.audit import screen
from moodstream.cli.audit.explain import explain, fields
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.events import InputEvent
from support import logs
from support.audits import audited, deployed, flipped, key_of, part_with

KINDS = {
    "agent": "newest",
    "mood": "signal 0 delta",
    "trends": "report 1 values",
    "pair": "report 0 values",
    "shift": "flags",
    "profile": "revision 0 max_displacement",
}


@pytest.mark.parametrize(("word", "field"), KINDS.items())
def test_the_field_that_differs_is_named(word: str, field: str) -> None:
    part = part_with(deployed())
    row = part.redis[key_of(part, word)]
    assert [name for name, _, _ in explain(row, flipped(row))] == [field]


def test_memory_fields_are_named() -> None:
    part = part_with(deployed())
    row = next(row for row in part.redis.values() if b"success" in row)
    other = row.replace(b"success", b"succesS")
    assert [name for name, _, _ in explain(row, other)] == ["attributes"]
    assert [name for name, _, _ in explain(row, flipped(row))] == ["max_displacement"]


def test_long_values_are_shown_where_they_part() -> None:
    rows = []
    for tail in "xy":
        oracle = OracleAgent(logs.TENANT, logs.AGENT)
        oracle.apply(0, logs.outcome("o1", description="long " * 100 + tail + " and on" * 50))
        rows.append(next(row for key, row in oracle.rows().items() if b"memory" in key))
    ((name, left, right),) = explain(*rows)
    assert name == "text"
    assert len(left) == len(right) == 62
    assert left.replace("x", "y") == right
    assert left.startswith("…long long ")
    assert left.endswith("…")


def test_header_fields_are_named() -> None:
    part = part_with(deployed())
    row = part.redis[key_of(part, "mood")]
    assert explain(row, flipped(row, 19)) == [("offset", "4", "5")]


def test_bytes_that_are_no_row_are_said_to_be_unreadable() -> None:
    part = part_with(deployed())
    row = part.redis[key_of(part, "mood")]
    assert explain(row, row[:60])[-1][0] == "unreadable"
    assert explain(row, row + b"!")[-1] == ("left over", "-", "!")
    assert explain(row, b"")[-1][0] == "unreadable"


def test_rows_that_are_not_there() -> None:
    assert explain(None, b"12") == [("row", "none", "2 bytes")]
    assert explain(b"12", None) == [("row", "2 bytes", "none")]


def test_equal_fields_in_other_bytes_are_told_by_their_place() -> None:
    part = part_with(deployed())
    row = part.redis[key_of(part, "profile")]
    size = struct.unpack_from(">I", row, 20)[0]
    text = row[24 : 24 + size]
    other = row[:24] + text.replace(b'"influence":0.3', b'"influence":3e-1') + row[24 + size :]
    other = other[:20] + struct.pack(">I", size + 1) + other[24:]
    assert explain(row, other)[0][0].startswith("byte ")


@given(st.lists(logs.events, min_size=1, max_size=30))
def test_every_row_can_be_read_to_its_end(log: list[InputEvent]) -> None:
    oracle = OracleAgent(logs.TENANT, logs.AGENT)
    for offset, event in enumerate(log):
        oracle.apply(offset, event)
    for row in oracle.rows().values():
        assert not {"unreadable", "left over"} & fields(row).keys()


async def test_the_screen_tells_numbers_differences_and_a_verdict() -> None:
    made = deployed()
    part = part_with(made)
    for word in ("mood", "agent"):
        part.redis[key_of(part, word)] = flipped(part.redis[key_of(part, word)])
    part.counts["dead"] = 5
    text = await shown(made, 1)
    assert "acme/ada agent in redis" in text
    assert "newest" in text
    assert "and 1 more" in text
    assert "dead: 0 by the log, 5 in Redis" in text
    assert "Different: 3 rows or counts" in text


async def test_the_screen_says_when_all_is_well_and_when_not_all_is_covered() -> None:
    made = deployed()
    assert "Equal: 17 rows of 2 agents" in await shown(made)
    made.publish(logs.push("later", 99))
    assert "no worker has folded them yet: 1 records" in await shown(made)
    for part in made.parts:
        part.start = part.next
    assert "2 agents are older than the log: partly covered" in await shown(made)


async def shown(made: object, count: int = 10) -> str:
    """What audit writes on a terminal."""
    out = io.StringIO()
    screen.show(Console(file=out, width=160), await audited(made, count))
    return out.getvalue()


async def test_faults_as_objects() -> None:
    made = deployed()
    part = part_with(made)
    key = key_of(part, "pair")
    part.redis[key] = flipped(part.redis[key], 19)
    part.counts["dead"] = 5
    count, pair = list(screen.as_lines(await audited(made)))
    assert (count["name"], count["expected"], count["found"]) == ("dead", 0, 5)
    assert (pair["difference"], pair["key"], pair["places"]) == ("pair", "acme/ada pair/bob", ["redis"])
    assert [one["field"] for one in pair["fields"]] == ["offset"]
