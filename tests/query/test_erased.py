"""What readers see where something was erased: nothing of it, and no fault."""

from __future__ import annotations

from typing import Any

import httpx

from moodstream.affect.mood import anew
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import from_ms, iso
from moodstream.state.rows import Stub, bucket_of, pack_erased
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
