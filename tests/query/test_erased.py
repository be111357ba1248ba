"""What readers see where something was erased: nothing of it, and no fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from moodstream.affect.mood import anew
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import from_ms, iso
from moodstream.state import scanning
from moodstream.state.rows import Stub, bucket_of, hash_key, pack_erased
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_767_225_600_000


async def get(client: httpx.AsyncClient, path: str, **parameters: str) -> dict[str, Any]:
    answer = await client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def moved(stored: Stored) -> Life:
    """A life whose first shift is final."""
    life = Life(stored, "t", "a")
    life.event("e1", T0, (0.5, 0.0, 0.0), type="engagement")
    life.event("e2", T0 + 2 * HOUR_MS, (0.25, 0.0, 0.0), type="experience.outcome")
    return life


def stub(stored: Stored, event_id: str, ms: int) -> None:
    """Erase a memory by its id."""
    key, layout = stored.of("t", "a")
    row = pack_erased(1, Stub(ms, ms).encode())
    stored.redis.hset(layout.memory(key, bucket_of(ms * 1000)), hash_id(event_id), row)


async def test_an_erased_memory_is_not_there_and_its_number_still_counts(
    stored: Stored, client: httpx.AsyncClient
) -> None:
    life = moved(stored)
    life.write()
    before = await get(client, "t/agents/a/mood", at=iso(from_ms(T0 + HOUR_MS)))
    stub(stored, "e1", T0)
    listed = await get(client, "t/agents/a/memories")
    assert [one["memory_id"] for one in listed["memories"]] == ["e2", "mood:e2"]
    assert listed["broken"] == 0
    for memory in ("e1", "mood:e1"):
        assert (await client.get(f"t/agents/a/memories/{memory}")).json()["code"] == "not_found"
    after = await get(client, "t/agents/a/mood", at=iso(from_ms(T0 + HOUR_MS)))
    assert after["mood"] == before["mood"]
    assert (before["cause"], after["cause"]) == ("text of e1", None)


async def test_a_blank_cause_is_no_cause(stored: Stored, client: httpx.AsyncClient) -> None:
    life = moved(stored)
    life.row.cause = ""
    life.write()
    found = await get(client, "t/agents/a/mood", at=iso(from_ms(T0 + 3 * HOUR_MS)))
    assert found["cause"] is None
    assert found["mood"]["pleasure"] > 0.1


async def test_an_erased_mood_was_always_at_rest(stored: Stored, client: httpx.AsyncClient) -> None:
    life = moved(stored)
    life.row = anew(T0 + 3 * HOUR_MS)
    life.write()
    key, layout = stored.of("t", "a")
    stored.redis.hdel(layout.memory(key, bucket_of(T0 * 1000)), b"s" + hash_id("e1"))
    listed = await get(client, "t/agents/a/memories")
    assert [one["memory_id"] for one in listed["memories"]] == ["e2", "e1"]
    assert listed["broken"] == 0
    for hours in (0, 1, 2, 4):
        found = await get(client, "t/agents/a/mood", at=iso(from_ms(T0 + hours * HOUR_MS)))
        assert (found["mood"], found["cause"]) == ({"pleasure": 0.0, "arousal": 0.0, "dominance": 0.0}, None)
    explained = await client.get("t/agents/a/mood", params={"explain": "true", "at": iso(from_ms(T0 + HOUR_MS))})
    assert explained.status_code == 200, explained.text


def erased_between(monkeypatch: pytest.MonkeyPatch, erase: Callable[[], object], times: int) -> None:
    """Erase something after the first rows of an agent have been read, and before its memories are; so many times."""
    real, left = scanning.buckets, [erase] * times

    def buckets(*arguments: Any) -> Any:
        if left:
            left.pop()()
        return real(*arguments)

    monkeypatch.setattr(scanning, "buckets", buckets)


QUESTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "t/agents/a/memories", {}),
    ("GET", "t/agents/a/mood", {"params": {"explain": "true", "at": iso(from_ms(T0 + HOUR_MS))}}),
    ("POST", "t/recall", {"json": {"agents": ["a"], "as_of": iso(from_ms(T0 + 3 * HOUR_MS))}}),
]


@pytest.mark.parametrize(("method", "path", "more"), QUESTIONS)
async def test_what_is_erased_while_it_is_read_is_read_again(
    stored: Stored,
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    more: dict[str, Any],
) -> None:
    moved(stored).write()
    key, layout = stored.of("t", "a")
    offset = 10

    def erase() -> None:
        nonlocal offset
        offset += 1
        stub(stored, "e1", T0)
        stored.redis.hset(layout.erased, hash_key(key), pack_erased(offset, b""))

    erased_between(monkeypatch, erase, times=2)
    answer = await client.request(method, path, **more)
    assert answer.status_code == 200, answer.text
    assert "text of e1" not in answer.text
    erased_between(monkeypatch, erase, times=3)
    answer = await client.request(method, path, **more)
    assert (answer.status_code, answer.json()["code"]) == (503, "rewritten")
    assert answer.headers["Retry-After"] == "1"


async def test_what_is_only_added_while_it_is_read_is_no_reason(
    stored: Stored, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = moved(stored)
    life.write()

    def add() -> None:
        life.event("e3", T0 + 3 * HOUR_MS, (0.1, 0.0, 0.0), type="engagement")
        life.write()

    erased_between(monkeypatch, add, times=1)
    listed = await get(client, "t/agents/a/memories")
    assert {one["memory_id"] for one in listed["memories"]} == {"e1", "mood:e1", "e2", "mood:e2"}
