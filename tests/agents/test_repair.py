"""`rebuild` events: damaged rows become again what the log says, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from moodstream.affect.params import STANDARD
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.errors import BrokerUnavailable
from moodstream.schemas.identity import agent_key, hash_id
from moodstream.schemas.rebuild import Rebuild
from moodstream.state.rows import AGENT, MOOD, NOTICE, TRENDS, Kind, pack_row, row_key, split_row_key, unpack_row
from support.chunks import Line, ListLog, Record, chunk_of, records_of
from support.events import T0_MS, erase, lives, outcome, rebuild, signal
from support.stepping import restored

KEY, OTHER = agent_key("t", "agent-0"), agent_key("t", "agent-1")
EVENTS = [*lives(2)[:100], erase("t", "agent-0", "x", T0_MS + 10**8, domain="reflection")]
HEALTHY = records_of(EVENTS)

Rows = dict[bytes, bytes]
Damage = Callable[[Rows], object]


def pure(rows: Rows) -> Rows:
    return {key: row for key, row in rows.items() if split_row_key(key)[1] != NOTICE}


def flip(rows: Rows, suffix: bytes, place: int = -1) -> None:
    row = bytearray(rows[row_key(KEY, suffix)])
    row[place] ^= 0x11
    rows[row_key(KEY, suffix)] = bytes(row)


def memories(rows: Rows) -> list[bytes]:
    return [key for key in sorted(rows) if key.startswith(row_key(KEY, b"memory/"))]


def stray(rows: Rows) -> None:
    rows[row_key(KEY, b"pair/nobody")] = pack_row(Kind.PAIR, 3, b"\0\0", STANDARD.stamp)


DAMAGES: dict[str, Damage] = {
    "a mood that is another one": lambda rows: flip(rows, MOOD),
    "a header of another fold": lambda rows: flip(rows, MOOD, 5),
    "a header of no row": lambda rows: flip(rows, TRENDS, 0),
    "a row cut short": lambda rows: rows.update({row_key(KEY, TRENDS): b"\x01"}),
    "a row lost": lambda rows: rows.pop(row_key(KEY, MOOD)),
    "the row agent lost": lambda rows: rows.pop(row_key(KEY, AGENT)),
    "the row agent of no row": lambda rows: rows.update({row_key(KEY, AGENT): b""}),
    "the row agent with a first event that it was not": lambda rows: flip(rows, AGENT, 27),
    "a memory lost": lambda rows: rows.pop(memories(rows)[0]),
    "a memory changed": lambda rows: rows.update({memories(rows)[1]: rows[memories(rows)[2]]}),
    "notices that nobody can read": lambda rows: rows.update({row_key(KEY, NOTICE): b"?" * 30}),
    "a row that nobody made": stray,
    "all of it": lambda rows: [rows.pop(key) for key in list(rows) if key.startswith(KEY)],
}


async def work(line: Line, records: list[Record]) -> None:
    """A new worker folds records; the log has them then."""
    line.source = replace(line.source, records=[*line.source.records, *records], reads=[])
    worker = await line.worker()
    await worker.process(chunk_of(records))
    worker.ownership.close()


async def healthy() -> Line:
    line = Line()
    await work(line, HEALTHY)
    return line


def asked(*events: Rebuild, start: int = len(EVENTS)) -> list[Record]:
    return records_of(events, start)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_what_was_damaged_is_as_before(damage: Damage) -> None:
    line = await healthy()
    rows, meta = dict(line.store.rows), dict(line.store.meta)
    damage(line.store.rows)
    with capture_logs():
        await work(line, asked(rebuild("t", "agent-0", "r", T0_MS)))
    assert pure(line.store.rows) == pure(rows)
    assert restored(line.log.records)[0] == line.store.rows
    counts = {
        name: int(line.store.meta[name]) - int(meta[name]) for name in ("accepted", "duplicate", "dead", "erased")
    }
    assert counts == {"accepted": 1, "duplicate": 0, "dead": 0, "erased": 0}


async def test_a_rebuild_changes_no_row_that_is_right_and_the_oracle_agrees() -> None:
    line = await healthy()
    rows = dict(line.store.rows)
    again = [rebuild("t", "agent-0", "r", T0_MS), rebuild("t", "agent-0", "r", T0_MS), rebuild("t", "new", "n", T0_MS)]
    await work(line, asked(*again))
    assert line.store.rows == rows
    assert int(line.store.meta["source"]) == len(EVENTS) + 3
    oracle = OracleAgent("t", "agent-0")
    for offset, event in enumerate([*EVENTS, *again]):
        if event.agent_id == "agent-0":
            assert oracle.apply(offset, event) == "accepted"
    mine = {key: row for key, row in rows.items() if key.startswith(KEY) or not split_row_key(key)[0]}
    assert pure(mine) == oracle.rows()
    assert OracleAgent("t", "new").apply(0, again[2]) == "accepted"


async def test_events_of_the_same_chunk_are_folded_onto_the_new_rows() -> None:
    line, calm = await healthy(), await healthy()
    more = [signal("t", "agent-0", "s1", T0_MS + 9 * 10**8, 0.2), outcome("t", "agent-1", "o1", T0_MS + 9 * 10**8)]
    flip(line.store.rows, MOOD)
    chunk = [more[0], rebuild("t", "agent-0", "r", T0_MS), more[1]]
    with capture_logs():
        await work(line, records_of(chunk, len(EVENTS)))
    for event, offset in ((more[0], len(EVENTS)), (rebuild("t", "agent-0", "r", T0_MS), len(EVENTS) + 1)):
        await work(calm, records_of([event], offset))
    await work(calm, records_of([more[1]], len(EVENTS) + 2))
    assert pure(line.store.rows) == pure(calm.store.rows)


async def test_rows_at_hand_are_forgotten() -> None:
    """The worker that folded the agent has its rows in memory: right ones, while those in Redis were damaged."""
    line = Line(source=ListLog(HEALTHY))
    worker = await line.worker()
    await worker.process(chunk_of(HEALTHY))
    rows = dict(line.store.rows)
    flip(line.store.rows, MOOD)
    with capture_logs():
        await worker.process(chunk_of(asked(rebuild("t", "agent-0", "r", T0_MS))))
    assert line.store.rows == rows
    assert line.source.reads == [(0, len(EVENTS))]


@pytest.mark.parametrize("point", ["load", "whole", "append", "append.done", "apply", "apply.done"])
@pytest.mark.parametrize("nth", [1, 2])
async def test_a_crash_is_no_matter(point: str, nth: int) -> None:
    line = await healthy()
    rows = dict(line.store.rows)
    flip(line.store.rows, MOOD)
    passed = 0

    def before(step: str) -> None:
        nonlocal passed
        passed += step == point
        if passed == nth and step == point:
            raise BrokerUnavailable("gone")

    line.before = before
    records = asked(rebuild("t", "agent-0", "r", T0_MS))
    try:
        await work(line, records)
    except BrokerUnavailable:
        line.before = lambda step: None
        line.source = replace(line.source, records=HEALTHY)
        await work(line, records)
    assert pure(line.store.rows) == pure(rows)
    assert int(line.store.meta["accepted"]) == len(EVENTS) + 1
    assert restored(line.log.records)[0] == line.store.rows


async def test_an_agent_that_the_log_does_not_cover_is_left_alone_unless_told() -> None:
    line = await healthy()
    flip(line.store.rows, MOOD)
    rows = dict(line.store.rows)
    line.source.first = cut = 50

    async def ask(event: Rebuild, offset: int) -> None:
        worker = await line.worker()
        await worker.process(chunk_of(asked(event, start=offset)))
        worker.ownership.close()

    with capture_logs() as logs:
        await ask(rebuild("t", "agent-0", "r", T0_MS), len(EVENTS))
    assert line.store.rows == rows
    assert [one["not_covered"] for one in logs if one["event"] == "rebuilding"] == [1]
    await ask(rebuild("t", "agent-0", "r2", T0_MS, partial=True), len(EVENTS) + 1)
    oracle = OracleAgent("t", "agent-0")
    for offset, event in enumerate(EVENTS):
        if event.agent_id == "agent-0" and offset >= cut:
            oracle.apply(offset, event)
    mine = {key: row for key, row in line.store.rows.items() if not key.startswith(OTHER)}
    assert pure(mine) == oracle.rows()


async def test_what_lies_before_a_given_offset_is_not_read() -> None:
    line = await healthy()
    await work(line, records_of([outcome("t", "late", "o", T0_MS)], len(EVENTS)))
    rows = dict(line.store.rows)
    await work(line, asked(rebuild("t", "late", "r", T0_MS, from_offset=90), start=len(EVENTS) + 1))
    assert line.source.reads == [(90, len(EVENTS) + 1)]
    assert line.store.rows == rows


@pytest.mark.parametrize("lost", [False, True])
async def test_an_offset_of_another_log_spoils_nothing(lost: bool) -> None:
    """A log that was published again holds the old wishes, with the offsets of their time."""
    line = await healthy()
    rows = dict(line.store.rows)
    if lost:
        del line.store.rows[row_key(OTHER, AGENT)]
    await work(line, asked(rebuild("t", "agent-1", "r", T0_MS, from_offset=90)))
    assert pure(line.store.rows) == pure(rows)


async def test_what_is_left_of_the_log_brings_no_erased_memory_back() -> None:
    line = await healthy()
    gone = outcome("t", "agent-0", "gone", T0_MS + 10**8 + 5)
    more = [gone, erase("t", "agent-0", "e", T0_MS + 10**8 + 9, memory_id="gone")]
    await work(line, records_of(more, len(EVENTS)))
    start = line.source.first = len(EVENTS) + 2
    again = [outcome("t", "agent-0", "o", T0_MS + 10**8 + 6), gone]
    await work(line, records_of(again, start))
    await work(line, asked(rebuild("t", "agent-0", "r", T0_MS, partial=True), start=start + 2))
    await work(line, records_of([gone], start + 3))
    assert int(line.store.meta["erased"]) == 2
    assert [unpack_row(row).kind for key, row in line.store.rows.items() if key.endswith(hash_id("gone"))] == [
        Kind.ERASED
    ]
    assert restored(line.log.records)[0] == line.store.rows
