"""`mood?explain=true`: the shifts with their events, and terms that add up to the mood."""

from math import exp
from typing import Any

import httpx
import pytest

from moodstream.query import explaining
from moodstream.schemas.instants import from_ms, iso
from moodstream.state.layout import Layout
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


async def test_an_event_that_is_gone_leaves_its_effect(stored: Stored, client: httpx.AsyncClient) -> None:
    life = _life(stored)
    key, layout = stored.of("t", "a")
    gone = {each.content.event_id: (ident, each) for ident, each in life.memories.items()}
    for name in ("e1", "e4"):
        ident, row = gone[name]
        bucket = row.content.occurred_us // 604_800_000_000
        stored.redis.hdel(Layout.memory(layout, key, bucket), ident)
    _, why = await _why(client, T0 + 9 * HOUR_MS)
    assert [part["event_id"] for part in why["parts"]] == [None, "e3", None, "e2", "e0"]
    assert why["parts"][0]["cause"] is None
    assert why["parts"][0]["left"]["pleasure"] == pytest.approx(0.125 * exp(-1 / 2), rel=1e-5)
    assert why["earlier"]["pleasure"] != pytest.approx(0, abs=1e-3)


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
