from datetime import UTC, datetime
from math import exp
from typing import Any
from uuid import uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.instants import from_ms, iso
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_700_000_000_000
AXES = ("pleasure", "arousal", "dominance")


async def _mood(client: httpx.AsyncClient, ms: int | None = None, agent: str = "a") -> dict[str, Any]:
    params = {} if ms is None else {"at": iso(from_ms(ms))}
    answer = await client.get(f"t/agents/{agent}/mood", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _pad(found: dict[str, Any], name: str = "mood") -> list[float]:
    return [found[name][axis] for axis in AXES]


def _slow(signals: list[tuple[int, float]], t: int, baseline: float = 0.0, tau: float = 4.0) -> float:
    """The pleasure at `t`, signal by signal."""
    x, at = 0.0, 0
    for when, delta in sorted(signals):
        if when <= t:
            x = x * exp(-(when - at) / (tau * HOUR_MS)) + delta
            x, at = min(max(x, max(-1 - baseline, -1.0)), min(1 - baseline, 1.0)), when
    return baseline + x * exp(-(t - at) / (tau * HOUR_MS))


async def test_mood_decays_from_its_last_shift(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("e", T0, (0.5, -0.25, 0.0), text="it broke")
    life.write()
    now = await _mood(client, T0)
    assert (_pad(now), now["octant"], now["cause"]) == ([0.5, -0.25, 0.0], "relaxed", "it broke")
    later = await _mood(client, T0 + 4 * HOUR_MS)
    assert _pad(later) == pytest.approx([0.5 / 2.718281828459045, -0.25 / 2.718281828459045, 0.0])
    assert (later["cause"], later["moved_at"], later["approximate"]) == ("it broke", iso(from_ms(T0)), False)
    assert (await _mood(client))["mood"]["pleasure"] == pytest.approx(0, abs=1e-9)


async def test_answers_tell_up_to_where_the_state_is_applied(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    for n in range(3):
        life.event(f"e{n}", T0 - n, (0.1, 0.0, 0.0))
    life.write()
    number = partition_of(agent_key("t", "a"), 4)
    stored.meta(number, source=77)
    position = {"partition": number, "offset": 77}
    assert (await _mood(client))["applied"] == {"position": position, "version": 2, "time": iso(from_ms(T0))}


async def test_default_time_is_now(stored: Stored, client: httpx.AsyncClient) -> None:
    Life(stored, "t", "a", offset=3).write()
    before = datetime.now(UTC)
    found = await _mood(client)
    assert before <= datetime.fromisoformat(found["at"]) <= datetime.now(UTC)
    assert (_pad(found), found["octant"], found["cause"], found["moved_at"]) == ([0, 0, 0], "neutral", None, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(
    signals=st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from([-0.5, -0.25, 0.125, 0.75])),
        max_size=40,
        unique_by=lambda s: s[0],
    ),
    asked=st.lists(st.integers(-1, 70), min_size=1, max_size=5),
)
async def test_the_whole_past_is_exact(
    stored: Stored, client: httpx.AsyncClient, signals: list[tuple[int, float]], asked: list[int]
) -> None:
    """Half hours; the base moves on, and times before it come from the trajectory."""
    life = Life(stored, "t", f"a{uuid4()}")
    half = HOUR_MS // 2
    placed = [(T0 + n * half, delta) for n, delta in sorted(signals)]
    for ms, delta in placed:
        life.event(f"e{ms}", ms, (delta, 0.0, 0.0), text=f"cause {ms}")
    life.offset = max(life.offset, 0)
    life.write()
    for n in asked:
        t = T0 + n * half + 7
        found = await _mood(client, t, life.agent)
        assert found["mood"]["pleasure"] == pytest.approx(_slow(placed, t), abs=1e-12)
        newest = max((ms for ms, _ in placed if ms <= t), default=None)
        assert found["cause"] == (None if newest is None else f"cause {newest}")
        assert found["moved_at"] == (None if newest is None else iso(from_ms(newest)))
        assert not found["approximate"]


async def test_the_past_lies_in_buckets_further_back(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    week = 7 * 24 * HOUR_MS
    life.event("e", T0, (0.5, 0.0, 0.0))
    for n in range(1, 40):
        life.event(f"quiet{n}", T0 + n * week)
    life.event("last", T0 + 40 * week, (0.5, 0.0, 0.0))
    life.event("after", T0 + 41 * week, (0.5, 0.0, 0.0))
    life.write()
    found = await _mood(client, T0 + 39 * week)
    assert (found["cause"], found["moved_at"]) == ("text of e", iso(from_ms(T0)))
    assert (await _mood(client, T0 + HOUR_MS))["mood"]["pleasure"] == pytest.approx(0.5 * exp(-0.25))
    assert (await _mood(client, T0 - 1))["cause"] is None


async def test_profile_of_the_time_asked_for(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("e1", T0, (0.5, 0.0, 0.0))
    life.change(T0 + HOUR_MS, baseline=(0.2, 0.0, 0.0), tau_hours=(1.0, 1.0, 1.0))
    life.event("e2", T0 + 3 * HOUR_MS, (0.1, 0.0, 0.0))
    life.write()
    old = await _mood(client, T0 + HOUR_MS // 2)
    assert (_pad(old, "baseline"), _pad(old, "tau_hours")) == ([0, 0, 0], [4, 4, 4])
    assert old["mood"]["pleasure"] == pytest.approx(0.5 * exp(-1 / 8))
    new = await _mood(client, T0 + 2 * HOUR_MS)
    assert (_pad(new, "baseline"), _pad(new, "tau_hours")) == ([0.2, 0, 0], [1, 1, 1])
    assert new["mood"]["pleasure"] == pytest.approx(0.2 + 0.5 * exp(-1 / 4) * exp(-1))


async def test_profile_of_an_agent_that_nothing_has_moved(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.change(T0, baseline=(0.2, 0.0, 0.0))
    life.change(T0 + HOUR_MS, baseline=(0.4, 0.0, 0.0))
    life.write()
    found = [(await _mood(client, T0 + ms))["mood"]["pleasure"] for ms in (-1, 0, HOUR_MS - 1, HOUR_MS)]
    assert found == [0.0, 0.2, 0.2, 0.4]


async def test_late_signals_make_the_past_approximate(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("e1", T0, (0.5, 0.0, 0.0))
    life.event("e2", T0 + 8 * HOUR_MS, (0.5, 0.0, 0.0))
    life.event("e3", T0 + 16 * HOUR_MS, (0.5, 0.0, 0.0))
    life.event("late", T0 + HOUR_MS, (0.01, 0.0, 0.0))
    life.write()
    before, within = [await _mood(client, T0 + n * HOUR_MS) for n in (0, 2)]
    assert (before["approximate"], within["approximate"]) == (False, True)
    assert within["late"] == {"count": 1, "since": iso(from_ms(T0 + HOUR_MS)), "until": iso(from_ms(T0 + 8 * HOUR_MS))}
    # The late signal's own row says 0.01 and nothing of what was before it.
    assert within["mood"]["pleasure"] == pytest.approx(0.5 * exp(-0.5), abs=0.02)


async def test_times_with_offsets_are_understood(stored: Stored, client: httpx.AsyncClient) -> None:
    Life(stored, "t", "a", offset=1).write()
    for text in ("2023-11-15T00:13:20+02:00", "2023-11-15T00:13:20%2B02:00", "2023-11-14T22:13:20Z"):
        answer = await client.get(f"t/agents/a/mood?at={text}")
        assert answer.json()["at"] == "2023-11-14T22:13:20Z"
