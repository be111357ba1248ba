"""Rows of an older fold are made anew before anything is consumed: as the new fold would have made them at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from structlog.testing import capture_logs

from moodstream.affect.params import STANDARD, Fold
from moodstream.agents import fold as folds
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.heads import Head, batches
from moodstream.agents.migrations import MIGRATIONS
from moodstream.agents.rebuild import Rebuilder
from moodstream.agents.settings import WorkerSettings
from moodstream.agents.upgrade import Upgrade
from moodstream.schemas.errors import BrokerUnavailable, Fenced, FoldMismatch
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import split_key
from moodstream.schemas.profile import AgentProfile, ProfileValues
from moodstream.state.ownership import Phase
from moodstream.state.rows import NO_MAKER, NOTICE, erased_key, kind_of, maker_of, split_row_key
from support.chunks import SETTINGS, Line, ListLog, Record, chunk_of, records_of
from support.events import T0_MS, erase, lives, outcome, with_erasures
from support.fakes import Store
from support.stepping import restored

SECOND = Fold.of(1, ProfileValues(tau_hours=(6.0, 6.0, 6.0)))
LIVES = [one for one in lives(4) if one.agent_id == "agent-0" or not isinstance(one, AgentProfile)]
EVENTS = LIVES[:160]
"""Only the first agent has a profile of its own, from its first event on."""
RECORDS = [Record(7, b"t/agent-0", b"{") if one.offset == 7 else one for one in records_of(EVENTS)]


@dataclass
class Told:
    """Hears whose mood moved."""

    agents: list[AgentRows] = field(default_factory=list)

    async def __call__(self, agents: Sequence[AgentRows]) -> None:
        self.agents += agents

    @property
    def names(self) -> list[str]:
        return sorted(split_key(one.key)[1] for one in self.agents)


async def folded(fold: Fold, records: Sequence[Record] = RECORDS) -> Line:
    """A partition whose records a worker of this fold has folded, from nothing."""
    line = Line(fold=fold)
    worker = await line.worker()
    await Upgrade(Rebuilder(worker.ownership, ListLog(records), SETTINGS, fold), (), Told(), asyncio.Lock()).run()
    for at in range(0, len(records), 40):
        await worker.process(chunk_of(records[at : at + 40]))
    worker.ownership.close()
    return line


async def upgraded(
    line: Line, log: ListLog, fold: Fold = SECOND, allowed: Sequence[str] = (), told: Told | None = None
) -> Phase:
    owner = await line.owner()
    rebuilder = Rebuilder(owner, log, SETTINGS, fold)
    try:
        await Upgrade(rebuilder, allowed, told or Told(), asyncio.Lock()).run()
        return owner.phase
    finally:
        owner.close()


def pure(store: Store) -> dict[bytes, bytes]:
    return {key: row for key, row in store.rows.items() if split_row_key(key)[1] != NOTICE}


def notices(store: Store) -> dict[bytes, bytes]:
    return {key: row[20:] for key, row in store.rows.items() if split_row_key(key)[1] == NOTICE}


def makers(store: Store) -> dict[bytes, set[bytes]]:
    """By agent: who made its rows."""
    found: dict[bytes, set[bytes]] = {}
    for key, row in store.rows.items():
        if maker_of(row) != NO_MAKER:
            found.setdefault(split_row_key(key)[0], set()).add(maker_of(row))
    return found


async def test_older_rows_become_what_the_new_fold_would_have_made() -> None:
    old, new = await folded(STANDARD), await folded(SECOND)
    meta, before = dict(old.store.meta), notices(old.store)
    log, told = ListLog(RECORDS), Told()
    assert pure(old.store) != pure(new.store)
    assert await upgraded(old, log, told=told) is Phase.READY
    assert pure(old.store) == pure(new.store)
    assert notices(old.store) == before
    assert set.union(*makers(old.store).values()) == {SECOND.maker}
    assert restored(old.log.records)[0] == old.store.rows
    assert log.reads == [(0, len(RECORDS))]
    kept = ("source", "announced", "accepted", "duplicate", "dead", "conflict")
    assert {name: old.store.meta[name] for name in kept} == {name: meta[name] for name in kept}
    # An agent with a profile of its own goes on as before.
    assert told.names == ["agent-1", "agent-2", "agent-3"]


async def test_it_is_done_once_and_then_nobody_looks_again() -> None:
    line = await folded(STANDARD)
    assert "heads" not in line.steps
    log = ListLog(RECORDS)
    await upgraded(line, log)
    line.steps.clear()
    await upgraded(line, log)
    assert "heads" not in line.steps
    assert len(log.reads) == 1
    line.store.become(Store())  # Redis comes back empty: the log tells who made what
    await upgraded(line, log)
    assert "heads" not in line.steps
    assert line.store.meta["fold"] == SECOND.maker.hex().encode()


async def test_rows_from_before_anybody_wrote_it_down_are_looked_at() -> None:
    line = await folded(STANDARD)
    del line.store.meta["fold"]
    await upgraded(line, ListLog(RECORDS), STANDARD)
    assert "heads" in line.steps
    assert line.store.meta["fold"] == STANDARD.maker.hex().encode()


CRASHES = [
    ("heads", 1),
    *((point, nth) for point in ("whole", "append", "append.done", "apply", "apply.done") for nth in (2, 3)),
]


@pytest.mark.parametrize(("point", "nth"), CRASHES)
async def test_a_crash_leaves_each_agent_old_or_new_and_the_next_owner_goes_on(
    point: str, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moodstream.agents.rebuild.WRITTEN_ROWS", 1)
    monkeypatch.setattr("moodstream.agents.rebuild._READ_AGENTS", 1)
    line, new = await folded(STANDARD), await folded(SECOND)
    passed = 0

    def before(step: str) -> None:
        nonlocal passed
        passed += step == point
        if passed == nth:
            raise BrokerUnavailable("gone")

    line.before = before
    told = Told()
    with pytest.raises(BrokerUnavailable):
        await upgraded(line, ListLog(RECORDS), told=told)
    line.before = lambda step: None
    assert all(len(each) == 1 for each in makers(line.store).values())
    await upgraded(line, ListLog(RECORDS), told=told)
    assert pure(line.store) == pure(new.store)
    assert restored(line.log.records)[0] == line.store.rows
    # Whoever was replaced before the crash is announced again: perhaps nobody was told.
    assert set(told.names) >= {"agent-1", "agent-2", "agent-3"}


async def test_redis_lost_in_the_middle_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moodstream.agents.rebuild.WRITTEN_ROWS", 1)
    line, new = await folded(STANDARD), await folded(SECOND)

    class Lost(Told):
        async def __call__(self, agents: Sequence[AgentRows]) -> None:
            raise BrokerUnavailable("gone")

    with pytest.raises(BrokerUnavailable):
        await upgraded(line, ListLog(RECORDS), told=Lost())
    line.store.become(Store())
    await upgraded(line, ListLog(RECORDS))
    assert pure(line.store) == pure(new.store)


async def test_a_partition_that_is_taken_away_is_not_read_to_its_end() -> None:
    line = await folded(STANDARD)
    owner = await line.owner()

    class Log(ListLog):
        pages = 0

        async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[Any]]:
            async for page in super().read(partition, start, end):
                self.pages += 1
                if self.pages == 2:
                    owner.close()
                yield page

    log = Log(RECORDS)
    with pytest.raises(Fenced):
        await Upgrade(Rebuilder(owner, log, SETTINGS, SECOND), (), Told(), asyncio.Lock()).run()
    assert log.pages == 2


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("other", [SECOND, Fold.of(0, SECOND.default_profile)])
async def test_newer_rows_and_unknown_ones_stop_an_older_worker(other: Fold, lost: bool) -> None:
    line = await folded(other)
    if lost:
        line.store.become(Store())
    rows = dict(line.store.rows)
    with pytest.raises(FoldMismatch, match="rows were made by fold 1, revision") as raised:
        await upgraded(line, ListLog(RECORDS), STANDARD)
    assert ("raise fold.revision" in raised.value.hint) == (other.order == STANDARD.order)
    if not lost:
        assert line.store.rows == rows


async def test_a_worker_never_folds_onto_rows_of_another_fold() -> None:
    line = await folded(SECOND)
    line.fold = STANDARD
    worker = await line.worker()
    again = records_of(EVENTS[:40], start=len(RECORDS))
    with pytest.raises(FoldMismatch):
        await worker.process(chunk_of(again))


async def test_agents_that_the_log_no_longer_covers_need_a_migration_by_name() -> None:
    line = await folded(STANDARD)
    before = dict(line.store.rows)
    log = ListLog(RECORDS, first=20)
    with pytest.raises(FoldMismatch, match=r"[34] agents of partition 0 have rows of an older fold") as raised:
        await upgraded(line, log)
    assert "worker.migrate" in raised.value.hint
    assert line.store.rows == before
    await upgraded(line, log, allowed=["restamp"])
    assert {maker_of(row) for row in line.store.rows.values()} == {SECOND.maker}
    early = {split_row_key(key)[0] for key, row in before.items() if kind_of(split_row_key(key)[1]).name == "AGENT"
             and int.from_bytes(row[20:28]) < 20}  # fmt: skip
    for key in (key for key in before if split_row_key(key)[0] in early):
        assert line.store.rows[key][12:] == before[key][12:]


async def test_rows_from_before_this_log_are_migrated_too() -> None:
    line = await folded(STANDARD)
    line.log.records.clear()
    line.log.end = 0
    line.store.meta["incarnation"] = b"another"
    with pytest.raises(FoldMismatch, match="4 agents"):
        await upgraded(line, ListLog([]))
    await upgraded(line, ListLog([]), allowed=["restamp"])
    assert {maker_of(row) for row in line.store.rows.values()} == {SECOND.maker}


async def test_an_event_that_no_fold_can_take_is_left_out_as_in_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    real = folds.appraise

    def appraise(event: Any, *profile: Any) -> Any:
        if event.event_id == EVENTS[50].event_id:
            raise ZeroDivisionError
        return real(event, *profile)

    monkeypatch.setattr(folds, "appraise", appraise)
    with capture_logs():
        old, new = await folded(STANDARD), await folded(SECOND)
        log = ListLog(RECORDS)
        await upgraded(old, log)
    assert pure(old.store) == pure(new.store)
    assert len(log.reads) == 2


def heads(*sizes: tuple[int | None, int]) -> list[Head]:
    return [Head(b"%d" % n, b"", first, events) for n, (first, events) in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([(0, 500)], [[b"0"]]),
        ([(9, 40), (0, 60), (5, 30)], [[b"1", b"2"], [b"0"]]),
        ([(3, 10), (None, 95)], [[b"1"], [b"0"]]),
    ],
)
def test_agents_that_began_together_are_read_together(
    sizes: Collection[tuple[int | None, int]], expected: list[list[bytes]]
) -> None:
    assert [[head.key for head in batch] for batch in batches(heads(*sizes), events=100)] == expected


def test_the_setting_names_all_migrations() -> None:
    assert WorkerSettings(migrate=tuple(MIGRATIONS)).migrate == tuple(MIGRATIONS)


# -- erasures


@settings(max_examples=60, deadline=None)
@given(with_erasures("t", "a"))
def test_what_was_erased_stays_erased(log: list[InputEvent]) -> None:
    async def scenario() -> None:
        records = records_of(log)
        old, new = await folded(STANDARD, records), await folded(SECOND, records)
        await upgraded(old, ListLog(records))
        assert pure(old.store) == pure(new.store)
        assert restored(old.log.records)[0] == old.store.rows

    asyncio.run(scenario())


async def test_an_erasure_that_the_log_no_longer_has_still_counts() -> None:
    early = [outcome("t", "a", "o0", T0_MS), erase("t", "a", "x", T0_MS + 5_000)]
    after = [outcome("t", "a", "o1", T0_MS + 9_000), outcome("t", "a", "before", T0_MS + 1_000)]
    records = records_of([*early, *after])
    old, new = await folded(STANDARD, records), await folded(SECOND, records)
    marker = old.store.rows[erased_key(b"t/a")]
    await upgraded(old, ListLog(records, first=2))
    assert pure(old.store) == pure(new.store)
    assert old.store.rows[erased_key(b"t/a")] == marker


async def test_a_partition_of_markers_alone_needs_nothing() -> None:
    records = records_of([outcome("t", "a", "o0", T0_MS), erase("t", "a", "x", T0_MS + 5_000)])
    line = await folded(STANDARD, records)
    rows = dict(line.store.rows)
    assert list(rows) == [erased_key(b"t/a")]
    await upgraded(line, ListLog(records))
    assert line.store.rows == rows


async def test_a_marker_row_that_cannot_be_read_is_made_of_the_log_before_the_agents_life() -> None:
    events = [outcome("t", "a", "o1", T0_MS), erase("t", "a", "e", T0_MS + 1), outcome("t", "a", "o2", T0_MS + 2)]
    records = records_of(events)
    line = await folded(STANDARD, records)
    line.store.rows[erased_key(b"t/a")] = b"\x01"
    with capture_logs():
        assert await upgraded(line, ListLog(records)) is Phase.READY
    assert pure(line.store) == pure((await folded(SECOND, records)).store)
