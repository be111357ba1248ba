"""`agents?order=trend`: who comes first, in the words of the single answer, and how sure that is."""

from typing import Any

import httpx
import numpy as np
import pytest

from moodstream.query.app import create_app
from moodstream.query.settings import QuerySettings
from moodstream.schemas.instants import from_ms, iso
from moodstream.state import reader as module
from moodstream.state.reader import StateReader
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_700_000_000_000
CLOCK = iso(from_ms(T0 + 60 * HOUR_MS))
RANKED = {"order": "trend", "signal": "sentiment_shift", "as_of": CLOCK}


async def _get(client: httpx.AsyncClient, path: str = "t/agents", **params: Any) -> dict[str, Any]:
    answer = await client.get(path, params={**RANKED, **params} if path == "t/agents" else params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _agent(stored: Stored, name: str, slope: float, count: int = 30, sign: int | None = None) -> None:
    life, rng = Life(stored, "t", name), np.random.default_rng(len(name) + count)
    if sign is not None:
        life.change(T0, trend_signs={"sentiment_shift": sign})
    for n in range(count):
        life.report(T0 + n * HOUR_MS, "bob", f"turn {n}", float(n % 2), None, None, slope * n + rng.normal(0, 0.1))
    life.event("e", T0)
    life.write()


@pytest.fixture
def five(stored: Stored) -> Stored:
    _agent(stored, "up", 0.02)
    _agent(stored, "up fast", 0.05)
    _agent(stored, "down/ä", -0.05)
    _agent(stored, "turned", 0.05, sign=-1)
    _agent(stored, "flat", 0.0)
    _agent(stored, "indifferent", 0.05, sign=0)
    _agent(stored, "young", 0.05, count=9)
    Life(stored, "t", "silent", offset=1).write()
    Life(stored, "u", "foreign", offset=1).write()
    return stored


async def test_agents_come_by_strength(five: Stored, client: httpx.AsyncClient) -> None:
    found = await _get(client)
    names = [each["agent_id"] for each in found["agents"]]
    strengths = [each["trend"]["strength"] for each in found["agents"]]
    assert set(names[:2]) == {"up", "up fast"}
    assert set(names[4:6]) | {names[3]} >= {"down/ä", "turned"}
    assert names[6:] == ["silent", "young"]
    assert strengths[:6] == sorted(strengths[:6], reverse=True)
    assert strengths[6:] == [None, None]
    directions = {each["agent_id"]: each["trend"]["direction"] for each in found["agents"]}
    assert directions == {
        "up": "improving", "up fast": "improving", "down/ä": "declining", "turned": "declining", "flat": "stable",
        "indifferent": "stable", "young": "insufficient", "silent": "insufficient",
    }  # fmt: skip
    assert found["next"] is None
    rule = {"false_direction": 0.05, "false_step": 0.001, "looks": 6, "expected_false": 0.3}
    assert found["ranking"] == {
        "signal": "sentiment_shift", "first": "improving", "as_of": CLOCK, "agents": 8, "read": 8, "rule": rule,
    }  # fmt: skip
    turned = await _get(client, first="declining")
    others = [each["agent_id"] for each in turned["agents"]]
    assert set(others[:2]) == {"down/ä", "turned"}
    assert others[6:] == ["silent", "young"]
    two = await _get(client, limit=2)
    assert two["agents"] == found["agents"][:2]


async def test_each_line_says_what_the_single_answer_says(five: Stored, client: httpx.AsyncClient) -> None:
    clock = iso(from_ms(T0 + 14 * HOUR_MS))
    for as_of in (CLOCK, clock, iso(from_ms(T0 - 1)), iso(from_ms(T0 + 10_000 * HOUR_MS))):
        for line in (await _get(client, as_of=as_of))["agents"]:
            name, trend = line["agent_id"], line["trend"]
            path = f"t/agents/{name.replace('/', '%2F').replace(' ', '%20')}/trends"
            single = (await _get(client, path, signal="sentiment_shift", as_of=as_of))["signals"]["sentiment_shift"]
            for member in ("direction", "observations", "change_at", "newest", "stale"):
                assert trend[member] == single[member], (name, member)
            for member in ("p", "slope_per_hour"):
                expected = single[member]
                assert trend[member] == (None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-12))
            assert (trend["q"] is None) == (single["p"] is None)


async def test_no_more_are_read_than_allowed(five: Stored, reader: StateReader) -> None:
    app = create_app(QuerySettings(ranked_agents=3), reader)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service/v1/tenants/") as client:
        found = await _get(client)
    assert (found["ranking"]["agents"], found["ranking"]["read"], len(found["agents"])) == (8, 3, 3)


async def test_pages_leave_no_trace(five: Stored, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = await _get(client)
    monkeypatch.setattr(module, "_PAGE_AGENTS", 2)
    assert await _get(client) == whole


async def test_a_tenant_without_agents_is_ranked_too(stored: Stored, client: httpx.AsyncClient) -> None:
    found = await _get(client)
    assert (found["agents"], found["ranking"]["agents"], found["ranking"]["rule"]["looks"]) == ([], 0, 0)


async def test_a_restoring_partition_is_not_left_out(five: Stored, client: httpx.AsyncClient) -> None:
    five.meta(2, state="restoring")
    answer = await client.get("t/agents", params=RANKED)
    assert (answer.status_code, answer.json()["code"]) == (503, "restoring")


@pytest.mark.parametrize(
    ("params", "field", "rule"),
    [
        ({"order": "trend"}, "signal", "missing"),
        ({"order": "trend", "signal": "speed"}, "signal", "choice"),
        ({"order": "mood"}, "order", "choice"),
        ({"order": "trend", "signal": "responded", "after": "a"}, "after", "conflict"),
        ({"order": "trend", "signal": "responded", "first": "best"}, "first", "choice"),
        ({"order": "trend", "signal": "responded", "limit": 501}, "limit", "range"),
        ({"signal": "responded"}, "signal", "conflict"),
        ({"first": "declining"}, "first", "conflict"),
        ({"as_of": CLOCK}, "as_of", "conflict"),
    ],
)
async def test_what_does_not_go_together_is_named(
    client: httpx.AsyncClient, params: dict[str, Any], field: str, rule: str
) -> None:
    answer = await client.get("t/agents", params=params)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], error["rule"]) == (field, rule)
