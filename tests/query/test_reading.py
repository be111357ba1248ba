"""Agents, trends and memories: what is listed, in which order, and for whom."""

from typing import Any
from uuid import uuid4

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moodstream.affect.statistics import summary
from moodstream.affect.trends import TrendRow
from moodstream.schemas.identity import encode_id
from moodstream.schemas.instants import from_ms, from_us, iso
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_700_000_000_000
WEEK = 7 * 24 * HOUR_MS


async def _get(client: httpx.AsyncClient, path: str, **params: Any) -> dict[str, Any]:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


# -- agents


async def test_agents_page_by_page(stored: Stored, client: httpx.AsyncClient) -> None:
    names = [f"agent {n}/é" for n in range(7)]
    for n, name in enumerate(names):
        stored.agent("t", name, version=n, accepted=n + 1, newest=T0 + n)
    stored.agent("u", "foreign", version=1)
    found: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        page = await _get(client, "t/agents", limit=3, **after)
        found += page["agents"]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert [each["agent_id"] for each in found] == sorted(names, key=encode_id)
    last = found[-1]
    assert (last["version"], last["events"], last["newest"]) == (6, 7, iso(from_ms(T0 + 6)))
    assert last["position"]["offset"] == 1_000_000


async def test_a_tenant_that_nobody_knows_has_no_agents(stored: Stored, client: httpx.AsyncClient) -> None:
    stored.agent("t", "a", version=1)
    empty, foreign = [await client.get(f"{tenant}/agents") for tenant in ("nobody", "T")]
    assert empty.json() == {"tenant_id": "nobody", "agents": [], "next": None, "ranking": None}
    assert foreign.json() == {"tenant_id": "T", "agents": [], "next": None, "ranking": None}


async def test_agents_of_a_restoring_partition_are_not_left_out_silently(
    stored: Stored, client: httpx.AsyncClient
) -> None:
    stored.agent("t", "a", version=1)
    stored.meta(2, state="restoring")
    answer = await client.get("t/agents")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "restoring", "1")


@pytest.mark.parametrize("agent", ["a/b", "a b", "ä?&#", "..", "%2F", "a%b", "mood", "a+b"])
async def test_any_id_can_be_asked_for(stored: Stored, client: httpx.AsyncClient, agent: str) -> None:
    life = Life(stored, "t /", agent)
    life.event("mood/x?", T0, (0.25, 0.0, 0.0))
    life.write()
    base = f"{encode_id('t /')}/agents/{encode_id(agent).replace('..', '%2E%2E')}"
    assert (await _get(client, f"{base}/mood"))["agent_id"] == agent
    assert (await _get(client, f"{base}/memories/{encode_id('mood/x?')}"))["memory"]["memory_id"] == "mood/x?"
    assert (await _get(client, f"{base}/memories/mood:{encode_id('mood/x?')}"))["memory"]["domain"] == "mood"


# -- memories


async def test_memories_newest_first_with_the_shifts(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("e1", T0, type="reflection", importance=0.5, metadata={"k": "v"}, case_id="c", attributes={"x": "1"})
    life.event("e2", T0 + 1, (0.25, 0.0, 0.0), type="engagement", turn_id="t1")
    life.write()
    found = await _get(client, "t/agents/a/memories")
    assert [each["memory_id"] for each in found["memories"]] == ["e2", "mood:e2", "e1"]
    assert found["applied"]["version"] == 1
    assert found["memories"][2] == {
        "memory_id": "e1", "agent_id": "a", "domain": "reflection", "type": "reflection", "text": "text of e1",
        "occurred_at": iso(from_ms(T0)), "importance": 0.5, "pad": None, "attributes": {"x": "1"},
        "metadata": {"k": "v"}, "case_id": "c", "turn_id": None, "embedding_model": None, "approximate": False,
        "offset": 0,
    }  # fmt: skip
    one = await _get(client, "t/agents/a/memories/mood:e2")
    assert one["memory"] == found["memories"][1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(
    times=st.lists(st.integers(0, 4 * WEEK), max_size=25),
    limit=st.integers(1, 7),
    bounds=st.tuples(*[st.none() | st.integers(0, 4 * WEEK)] * 2),
    domain=st.sampled_from([None, "reflection", "mood"]),
)
async def test_pages_hold_each_memory_once(
    stored: Stored,
    client: httpx.AsyncClient,
    times: list[int],
    limit: int,
    bounds: tuple[int | None, int | None],
    domain: str | None,
) -> None:
    life = Life(stored, "t", f"a{uuid4()}", offset=0)
    everything = []
    for n, ms in enumerate([*times, *times[:5]]):
        moves = n % 3 == 0
        life.event(
            f"e.{n}", T0 + ms, (0.25, 0.0, 0.0) if moves else None, type="reflection", us=(T0 + ms) * 1000 + n % 2
        )
        everything.append(((T0 + ms) * 1000 + n % 2, f"e.{n}", "reflection"))
        if moves:
            everything.append(((T0 + ms) * 1000 + n % 2, f"mood:e.{n}", "mood"))
    life.write()
    since, until = (None if ms is None else (T0 + ms) * 1000 for ms in bounds)
    left = [
        (us, name)
        for us, name, kind in everything
        if (since is None or us >= since) and (until is None or us < until) and domain in (None, kind)
    ]
    params = {"since": since and iso(from_us(since)), "until": until and iso(from_us(until)), "domain": domain}
    given_params = {name: value for name, value in params.items() if value is not None}
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = await _get(client, f"t/agents/{life.agent}/memories", limit=limit, **given_params, **after)
        assert len(page["memories"]) <= limit
        found += [each["memory_id"] for each in page["memories"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert found == [name for _, name in sorted(left, key=lambda pair: (-pair[0], pair[1]))]


async def test_foreign_and_missing_things_get_one_answer(stored: Stored, client: httpx.AsyncClient) -> None:
    for tenant in ("t", "u"):
        life = Life(stored, tenant, f"of {tenant}")
        life.event(f"event of {tenant}", T0)
        life.write()
    same = [
        ["t/agents/of%20u/mood", "t/agents/nobody/mood", "nobody/agents/of%20u/mood"],
        ["t/agents/of%20u/trends", "t/agents/nobody/trends"],
        ["t/agents/of%20u/memories", "t/agents/nobody/memories"],
        ["t/agents/of%20u/memories/event%20of%20u", "t/agents/nobody/memories/event%20of%20t"],
        ["t/agents/of%20t/memories/event%20of%20u", "t/agents/of%20t/memories/x", "t/agents/of%20t/memories/mood:x"],
    ]
    for paths in same:
        answers = [await client.get(path) for path in paths]
        assert {answer.status_code for answer in answers} == {404}
        assert all(answer.content == answers[0].content for answer in answers)
        assert answers[0].json()["code"] == "not_found"
    # An event that moved nothing has no mood memory.
    assert (await client.get("t/agents/of%20t/memories/mood:event%20of%20t")).content == answers[0].content


# -- trends


async def test_trends_are_those_of_the_row(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.change(T0, trend_signs={"response_length": 0})
    numbers = np.random.default_rng(1).normal(size=30)
    for n, noise in enumerate(numbers):
        responded, time_ms, sentiment = float(n % 4 > 0), 8 - n / 8 + 0.1 * noise, 0.01 * n
        life.report(T0 + n * HOUR_MS, "bob" if n % 2 else "eve", f"turn {n}", responded, time_ms, None, sentiment)
    life.write()
    clock = T0 + 40 * HOUR_MS
    found = await _get(client, "t/agents/a/trends", as_of=iso(from_ms(clock)))
    assert list(found["signals"]) == [
        "responded", "response_time_ms", "response_length", "sentiment_shift", "reaction_count", "continued",
        "outcome_success",
    ]  # fmt: skip
    speed = found["signals"]["response_time_ms"]
    expected = summary(life.trends[b"trends"], "response_time_ms", clock)
    assert (speed["direction"], speed["observations"], speed["sign"]) == ("improving", 30, -1)
    for name in ("slope_per_hour", "p", "decayed_count", "decayed_mean", "volatility", "acceleration", "delta"):
        assert speed[name] == pytest.approx(getattr(expected, name))
    assert found["signals"]["responded"]["rate"] == pytest.approx(22 / 30)
    nothing = found["signals"]["response_length"]
    assert (nothing["direction"], nothing["observations"], nothing["sign"], nothing["p"]) == (
        "insufficient",
        0,
        0,
        None,
    )
    pair = await _get(client, "t/agents/a/trends", **{"with": "bob", "signal": "sentiment_shift"})
    assert (list(pair["signals"]), pair["other_agent_id"]) == (["sentiment_shift"], "bob")
    assert pair["signals"]["sentiment_shift"]["observations"] == 15
    stranger = await _get(client, "t/agents/a/trends", **{"with": "nobody"})
    assert {each["observations"] for each in stranger["signals"].values()} == {0}
    assert "outcome_success" not in stranger["signals"]
    told = sum(each["p"] is not None for each in found["signals"].values())
    rule = {"false_direction": 0.05, "false_step": 0.001, "looks": told, "expected_false": pytest.approx(0.05 * told)}
    assert found["rule"] == rule
    assert told == 3


async def test_trends_as_of_a_time_do_not_see_what_came_later(stored: Stored, client: httpx.AsyncClient) -> None:
    life, early = Life(stored, "t", "a"), Life(stored, "t", "other")
    for n in range(30):
        for each in (life, early) if n < 15 else (life,):
            each.report(T0 + n * HOUR_MS, "bob", f"turn {n}", float(n % 2), 5.0 + n)
    life.write()
    early.write()
    clock = iso(from_ms(T0 + 14 * HOUR_MS))
    answers = [await _get(client, f"t/agents/{name}/trends", as_of=clock) for name in ("a", "other")]
    assert answers[0]["signals"] == answers[1]["signals"]
    assert answers[0]["signals"]["responded"]["observations"] == 15
    before = await _get(client, "t/agents/a/trends", as_of=iso(from_ms(T0 - 1)))
    assert before["signals"]["responded"]["newest"] is None
    assert TrendRow.unpack(life.trends[b"trends"].pack()).turns == life.trends[b"trends"].turns


async def test_pairs_have_no_outcomes(client: httpx.AsyncClient) -> None:
    answer = await client.get("t/agents/a/trends", params={"with": "bob", "signal": "outcome_success"})
    assert (answer.status_code, answer.json()["field"]) == (422, "signal")
