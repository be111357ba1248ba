"""Erasures in the worker's fold: every row and count is the oracle's, whatever the chunks, restarts and neighbours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.affect.signals import turn_key
from moodstream.affect.trends import TrendRow, observe
from moodstream.agents import fold as fold_module
from moodstream.agents.past import Dated, Reach, reaches
from moodstream.agents.pipeline import PartitionPipeline
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.errors import BrokerUnavailable
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, hash_id
from moodstream.state.marker_row import Markers
from moodstream.state.rows import (
    HEADER,
    NOTICE,
    TRENDS,
    Kind,
    erased_key,
    pack_row,
    pair_suffix,
    row_key,
    row_offset,
    split_row_key,
    unpack_row,
)
from support.chunks import SETTINGS, Line, chunk_of, records_of
from support.events import T0_MS, engagement, erase, erasures, expire, life, outcome, profile, signal, with_erasures
from support.fakes import Log
from support.stepping import restored

T, A = "t", "a"
KEY = agent_key(T, A)
HOUR = 3_600_000


async def fold(line: Line, log: Sequence[InputEvent], cuts: Sequence[int], restarts: bool = True) -> None:
    """Fold a log in chunks that end at the cuts, each by a worker of its own, or all by one."""
    records = records_of(log)
    worker: PartitionPipeline | None = None
    for start, end in pairwise(sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})):
        if worker is None or restarts:
            worker = await line.worker()
        await worker.process(chunk_of(records[start:end]))


def pure(rows: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Rows without notices."""
    return {key: row for key, row in rows.items() if split_row_key(key)[1] != NOTICE}


def by_oracle(log: Sequence[InputEvent]) -> tuple[dict[bytes, bytes], Counter[str]]:
    """Rows and counts of all agents of a log."""
    agents: dict[str, OracleAgent] = {}
    counts: Counter[str] = Counter()
    for offset, event in enumerate(log):
        verdict = agents.setdefault(event.agent_id, OracleAgent(event.tenant_id, event.agent_id)).apply(offset, event)
        counts["duplicate" if verdict == "conflict" else verdict] += 1
    return {key: row for agent in agents.values() for key, row in agent.rows().items()}, counts


async def checked(log: Sequence[InputEvent], cuts: Sequence[int] = (), restarts: bool = True) -> Line:
    """Fold a log, compare everything with the oracle, and Redis with what the changelog alone restores."""
    line = Line()
    await fold(line, log, cuts, restarts)
    rows, counts = by_oracle(log)
    assert pure(line.store.rows) == rows
    assert {name: n for name, n in line.counts().items() if n} == dict(counts)
    assert restored(line.log.records)[0] == line.store.rows
    line.log.compact(line.log.end, line.log.end)
    assert restored(line.log.records)[0] == line.store.rows
    return line


@settings(max_examples=200, deadline=None)
@given(with_erasures(T, A), st.lists(st.integers(1, 40), max_size=4), st.booleans())
async def test_every_row_is_the_oracles_whatever_the_chunks(
    log: list[InputEvent], cuts: list[int], restarts: bool
) -> None:
    await checked(log, cuts, restarts)


@settings(max_examples=50, deadline=None)
@given(with_erasures(T, A), with_erasures(T, "b"), st.lists(st.integers(1, 80), max_size=4), st.randoms())
async def test_neighbours_in_the_same_chunks_are_not_touched(
    mine: list[InputEvent], hers: list[InputEvent], cuts: list[int], random: Random
) -> None:
    left = [list(mine), list(hers)]
    log = []
    while any(left):
        log.append(random.choice([each for each in left if each]).pop(0))
    await checked(log, cuts)


@settings(max_examples=50, deadline=None)
@given(with_erasures(T, A), st.data())
async def test_what_is_published_again_brings_nothing_back(log: list[InputEvent], data: st.DataObject) -> None:
    """All of it happened before the last erasure: whatever comes again, in whatever order, changes no row."""
    last = erase(T, A, "last", T0_MS + 2 * 10**10)
    again = data.draw(st.permutations([event for event in log if event.type_name not in ("erase", "expire")]))
    line = await checked([*log, last, *again], data.draw(st.lists(st.integers(1, 80), max_size=3)))
    assert list(line.store.rows) == [erased_key(KEY)]


async def test_a_crash_at_any_step_leaves_what_would_have_been_without_it() -> None:
    log = [*life(A, 6), *life("b", 3), erase(T, A, "x", T0_MS + 2 * HOUR, domain="engagement"), *life(A, 9)[12:]]
    log += [erase(T, "b", "x", T0_MS + 10**9), outcome(T, "b", "late", T0_MS), expire(T, A, "y", T0_MS + HOUR)]
    expected, counts = by_oracle(log)
    records = records_of(log)
    for point in ("load", "page", "append", "append.done", "apply", "apply.done", "profiles", "mood"):
        line = Line()
        await fold(line, log[:12], [])
        worker = await line.worker()
        line.before = broken_at(point)
        with suppress(BrokerUnavailable):
            await worker.process(chunk_of(records[12:]))
        worker.ownership.close()
        line.before = lambda step: None
        worker = await line.worker()
        await worker.process(chunk_of(records[worker.ownership.position.announced :]))
        assert pure(line.store.rows) == expected, point
        assert {name: n for name, n in line.counts().items() if n} == dict(counts)
        assert restored(line.log.records)[0] == line.store.rows


def broken_at(point: str) -> Callable[[str], None]:
    """Fail at the first passage of a step."""
    passed = Counter[str]()

    def before(step: str) -> None:
        passed[step] += 1
        if step == point and passed[step] == 1:
            raise BrokerUnavailable("gone")

    return before


async def test_the_trends_are_those_of_a_life_without_the_other_agent() -> None:
    """Also after more turns than a row keeps: what the other one had pushed out comes back from the other pairs."""
    log: list[InputEvent] = []
    for i in range(200):
        other = ("u", "v", "w")[i % 7 % 3]
        log.append(engagement(T, A, f"e{i}", T0_MS + i * 1000, other=other, turn=f"m{i}", responded=i % 3 > 0))
    line = await checked([*log, erase(T, A, "x", T0_MS + 10**9, other_agent_id="u")], [50, 150])
    without = await checked([event for event in log if event.other_agent_id != "u"])  # type: ignore[union-attr]
    key = row_key(KEY, TRENDS)
    assert line.store.rows[key][HEADER.size :] == without.store.rows[key][HEADER.size :]
    assert row_key(KEY, pair_suffix("u")) not in line.store.rows


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 90), st.integers(0, 10**6)), min_size=70, max_size=200))
def test_reports_in_the_trends_are_among_those_of_the_pairs(drawn: list[tuple[int, int, int]]) -> None:
    """What makes erasing another agent exact: the newest 64 turns of all are among those of the pairs."""
    trends, pairs = TrendRow(), [TrendRow() for _ in range(3)]
    for number, (other, turn, ms) in enumerate(drawn):
        for row in (trends, pairs[other]):
            observe(row, turn_key(str(other), str(turn)), hash_id(str(number)), ms, (1.0, *[None] * 6))
    joined = TrendRow()
    for pair in pairs:
        pair.pack()
        joined.join(pair)
    assert joined.pack() == trends.pack()


async def test_after_the_erasure_of_an_agent_its_profile_is_nobodys() -> None:
    line = await checked([profile(T, A, "p", T0_MS, influence=0.5), erase(T, A, "x", T0_MS + 1)], [1])
    sent = line.producer.of(SETTINGS.topics.profiles)
    assert [(one.key, one.value is None) for one in sent] == [(KEY, False), (KEY, True)]
    assert len(line.producer.of(SETTINGS.topics.mood)) == 0


async def test_after_the_erasure_of_its_mood_an_agent_is_said_to_be_at_rest() -> None:
    log = [
        profile(T, A, "p", T0_MS, baseline=(0.5, 0.0, 0.0)),
        signal(T, A, "s", T0_MS + 1, 0.3),
        erase(T, A, "x", T0_MS + 1000, domain="mood"),
    ]
    line = await checked(log, [2])
    told = json.loads(line.producer.of(SETTINGS.topics.mood)[-1].value or b"")
    assert (told["cause"], told["mood"], told["displacement"]) == ("erased", [0.5, 0.0, 0.0], [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "taken",
    [
        erase(T, A, "x", T0_MS + 9, memory_id="o1"),
        erase(T, A, "x", T0_MS + 9, domain="experience"),
        expire(T, A, "x", T0_MS + 9),
    ],
    ids=["memory", "domain", "expiry"],
)
async def test_who_was_told_a_cause_is_told_that_it_was_erased(taken: InputEvent) -> None:
    line = Line()
    await fold(line, [outcome(T, A, "o0", T0_MS), outcome(T, A, "o1", T0_MS + 8), taken], [2])
    first, last = (json.loads(sent.value or b"") for sent in line.producer.of(SETTINGS.topics.mood))
    assert (first["cause"], last["cause"]) == ("o1 ended", "erased")
    assert (first["sequence"], last["sequence"]) == (1, 2)
    assert last["displacement"] == first["displacement"]


async def test_an_erasure_that_leaves_the_mood_alone_is_not_told() -> None:
    line = Line()
    taken = erase(T, A, "x", T0_MS + 9, memory_id="o0")
    await fold(line, [outcome(T, A, "o0", T0_MS), outcome(T, A, "o1", T0_MS + 8), taken], [2])
    assert len(line.producer.of(SETTINGS.topics.mood)) == 1


async def test_an_erasure_that_was_read_again_is_announced_again() -> None:
    log = [profile(T, A, "p", T0_MS, influence=0.5), erase(T, A, "x", T0_MS + 1)]
    line = await checked(log)
    worker = await line.worker()
    await worker.process(chunk_of(records_of(log)))
    assert [one.value for one in line.producer.of(SETTINGS.topics.profiles)] == [None, None]


async def test_notices_of_what_was_erased_go() -> None:
    log: list[InputEvent] = [
        engagement(T, A, f"e{i}", T0_MS + i * HOUR, other="u", turn=f"m{i}", sentiment_shift=i / 40) for i in range(30)
    ]
    line = await checked(log)
    assert row_key(KEY, NOTICE) in line.store.rows
    line = await checked([*log, erase(T, A, "x", T0_MS + 10**9, other_agent_id="u")], [30])
    assert row_key(KEY, NOTICE) not in line.store.rows


async def test_an_event_whose_fold_raises_spoils_no_erasure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent is folded again without the event, from what was loaded."""
    log = [*life(A, 4), erase(T, A, "x", T0_MS + HOUR, domain="experience"), outcome(T, A, "bad", T0_MS + 5 * HOUR)]
    line, good = Line(), Line()
    await fold(line, log[:5], [])
    real = fold_module.appraise

    def appraise(event: InputEvent, *rules: object) -> object:
        if event.event_id == "bad":
            raise ZeroDivisionError
        return real(event, *rules)  # type: ignore[arg-type]

    monkeypatch.setattr(fold_module, "appraise", appraise)
    worker = await line.worker()
    await worker.process(chunk_of(records_of(log)[5:]))
    await fold(good, log[:-1], [])
    assert line.counts()["dead"] == 1
    assert pure(line.store.rows) == pure(good.store.rows)


async def test_many_erasures_look_at_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of thousands of them must not hold the partition up for minutes."""
    looked = 0
    real = Dated.of

    def of(suffix: bytes, data: bytes) -> Dated:
        nonlocal looked
        looked += 1
        return real(suffix, data)

    monkeypatch.setattr(Dated, "of", of)
    log: list[InputEvent] = [outcome(T, A, f"o{i}", T0_MS + i, target_agent=f"u{i}") for i in range(40)]
    log += [erase(T, A, f"x{i}", T0_MS + HOUR, memory_id=f"o{i}") for i in range(20)]
    log += [erase(T, A, f"y{i}", T0_MS + HOUR, other_agent_id=f"u{i}") for i in range(20, 40)]
    await checked(log)
    assert looked == 40
    await checked(log, [40])
    assert 60 <= looked <= 40 + 2 * 40


@given(
    taken=st.lists(erasures(T, A), max_size=6),
    kind=st.sampled_from([Kind.MEMORY, Kind.SHIFT, Kind.ERASED]),
    ms=st.integers(T0_MS - HOUR, T0_MS + 60 * HOUR),
    domain=st.sampled_from(["", "experience", "engagement", "mood", "reflection"]),
    others=st.frozensets(st.sampled_from(["u", "v", "b"])),
)
def test_many_erasures_reach_what_one_of_them_reaches(
    taken: list[InputEvent], kind: Kind, ms: int, domain: str, others: frozenset[str]
) -> None:
    found = [one for one in taken if isinstance(one, Erase | Expire)]
    row = Dated(
        kind, bytes(12), ms, domain if kind is Kind.MEMORY else "", others if kind is Kind.MEMORY else frozenset()
    )
    assert Reach(found).takes(row) == any(reaches(event, row) for event in found)


@pytest.mark.parametrize("damage", [b"", b"?" * 40, pack_row(Kind.MEMORY, 3, b"?", bytes(8))])
async def test_what_nobody_can_read_can_be_erased(damage: bytes) -> None:
    """Else the worker would stop at the erasure, and again after each start."""
    line, log = Line(), life(A, 4)
    await fold(line, log, [])
    memory, *others = (key for key in sorted(line.store.rows) if key.startswith(row_key(KEY, b"memory/")))
    line.store.rows[memory] = damage
    log += [erase(T, A, "x", T0_MS + 99 * HOUR, domain="experience"), erase(T, A, "y", T0_MS + 99 * HOUR)]
    for taken, left in ((log[-2], {memory}), (log[-1], set())):
        worker = await line.worker()
        await worker.process(chunk_of(records_of([taken], log.index(taken))))
        assert line.store.rows.keys() & {memory} == left
    assert line.store.rows.keys() == {erased_key(KEY)}
    assert others


async def test_another_log_takes_the_markers_along() -> None:
    """The broker was begun anew: of erasures that it never saw only the time counts, and it counts."""
    log = [*life(A, 3), erase(T, A, "x", T0_MS + 10 * HOUR), *life("b", 3)]
    log.append(erase(T, "b", "y", T0_MS + HOUR, memory_id="o1"))
    line = await checked(log)
    line.log = Log()
    worker = await line.worker()
    rows = dict(line.store.rows)
    assert rows.keys() == by_oracle(log)[0].keys()
    assert {row_offset(row) for row in rows.values()} == {-1}
    markers = Markers.unpack(unpack_row(rows[erased_key(KEY)]).body)
    assert [mark.offset for mark in markers.marks.values()] == [-1]
    await worker.process(chunk_of(records_of(log)))
    assert {name: n for name, n in line.counts().items() if n} == {"erased": 7 + 1, "duplicate": 2 + 6}
    assert line.store.rows == rows
