"""The life of a chunk: the order of its steps, and what is left when it ends at any of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from moodstream.agents import fold, notices
from moodstream.agents.agent_rows import SMALL_ROWS
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.schemas.errors import BrokerUnavailable, Fenced, SourceGap, StateLost
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.state.rows import kind_of, row_offset, split_row_key
from support.chunks import LAYOUT, SETTINGS, Line, Record, chunk_of, records_of
from support.events import T0_MS, engagement, lives, outcome, profile, signal
from support.stepping import restored

TOPICS = SETTINGS.topics
OUTPUTS = {"mood", "profiles", "trends"}
EVENTS = lives(3)[:120]


def bad(offset: int) -> Record:
    """A record that cannot be read."""
    return Record(offset, b"t/agent-0", b"{")


def mixed(events: Iterable[InputEvent]) -> list[Record]:
    """Records of events, every tenth broken."""
    records = records_of(events)
    return [bad(one.offset) if one.offset % 10 == 9 else one for one in records]


async def run(line: Line, records: Sequence[Record], size: int = 40) -> PartitionPipeline:
    """Process records in chunks, by a worker of its own, from where the state stands."""
    worker = await line.worker()
    rest = [record for record in records if record.offset >= worker.ownership.position.announced]
    for start in range(0, len(rest), size):
        await worker.process(chunk_of(rest[start : start + size]))
    return worker


def pure_rows(line: Line) -> dict[bytes, bytes]:
    """The rows without notices, which depend on when somebody looked."""
    return {key: row for key, row in line.store.rows.items() if kind_of(split_row_key(key)[1]).name != "NOTICE"}


def sequences(line: Line, topic: str) -> list[int]:
    return [json.loads(sent.value or b"")["sequence"] for sent in line.producer.of(topic)]


# -- the order


async def test_each_step_comes_after_the_one_before_is_confirmed() -> None:
    line = Line()
    worker = await line.worker()
    await worker.process(chunk_of(mixed(EVENTS[:40])))
    steps = line.steps
    assert steps[:5] == ["load", "load.done", "dead", "append", "append.done"]
    assert steps[5:7] == ["apply", "apply.done"]
    assert set(steps[7:]) <= OUTPUTS
    assert {"mood", "profiles"} <= set(steps[7:])


@pytest.mark.parametrize(
    ("failing", "missing"),
    [
        ("load", {"dead", "append", "apply"} | OUTPUTS),
        ("dead", {"append", "apply"} | OUTPUTS),
        ("append", {"append", "apply"} | OUTPUTS),
        ("append.done", {"apply"} | OUTPUTS),
        ("apply", {"apply"} | OUTPUTS),
    ],
)
async def test_nothing_comes_after_a_step_that_fails(failing: str, missing: set[str]) -> None:
    line = Line()
    worker = await line.worker()
    line.before = fail_at(failing)
    with pytest.raises(BrokerUnavailable):
        await worker.process(chunk_of(mixed(EVENTS[:40])))
    assert not missing & set(line.steps)
    assert int(line.store.meta["source"]) == 0


def fail_at(point: str, nth: int = 1) -> Any:
    """Fail at the n-th passage of a step, once."""
    passed = 0

    def before(step: str) -> None:
        nonlocal passed
        passed += step == point
        if step == point and passed == nth:
            raise BrokerUnavailable("gone")

    return before


CRASHES = ["load", "load.done", "dead", "append", "append.done", "apply", "apply.done", "mood", "profiles"]


@pytest.mark.parametrize("point", CRASHES)
@pytest.mark.parametrize("nth", [1, 2])
async def test_a_crash_at_any_step_leaves_what_would_have_been_without_it(point: str, nth: int) -> None:
    records = mixed(EVENTS)
    calm, hurt = Line(), Line()
    await run(calm, records)
    worker = await hurt.worker()
    hurt.before = fail_at(point, nth)
    try:
        for start in range(0, len(records), 40):
            await worker.process(chunk_of(records[start : start + 40]))
    except BrokerUnavailable:
        pass
    worker.ownership.close()
    hurt.before = lambda step: None
    await run(hurt, records)
    assert pure_rows(hurt) == pure_rows(calm)
    assert hurt.counts() == calm.counts() == {"accepted": 108, "duplicate": 0, "erased": 0, "dead": 12}
    assert sum(hurt.counts().values()) == len(records) == int(hurt.store.meta["source"])
    assert restored(hurt.log.records)[0] == hurt.store.rows
    # Each state is announced at least once, each letter is written at least once.
    assert set(sequences(hurt, TOPICS.mood)) >= set(sequences(calm, TOPICS.mood))
    letters = {sent.headers["__streams.errors.offset"] for sent in hurt.producer.of(TOPICS.dead)}
    assert letters == {b"%d" % offset for offset in range(9, 120, 10)}


async def test_a_worker_that_lost_the_partition_announces_nothing() -> None:
    line = Line()
    old = await line.worker()
    await line.worker()
    with pytest.raises(Fenced):
        await old.process(chunk_of(records_of(EVENTS[:10])))
    assert line.producer.sent == []
    assert line.store.rows == {}


async def test_a_closed_ownership_writes_nothing_more() -> None:
    line = Line()
    worker = await line.worker()
    before = len(line.log.records)
    worker.ownership.close()
    with pytest.raises(Fenced):
        await worker.process(chunk_of(records_of(EVENTS[:10])))
    assert len(line.log.records) == before
    assert line.store.rows == {}


async def test_redis_emptied_under_a_warm_cache_is_noticed_before_anything_is_appended() -> None:
    line = Line()
    worker = await line.worker()
    records = records_of(EVENTS)
    await worker.process(chunk_of(records[:40]))
    before = len(line.log.records)
    line.store.become(type(line.store)())
    with pytest.raises((Fenced, StateLost)):
        await worker.process(chunk_of(records[40:80]))
    assert len(line.log.records) == before


# -- what was read before


async def test_a_chunk_read_again_is_only_announced() -> None:
    line = Line()
    records = mixed(EVENTS[:40])
    await run(line, records)
    rows, counts, appended = dict(line.store.rows), line.counts(), len(line.log.records)
    first, letters = set(sequences(line, TOPICS.mood)), len(line.producer.of(TOPICS.dead))
    worker = await line.worker()
    appended = len(line.log.records)
    await worker.process(chunk_of(records))
    assert set(line.steps) <= {"load", "load.done"} | OUTPUTS
    assert (line.store.rows, line.counts(), len(line.log.records)) == (rows, counts, appended)
    assert set(sequences(line, TOPICS.mood)) == first
    assert len(line.producer.of(TOPICS.dead)) == letters
    assert len(line.producer.of(TOPICS.profiles)) == 2 * 3


async def test_also_the_last_record_that_is_read_again_is_announced() -> None:
    line = Line()
    records = records_of([signal("t", "a", "s", T0_MS, 0.4), signal("t", "b", "s", T0_MS, 0.4)])
    await run(line, records)
    worker = await line.worker()
    await worker.process(chunk_of(records[1:]))
    assert sequences(line, TOPICS.mood) == [0, 1, 1]


async def test_a_notice_is_announced_again_with_the_records_that_led_to_it() -> None:
    line = Line()
    events = [
        engagement("t", "a", f"e{i}", T0_MS + i * 3_600_000, turn=f"m{i}", sentiment_shift=i / 40) for i in range(30)
    ]
    records = records_of(events)
    await run(line, records, size=10)
    told = line.producer.of(TOPICS.trends)
    assert told
    worker = await line.worker()
    line.producer.sent.clear()
    await worker.process(chunk_of(records))
    last = {json.loads(one.value or b"")["signal"]: one for one in told if b"other" not in (one.value or b"")}
    again = line.producer.of(TOPICS.trends)
    assert [one for one in again if b"other" not in (one.value or b"")] == list(last.values())


async def test_a_chunk_that_overlaps_is_folded_from_where_the_state_stands() -> None:
    records = mixed(EVENTS)
    calm, line = Line(), Line()
    await run(calm, records, size=60)
    worker = await line.worker()
    await worker.process(chunk_of(records[:50]))
    await worker.process(chunk_of(records[20:90]))
    await worker.process(chunk_of(records[85:]))
    assert pure_rows(line) == pure_rows(calm)
    assert line.counts() == calm.counts()
    assert len(line.producer.of(TOPICS.dead)) == line.counts()["dead"]


async def test_a_gap_is_refused_and_changes_nothing() -> None:
    line = Line()
    worker = await line.worker()
    records = records_of(EVENTS)
    await worker.process(chunk_of(records[:10]))
    line.steps.clear()
    with pytest.raises(SourceGap) as caught:
        await worker.process(chunk_of(records[11:20]))
    assert caught.value.fields["partition"] == 0
    assert line.steps == []
    assert int(line.store.meta["source"]) == 10


async def test_offsets_that_the_log_does_not_have_are_no_gap() -> None:
    line = Line()
    worker = await line.worker()
    records = [replace(one, offset=5 + 3 * one.offset) for one in records_of(EVENTS[:20])]
    await worker.process(chunk_of(records, start=0))
    assert int(line.store.meta["source"]) == records[-1].offset + 1
    assert line.counts()["accepted"] == 20


async def test_the_position_up_to_which_outputs_are_out_follows_by_one_chunk() -> None:
    line = Line()
    worker = await line.worker()
    records = records_of(EVENTS)
    seen = []
    for start in range(0, 90, 30):
        await worker.process(chunk_of(records[start : start + 30]))
        seen.append((int(line.store.meta["source"]), int(line.store.meta["announced"])))
    assert seen == [(30, 0), (60, 30), (90, 60)]


# -- duplicates and counts


async def test_duplicates_and_conflicts_are_told_apart_over_chunks_and_restarts() -> None:
    first = outcome("t", "a", "x", T0_MS)
    other = first.model_copy(update={"description": "something else"})
    p = profile("t", "a", "p", T0_MS)
    line = Line()
    await run(line, records_of([first, first, p]))
    rows = dict(line.store.rows)
    records = records_of([other, first, p, outcome("t", "b", "x", T0_MS)], start=3)
    await run(line, records, size=1)
    assert line.counts() == {"accepted": 3, "duplicate": 4, "erased": 0, "dead": 0}
    assert int(line.store.meta["conflict"]) == 1
    assert {key: row for key, row in line.store.rows.items() if key in rows} == rows


async def test_the_four_counts_add_up_to_the_records_read() -> None:
    line = Line()
    records = mixed([*EVENTS, *EVENTS[:37], *EVENTS[50:60]])
    await run(line, records, size=33)
    counts = line.counts()
    assert sum(counts.values()) == len(records) == int(line.store.meta["source"])
    assert counts["duplicate"] > 30
    assert counts["dead"] == len(line.producer.of(TOPICS.dead)) == len(records) // 10
    assert restored(line.log.records)[1].read == len(records)


async def test_fields_that_nobody_knows_are_ignored_and_counted() -> None:
    (record,) = records_of([outcome("t", "a", "x", T0_MS)])
    odd = replace(record, value=record.value[:-1] + b',"new":1,"newer":2}')
    line = Line()
    await run(line, [odd])
    assert (line.counts()["accepted"], int(line.store.meta["ignored"])) == (1, 2)


async def test_a_flood_of_dead_letters_is_one_line_a_chunk() -> None:
    line = Line()
    other = Record(5, b"t/agent-0", b'{"type": "nonsense"}')
    with capture_logs() as logs:
        await run(line, [*records_of(EVENTS[:1]), *map(bad, range(1, 5)), other, *map(bad, range(6, 9))], size=6)
    assert [(one["first"], one["count"], one["codes"]) for one in logs if one["event"] == "dead letters"] == [
        (1, 5, {"malformed_record": 4, "unknown_type": 1}),
        (6, 3, {"malformed_record": 3}),
    ]


async def test_a_chunk_of_nothing_but_dead_letters_moves_the_position() -> None:
    line = Line()
    await run(line, [bad(0), bad(1)])
    assert line.counts()["dead"] == int(line.store.meta["source"]) == 2
    assert set(line.steps) & OUTPUTS == set()


@pytest.mark.parametrize("cache_bytes", [1, 1 << 20])
@pytest.mark.parametrize("size", [1, 7, 120])
async def test_neither_cache_nor_chunk_enters_a_row(cache_bytes: int, size: int) -> None:
    records = mixed(EVENTS)
    usual, line = Line(), Line(cache_bytes=cache_bytes)
    await run(usual, records)
    await run(line, records, size)
    assert pure_rows(line) == pure_rows(usual)


async def test_rows_of_a_busy_agent_are_loaded_once() -> None:
    line = Line()
    worker = await line.worker()
    for number, other in enumerate(["u", "u", "v"]):
        event = engagement("t", "a", f"e{number}", T0_MS + number, other=other, turn=f"m{number}", responded=True)
        await worker.process(chunk_of(records_of([event], start=number)))
        assert line.state is not None
        asked = [one for one in line.state.asked if one.key != LAYOUT.erased]
        assert (len(asked) < len(line.state.asked)) is (number == 0)
        rows, ids = asked[:-1], asked[-1]
        assert ids.key == LAYOUT.ids(agent_key("t", "a"))
        expected = {0: [*SMALL_ROWS, b"pair/u"], 1: [], 2: [b"pair/v"]}
        assert [field for wanted in rows for field in wanted.fields] == expected[number]


# -- a fold that raises


def poison(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make the fold raise for these events, in the middle of its work."""
    real = fold._observe

    def observe(agent: Any, entry: Any, ms: int) -> None:
        if entry.event.event_id in names:
            raise ZeroDivisionError("secret")
        real(agent, entry, ms)

    monkeypatch.setattr(fold, "_observe", observe)


AGENT_EVENTS: list[InputEvent] = [
    profile("t", "a", "p", T0_MS, baseline=(0.1, 0.0, 0.0)),
    *(outcome("t", "a", f"o{i}", T0_MS + i * 60_000, result="failure" if i % 3 else "success") for i in range(80)),
    signal("t", "a", "s", T0_MS + 81 * 60_000, 0.4),
    engagement("t", "a", "e", T0_MS + 82 * 60_000, responded=True),
]
NEIGHBOUR = [outcome("t", "b", f"o{i}", T0_MS) for i in range(5)]


@pytest.mark.parametrize("size", [5, 200])
async def test_an_event_whose_fold_raises_is_refused_alone(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    records = records_of([*NEIGHBOUR, *AGENT_EVENTS])
    without = [r for r in records if not any(b'"%s"' % name in r.value for name in (b"o3", b"o70")) or r.key == b"t/b"]
    calm, line = Line(), Line()
    await run(calm, without, size=1_000)
    poison(monkeypatch, "o70")
    with monkeypatch.context() as patch, capture_logs() as logs:
        real = fold._fold_event
        patch.setattr(
            fold,
            "_fold_event",
            lambda agent, entry, *rest: (
                1 / 0 if entry.event.event_id == "o3" and agent.key == b"t/a" else real(agent, entry, *rest)
            ),
        )
        await run(line, records, size)
    assert pure_rows(line) == pure_rows(calm)
    assert line.counts() == {"accepted": len(records) - 2, "duplicate": 0, "erased": 0, "dead": 2}
    letters = line.producer.of(TOPICS.dead)
    assert [json.loads(letter.value or b"")["event_id"] for letter in letters] == ["o3", "o70"]
    assert {letter.headers["x-moodstream-code"] for letter in letters} == {b"internal_error"}
    assert not any(b"secret" in text for letter in letters for text in letter.headers.values())
    assert {line["offset"] for line in logs if line["event"] == "fold raised"} == {
        int(letter.headers["__streams.errors.offset"]) for letter in letters
    }


async def test_poison_among_duplicates_of_one_chunk_changes_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [*AGENT_EVENTS[:10], *AGENT_EVENTS[:10]]
    poison(monkeypatch, "o4")
    line = Line()
    with capture_logs():
        await run(line, records_of(events), size=100)
    assert line.counts() == {"accepted": 9, "duplicate": 9, "erased": 0, "dead": 2}


async def test_a_poisoned_event_is_buried_once_it_is_read_again_with_the_position_unmoved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poison(monkeypatch, "o2")
    line = Line()
    worker = await line.worker()
    line.before = fail_at("append")
    records = records_of(AGENT_EVENTS[:6])
    with capture_logs(), pytest.raises(BrokerUnavailable):
        await worker.process(chunk_of(records))
    with capture_logs():
        await run(line, records)
    assert line.counts()["dead"] == 1
    assert len(line.producer.of(TOPICS.dead)) == 2


async def test_notices_that_raise_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(notices, "look_all", broken)
    line = Line()
    with capture_logs():
        await run(line, records_of(EVENTS))
    assert line.counts()["accepted"] == len(EVENTS)


# -- what is announced


async def test_one_announcement_an_agent_and_chunk_with_the_newest_state() -> None:
    line = Line()
    await run(line, records_of(AGENT_EVENTS), size=30)
    moods = [json.loads(sent.value or b"") for sent in line.producer.of(TOPICS.mood)]
    row = line.store.rows[agent_key("t", "a") + b"\0mood"]
    assert len(moods) == 3
    assert moods[-1]["sequence"] == row_offset(row)
    assert [mood["sequence"] for mood in moods] == sorted({mood["sequence"] for mood in moods})
    (told,) = line.producer.of(TOPICS.profiles)
    assert (told.key, json.loads(told.value or b"")["baseline"]) == (agent_key("t", "a"), [0.1, 0.0, 0.0])


async def test_a_profile_change_alone_announces_the_mood_that_it_changes() -> None:
    line = Line()
    events = [signal("t", "a", "s", T0_MS, 0.4), profile("t", "a", "p", T0_MS + 1, baseline=(0.2, 0.0, 0.0))]
    await run(line, records_of(events), size=1)
    first, second = (json.loads(sent.value or b"") for sent in line.producer.of(TOPICS.mood))
    assert (first["baseline"], second["baseline"]) == ([0.0, 0.0, 0.0], [0.2, 0.0, 0.0])
    assert second["sequence"] == 1


async def test_outputs_carry_the_key_of_their_agent_and_lie_in_its_partition() -> None:
    line = Line()
    await run(line, records_of(EVENTS))
    outputs = [sent for sent in line.producer.sent if sent.topic != TOPICS.dead]
    assert {sent.key for sent in outputs} == {agent_key("t", f"agent-{i}") for i in range(3)}
    assert {sent.partition for sent in outputs} == {0}
