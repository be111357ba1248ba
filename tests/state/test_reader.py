import asyncio
import socket
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moodstream.schemas.errors import FoldMismatch, NotFound, Restoring, StoreUnavailable
from moodstream.schemas.identity import agent_key, hash_id, partition_of
from moodstream.state import reader as module
from moodstream.state import rows, scanning
from moodstream.state.layout import format_key
from moodstream.state.reader import StateReader
from moodstream.state.rows import MOOD, PROFILE
from moodstream.state.settings import StateSettings
from moodstream.state.views import BucketRows, ScannedAgent
from support.stored import Stored, memory_row

WEEK = 604_800_000_000


async def _all(reader: StateReader, tenant: str, agent: str, *bounds: int | None) -> list[BucketRows]:
    view = await reader.agent(tenant, agent, buckets=True)
    return [found async for found in reader.memories(view, *bounds)]


def _ids(found: list[BucketRows]) -> list[str]:
    return sorted(each.content.event_id for bucket in found for each in bucket.memories)


async def test_rows_come_with_position_and_version(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=41, accepted=3, newest=1234)
    stored.put("t", "a", MOOD, b"mood body", 40)
    stored.meta(partition_of(agent_key("t", "a"), 4), source=50)
    view = await reader.agent("t", "a", (MOOD, PROFILE))
    assert (view.version, view.facts.accepted, view.facts.newest) == (41, 3, 1234)
    assert (view.body(MOOD), view.body(PROFILE), view.rows[MOOD].offset) == (b"mood body", None, 40)
    assert (view.meta.source, view.meta.partition) == (50, partition_of(agent_key("t", "a"), 4))


async def test_foreign_and_missing_agents_get_the_same_answer(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=1)
    answers = []
    for tenant, agent in (("other", "a"), ("t", "nobody"), ("t/a", ""), ("nobody", "nobody")):
        with pytest.raises(NotFound) as caught:
            await reader.agent(tenant, agent)
        answers.append(caught.value.to_problem())
    assert all(answer == answers[0] for answer in answers)


async def test_no_state_yet_is_said(stored: Stored, reader: StateReader) -> None:
    stored.redis.delete(format_key(stored.prefix))
    with pytest.raises(Restoring, match="no state yet"):
        await reader.agent("t", "a")


async def test_a_restore_is_waited_for(stored: Stored, reader: StateReader) -> None:
    number = partition_of(agent_key("t", "a"), 4)
    stored.agent("t", "a", version=1)
    stored.meta(number, state="restoring")
    reading = asyncio.create_task(reader.agent("t", "a"))
    await asyncio.sleep(0)
    stored.meta(number)
    assert (await reading).version == 1


@pytest.mark.parametrize("acquired", [True, False])
async def test_a_long_restore_is_an_error(
    stored: Stored, reader: StateReader, monkeypatch: pytest.MonkeyPatch, acquired: bool
) -> None:
    monkeypatch.setattr(module, "RESTORE_WAIT", 0.0)
    number = partition_of(agent_key("t", "a"), 4)
    stored.agent("t", "a", version=1)
    stored.meta(number, state="restoring")
    if not acquired:
        stored.redis.delete(stored.layout(number).meta)
    with pytest.raises(Restoring, match=f"partition {number} "):
        await reader.agent("t", "a")


async def test_redis_away_names_the_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    reader = StateReader(StateSettings(url=f"redis://u:secret@127.0.0.1:{port}/0"))
    with pytest.raises(StoreUnavailable) as caught:
        await reader.agent("t", "a")
    await reader.close()
    assert f"127.0.0.1:{port}" in caught.value.detail
    assert "secret" not in str(caught.value.to_problem())


async def test_rows_of_another_fold_version_are_refused(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=1)
    stored.put("t", "a", MOOD, b"", 1, fold=2)
    await reader.agent("t", "a")
    with pytest.raises(FoldMismatch):
        await reader.agent("t", "a", (MOOD,))


@pytest.mark.parametrize("page", [3, 1000])
async def test_memories_are_complete_whatever_the_page(
    stored: Stored, reader: StateReader, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(scanning, "PAGE", page)
    monkeypatch.setattr(scanning, "_SIDE_BY_SIDE", 2)
    many = [(memory_row(f"e{n}", (n % 5) * WEEK + n, text="x" * 100), n) for n in range(700)]
    stored.memories("t", "a", many)
    stored.agent("t", "a", version=699)
    found = await _all(reader, "t", "a")
    assert [each.bucket for each in found] == [4, 3, 2, 1, 0]
    assert _ids(found) == sorted(row.content.event_id for row, _ in many)


async def test_memories_newer_than_the_version_are_not_seen(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=5)
    for n in range(10):
        row = memory_row(f"e{n}", n)
        stored.memory("t", "a", row, n)
        stored.shift("t", "a", row, b"body", n + 3)
    (found,) = await _all(reader, "t", "a")
    assert _ids([found]) == [f"e{n}" for n in range(6)]
    assert found.shifts.keys() == {hash_id(f"e{n}") for n in range(3)}


async def test_only_buckets_in_the_range_are_read(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=9)
    stored.memories("t", "a", [(memory_row(f"e{n}", n * WEEK), n) for n in range(6)])
    assert _ids(await _all(reader, "t", "a", 2 * WEEK, 4 * WEEK)) == ["e2", "e3"]
    assert _ids(await _all(reader, "t", "a", None, 4 * WEEK + 1)) == ["e0", "e1", "e2", "e3", "e4"]
    assert _ids(await _all(reader, "t", "a", 5 * WEEK, None)) == ["e5"]


async def test_broken_rows_are_counted_and_left_out(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=9)
    stored.memories("t", "a", [(memory_row("good", 1), 1), (memory_row("bad", 2), 2)])
    key, layout = stored.of("t", "a")
    whole = stored.redis.hget(layout.memory(key, 0), hash_id("bad"))
    assert isinstance(whole, bytes)
    stored.redis.hset(layout.memory(key, 0), hash_id("bad"), whole[:-3])
    (found,) = await _all(reader, "t", "a")
    assert (_ids([found]), found.broken) == (["good"], 1)


@pytest.mark.parametrize("change", [{"state": "restoring"}, {"source": 3}])
async def test_a_restore_between_pages_is_noticed(
    stored: Stored, reader: StateReader, change: dict[str, object]
) -> None:
    stored.agent("t", "a", version=9)
    stored.memories("t", "a", [(memory_row(f"e{n}", n * WEEK), n) for n in range(3)])
    view = await reader.agent("t", "a", buckets=True)
    stored.redis.hset(stored.layout(view.meta.partition).meta, mapping=change)  # type: ignore[arg-type]
    with pytest.raises(Restoring):
        [found async for found in reader.memories(view)]


async def test_one_memory_by_its_id(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=5)
    row = memory_row("here", 3 * WEEK)
    stored.memory("t", "a", row, 5)
    stored.shift("t", "a", row, b"body", 5)
    stored.memory("t", "a", memory_row("later", 1), 6)
    view = await reader.agent("t", "a")
    found = await reader.memory(view, "here")
    assert [(each.content, each.shift) for each in found.memories] == [row]
    assert found.shifts == {hash_id("here"): b"body"}
    for missing in ("later", "nowhere"):
        with pytest.raises(NotFound):
            await reader.memory(view, missing)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(
    names=st.lists(st.text("ab/ %~é", min_size=1, max_size=4), min_size=1, max_size=25, unique=True),
    limit=st.integers(1, 6),
)
async def test_agents_are_paged_in_one_order_over_all_partitions(
    stored: Stored, reader: StateReader, names: list[str], limit: int
) -> None:
    tenant = str(hash(tuple(names)))
    for name in names:
        stored.agent(tenant, name, version=len(name))
    found: list[str] = []
    while page := await reader.agents(tenant, found[-1] if found else None, limit):
        assert len(page) <= limit
        found += [entry.agent for entry in page]
    keys = [agent_key(tenant, name) for name in found]
    assert sorted(found) == sorted(names)
    assert all(left < right for left, right in pairwise(keys))


async def test_a_list_goes_on_behind_agents_that_are_erased_while_it_is_read(
    stored: Stored, reader: StateReader
) -> None:
    """Whoever gets fewer than were asked for takes it for the end of the list."""
    for name in "abcdef":
        stored.agent("t", name, version=1)
    for name in "abd":
        stored.redis.delete(stored.layout(partition_of(agent_key("t", name), 4)).agent(agent_key("t", name)))
    assert [entry.agent for entry in await reader.agents("t", limit=2)] == ["c", "e"]
    assert [entry.agent for entry in await reader.agents("t", "c", limit=2)] == ["e", "f"]
    assert [entry.agent for entry in await reader.agents("t", limit=9)] == ["c", "e", "f"]


async def test_agents_of_other_tenants_are_not_listed(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "mine", version=3, accepted=2, newest=7)
    stored.agent("t/", "other", version=1)
    stored.agent("u", "foreign", version=1)
    (entry,) = await reader.agents("t")
    assert (entry.agent, entry.version, entry.facts.accepted, entry.facts.newest) == ("mine", 3, 2, 7)
    assert await reader.agents("v") == []


@pytest.mark.parametrize("all_of_it", [False, True])
async def test_a_scan_reads_agents_again_of_which_something_is_erased_meanwhile(
    stored: Stored, reader: StateReader, monkeypatch: pytest.MonkeyPatch, all_of_it: bool
) -> None:
    """Else an audit beside live workers would miss rows that its older rows of the agent call for."""
    for name in "ab":
        stored.agent("t", name, version=4)
        stored.memories("t", name, [(memory_row(f"e{n}", n), n) for n in range(3)])
    key, layout = stored.of("t", "a")
    real, calls = scanning.whole_agents, 0

    async def whole_agents(*arguments: Any) -> list[ScannedAgent]:
        nonlocal calls
        calls += 1
        if calls == 1 + (partition_of(key, 4) > partition_of(agent_key("t", "b"), 4)):
            stored.redis.hset(layout.erased, rows.hash_key(key), rows.pack_erased(5, b"marks"))
            stored.redis.unlink(layout.memory(key, 0), layout.buckets(key), *([layout.agent(key)] * all_of_it))
            if not all_of_it:
                stored.agent("t", "a", version=5)
        return await real(*arguments)

    monkeypatch.setattr(scanning, "whole_agents", whole_agents)
    found = {one.key: one.rows for number in range(4) async for one in reader.scan_partition(number)}
    assert len(found[agent_key("t", "b")]) == 4
    assert found.pop(key, {}).keys() == (set() if all_of_it else {rows.row_key(key, rows.AGENT), rows.erased_key(key)})
    assert len(found) == 1


async def test_a_scan_gives_every_row_of_every_agent(
    stored: Stored, reader: StateReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SCAN_AGENTS", 3)
    expected: dict[bytes, set[bytes]] = {}
    for tenant in ("t", "u"):
        for n in range(10):
            name = f"agent {n}"
            stored.agent(tenant, name, version=9)
            stored.put(tenant, name, MOOD, b"mood", 5)
            memory = memory_row("e", n * WEEK)
            stored.memory(tenant, name, memory, 4)
            stored.shift(tenant, name, memory, b"shift", 8)
            stored.memory(tenant, name, memory_row("too new", 0), 10)
            key = agent_key(tenant, name)
            suffixes = (b"agent", MOOD, rows.memory_suffix(n, hash_id("e")), rows.shift_suffix(n, hash_id("e")))
            expected[key] = {rows.row_key(key, suffix) for suffix in suffixes}
    found: list[ScannedAgent] = []
    for number in range(4):
        stored.meta(number, source=100 + number)
        part = [each async for each in reader.scan_partition(number)]
        assert all((each.source, partition_of(each.key, 4)) == (100 + number, number) for each in part)
        found += part
    assert {each.key: set(each.rows) for each in found} == expected
    assert len(found) == len(expected)
    for each in found:
        assert rows.unpack_row(each.rows[rows.row_key(each.key, MOOD)]).body == b"mood"


async def test_a_scan_of_a_restoring_partition_is_refused(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=1)
    number = partition_of(agent_key("t", "a"), 4)
    stored.meta(number, state="restoring")
    with pytest.raises(Restoring):
        [each async for each in reader.scan_partition(number)]


async def test_meta_tells_positions_counts_and_lag(stored: Stored, reader: StateReader) -> None:
    stored.meta(2, source=90, accepted=80, duplicate=6, erased=1, dead=3, source_end=95)
    meta = await reader.partition_meta(2)
    assert meta is not None
    assert (meta.source, meta.lag, meta.state) == (90, 5, "ready")
    assert dict(meta.counts) == {
        "accepted": 80, "duplicate": 6, "erased": 1, "dead": 3, "conflict": 0, "ignored": 0
    }  # fmt: skip
    assert await reader.partition_meta(77) is None


async def test_a_redis_that_never_answers_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader = StateReader(StateSettings(url=f"redis://127.0.0.1:{port}/0", answer_seconds=0.2))
    with pytest.raises(StoreUnavailable, match=str(port)):
        await reader.ping()
    await reader.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("page", [1, 3, 256])
async def test_rows_of_many_agents_come_in_pages(
    stored: Stored, reader: StateReader, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(module, "_PAGE_AGENTS", page)
    names = {f"agent {n}/é": n for n in range(20)}
    for name, n in names.items():
        stored.agent("t", name, version=n)
        if n % 2:
            stored.put("t", name, MOOD, b"mood %d" % n, n)
    stored.agent("u", "foreign", version=1)
    assert await reader.count_agents("t") == 20
    pages = [found async for found in reader.rows_of("t", (MOOD, PROFILE), 100)]
    views = [view for found in pages for view in found]
    assert {view.agent: view.version for view in views} == names
    assert all(view.body(MOOD) == (b"mood %d" % view.version if view.version % 2 else None) for view in views)
    assert all(len(found) <= page and len({view.meta.partition for view in found}) <= 1 for found in pages)
    assert [(view.tenant, view.key) for view in views] == [("t", agent_key("t", view.agent)) for view in views]
    for most in (0, 1, 7, 20):
        assert len([view async for found in reader.rows_of("t", (), most) for view in found]) == most


async def test_agents_without_rows_and_tenants_without_agents(stored: Stored, reader: StateReader) -> None:
    stored.agent("t", "a", version=1)
    stored.agent("t", "gone", version=1)
    key, layout = stored.of("t", "gone")
    stored.redis.delete(layout.agent(key))
    assert [view.agent async for found in reader.rows_of("t", (MOOD,), 9) for view in found] == ["a"]
    assert await reader.count_agents("nobody") == 0
    assert [found async for found in reader.rows_of("nobody", (MOOD,), 9)] == []
    stored.meta(3, state="restoring")
    with pytest.raises(Restoring):
        await reader.count_agents("t")
    with pytest.raises(Restoring):
        [found async for found in reader.rows_of("t", (), 9)]
