"""`mood?explain=true`: the shifts with their events, and terms that add up to the mood."""

from math import exp
from typing import Any

import httpx
import pytest

from moodstream.affect.mood import anew
from moodstream.query import explaining
from moodstream.schemas.identity import hash_id
from moodstream.schemas.instants import from_ms, iso
from moodstream.state.rows import MOOD, Stub, bucket_of, pack_erased
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_700_000_000_000
AXES = ("pleasure", "arousal", "dominance")


async def _why(client: httpx.AsyncClient, ms: int) -> tuple[dict[str, Any], dict[str, Any]]:
    answer = await client.get("t/agents/a/mood", params={"at": iso(from_ms(ms)), "explain": "true"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    why = found["explanation"]
    for axis in AXES:
        listed = sum(part["left"][axis] for part in why["parts"])
        cut = sum(part["cut"][axis] for part in why["parts"])
        assert why["shifts"][axis] == pytest.approx(listed, abs=1e-12)
        assert why["cut"][axis] == pytest.approx(cut, abs=1e-12)
        total = sum(why[term][axis] for term in ("baseline", "shifts", "cut", "earlier"))
        assert total == pytest.approx(found["mood"][axis], abs=1e-12)
    return found, why


def _life(stored: Stored) -> Life:
    """A day: a base that holds three shifts, a change of the profile, and two shifts that are still kept."""
    life = Life(stored, "t", "a")
    for n in range(3):
        life.event(f"e{n}", T0 + n * 2 * HOUR_MS, (0.5, 0.0, 0.0), text=f"cause {n}", type="engagement")
    life.change(T0 + 5 * HOUR_MS, baseline=(0.2, 0.0, 0.0), tau_hours=(2.0, 2.0, 2.0), max_displacement=0.5)
    life.event("quiet", T0 + 6 * HOUR_MS)
    life.event("e3", T0 + 8 * HOUR_MS, (-0.25, 0.0, 0.0), text="x" * 2000)
    life.event("e4", T0 + 8 * HOUR_MS + 1, (0.125, 0.0, 0.0))
    life.write()
    return life


async def test_parts_are_named_and_add_up(stored: Stored, client: httpx.AsyncClient) -> None:
    _life(stored)
    _, why = await _why(client, T0 + 9 * HOUR_MS)
    assert [part["event_id"] for part in why["parts"]] == ["e4", "e3", None, "e2", "e1", "e0"]
    e3, change, e2 = why["parts"][1:4]
    assert (e3["delta"]["pleasure"], e3["cause"], e3["kind"], e3["late"]) == (-0.25, "x" * 512, "shift", False)
    assert e3["left"]["pleasure"] == pytest.approx(-0.25 * exp(-1 / 2))
    assert (e2["type"], e2["cause"], e2["occurred_at"]) == ("engagement", "cause 2", iso(from_ms(T0 + 4 * HOUR_MS)))
    assert e2["left"]["pleasure"] == pytest.approx(0.5 * exp(-1 / 4) * exp(-4 / 2))
    assert (change["kind"], change["cause"], change["occurred_at"]) == ("profile", None, iso(from_ms(T0 + 5 * HOUR_MS)))
    assert change["cut"]["pleasure"] < 0
    assert why["earlier"] == pytest.approx(dict.fromkeys(AXES, 0.0), abs=1e-12)
    assert why["unlisted"] == 0


@pytest.mark.parametrize("hours", [-1, 0, 1, 3, 5, 6, 8, 50])
async def test_at_any_time(stored: Stored, client: httpx.AsyncClient, hours: int) -> None:
    _life(stored)
    found, why = await _why(client, T0 + hours * HOUR_MS)
    assert all(part["occurred_at"] <= found["at"] for part in why["parts"])
    assert why["earlier"] == pytest.approx(dict.fromkeys(AXES, 0.0), abs=1e-12)
    assert len([part for part in why["parts"] if part["event_id"]]) == {-1: 0, 0: 1, 1: 1, 3: 2}.get(
        hours, 4 if hours == 8 else 5 if hours > 8 else 3
    )


async def test_an_event_that_was_erased_leaves_its_effect(stored: Stored, client: httpx.AsyncClient) -> None:
    life = _life(stored)
    for name in ("e1", "e4"):
        _stub(stored, life, name)
    _, why = await _why(client, T0 + 9 * HOUR_MS)
    assert [part["event_id"] for part in why["parts"]] == [None, "e3", None, "e2", None, "e0"]
    e4, e1 = why["parts"][0], why["parts"][4]
    assert (e4["kind"], e4["cause"], e1["kind"], e1["cause"]) == ("shift", None, "shift", None)
    assert e4["left"]["pleasure"] == pytest.approx(0.125 * exp(-1 / 2), rel=1e-5)
    assert e1["delta"]["pleasure"] == pytest.approx(0.5)
    assert why["earlier"] == pytest.approx(dict.fromkeys(AXES, 0.0), abs=1e-12)


async def test_a_mood_that_was_erased_is_not_told_any_more(stored: Stored, client: httpx.AsyncClient) -> None:
    life = _life(stored)
    key, layout = stored.of("t", "a")
    for ident, row in life.memories.items():
        stored.redis.hdel(layout.memory(key, bucket_of(row.content.occurred_us)), b"s" + ident)
    stored.put("t", "a", MOOD, anew(T0 + 9 * HOUR_MS).pack(), life.offset)
    for hours in (3, 8, 10):
        found, why = await _why(client, T0 + hours * HOUR_MS)
        assert [part for part in why["parts"] if part["kind"] == "shift"] == []
        assert (found["cause"], why["unlisted"]) == (None, 0)


def _stub(stored: Stored, life: Life, name: str) -> None:
    """Put what stands for an erased memory into its place."""
    ident = hash_id(name)
    us = life.memories[ident].content.occurred_us
    key, layout = stored.of("t", "a")
    row = pack_erased(life.offset, Stub(us // 1000, T0 + 9 * HOUR_MS).encode())
    stored.redis.hset(layout.memory(key, bucket_of(us)), ident, row)


async def test_not_more_is_read_than_is_allowed(
    stored: Stored, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    week = 7 * 24 * HOUR_MS
    life = Life(stored, "t", "a")
    life.change(T0, tau_hours=87_600)
    for n in range(10):
        life.event(f"e{n}", T0 + n * week, (0.01, 0.0, 0.0))
    life.write()
    _, why = await _why(client, T0 + 10 * week)
    assert len(why["parts"]) == 10
    monkeypatch.setattr(explaining, "SHIFTS_READ", 4)
    _, why = await _why(client, T0 + 10 * week)
    assert len(why["parts"]) == 4
    assert why["earlier"]["pleasure"] == pytest.approx(0.06, rel=0.05)


async def test_it_is_not_there_unless_asked_for(stored: Stored, client: httpx.AsyncClient) -> None:
    Life(stored, "t", "a", offset=1).write()
    assert (await client.get("t/agents/a/mood")).json()["explanation"] is None
    now = (await client.get("t/agents/a/mood?explain=true")).json()["explanation"]
    assert (now["parts"], now["unlisted"]) == ([], 0)
    assert (await client.get("t/agents/a/mood?explain=perhaps")).status_code == 422
