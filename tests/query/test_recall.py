from math import dist, exp, sqrt
from struct import pack
from typing import Any
from uuid import uuid4

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moodstream.affect.relevance import text_relevance
from moodstream.query.app import create_app
from moodstream.query.settings import QuerySettings
from moodstream.schemas.instants import from_ms, from_us, iso
from moodstream.state.reader import StateReader
from support.lives import HOUR_MS, Life
from support.stored import Stored

T0 = 1_700_000_000_000
DAY = 24 * HOUR_MS
AXES = ("pleasure", "arousal", "dominance")


async def _recall(client: httpx.AsyncClient, agents: list[str], **body: Any) -> dict[str, Any]:
    answer = await client.post("t/recall", json={"agents": agents, **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def _refused(client: httpx.AsyncClient, status: int = 422, **body: Any) -> dict[str, Any]:
    answer = await client.post("t/recall", json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    return found


def _ids(found: dict[str, Any]) -> list[str]:
    return [each["memory_id"] for each in found["results"]]


# -- the slow twin: one memory after the other, as contract §6 says it


def _slow_score(
    memory: dict[str, Any],
    as_of: int,
    mood: list[float] | None,
    *,
    influence: float,
    weights: dict[str, float],
    baseline: list[float] | None,
) -> float:
    recency = exp(-max((as_of - memory["us"]) / 3.6e9, 0) / 168)
    importance = 1.0 if memory["importance"] is None else memory["importance"]
    factor = 1.0
    pad = memory["pad"]
    if mood is not None and pad is not None and any(axis is not None for axis in pad):
        known = [axis or 0.0 for axis in pad]
        neutral = 0.5 if baseline is None else 1 - dist(known, baseline) / sqrt(12)
        factor = 1 + influence * ((1 - dist(known, mood) / sqrt(12)) - neutral)
    return recency * importance * weights.get(memory["domain"], 1.0) * factor


axis = st.none() | st.floats(-1, 1, width=32)
lived = st.fixed_dictionaries(
    {
        "us": st.integers(0, 60 * DAY * 1000),
        "importance": st.none() | st.floats(0, 1, width=16),
        "pad": st.none() | st.tuples(axis, axis, axis),
        "domain": st.sampled_from(["reflection", "relationship"]),
        "case_id": st.sampled_from([None, "c"]),
        "colour": st.sampled_from(["red", "blue"]),
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(
    lives=st.lists(st.lists(lived, max_size=12), min_size=1, max_size=3),
    mood=st.none() | st.tuples(*[st.floats(-1, 1, width=32)] * 3),
    centred=st.booleans(),
    influence=st.floats(0, 1, width=16),
    filters=st.fixed_dictionaries(
        {},
        optional={
            "domains": st.just(["reflection"]),
            "case_id": st.just("c"),
            "attributes": st.just({"colour": "red"}),
            "since": st.integers(0, 60 * DAY),
            "until": st.integers(0, 60 * DAY),
        },
    ),
    as_of=st.integers(0, 60 * DAY),
    k=st.integers(1, 8),
)
async def test_recall_equals_the_slow_twin(
    stored: Stored,
    client: httpx.AsyncClient,
    lives: list[list[dict[str, Any]]],
    mood: tuple[float, float, float] | None,
    centred: bool,
    influence: float,
    filters: dict[str, Any],
    as_of: int,
    k: int,
) -> None:
    run = str(uuid4())
    weights, baseline = {"reflection": 2.0}, [0.25, -0.5, 0.0]
    everything = []
    for number, memories in enumerate(lives):
        life = Life(stored, "t", f"{run}/{number}")
        life.change(0, influence=influence, domain_weights=weights, baseline=baseline)
        for place, each in enumerate(memories):
            memory = {**each, "id": f"{number}-{place}", "us": T0 * 1000 + each["us"]}
            everything.append(memory)
            life.event(
                memory["id"],
                memory["us"] // 1000,
                us=memory["us"],
                type=memory["domain"],
                importance=memory["importance"],
                pad=memory["pad"],
                case_id=memory["case_id"],
                attributes={"colour": memory["colour"], "shape": "round"},
            )
        life.write()
    clock = (T0 + as_of) * 1000
    since, until = ((T0 + filters[name]) * 1000 if name in filters else None for name in ("since", "until"))
    left = [
        each
        for each in everything
        if each["us"] <= clock
        and (since is None or each["us"] >= since)
        and (until is None or each["us"] < until)
        and each["domain"] in filters.get("domains", each["domain"])
        and ("case_id" not in filters or each["case_id"] == "c")
        and ("attributes" not in filters or each["colour"] == "red")
    ]
    scores = {
        each["id"]: _slow_score(
            each,
            clock,
            None if mood is None else list(mood),
            influence=influence,
            weights=weights,
            baseline=baseline if centred else None,
        )
        for each in left
    }
    body = {
        **filters,
        **{name: iso(from_us(us)) for name, us in (("since", since), ("until", until)) if us is not None},
        "as_of": iso(from_us(clock)),
        "as_agent": f"{run}/0",
        "mood": "none" if mood is None else dict(zip(AXES, mood, strict=True)),
        "centred": centred,
        "k": k,
    }
    found = await _recall(client, [f"{run}/{number}" for number in range(len(lives))], **body)
    assert found["candidates"] == len(left)
    assert len(found["results"]) == min(k, len(left))
    given_scores = [each["score"]["total"] for each in found["results"]]
    assert given_scores == pytest.approx(sorted(scores.values(), reverse=True)[:k], rel=1e-12)
    for each in found["results"]:
        assert each["score"]["total"] == pytest.approx(scores[each["memory_id"]], rel=1e-12)
        terms = [each["score"][name] for name in ("recency", "importance", "domain_weight", "mood_factor")]
        assert each["score"]["total"] == pytest.approx(terms[0] * terms[1] * terms[2] * terms[3], rel=1e-12)
    assert len(set(_ids(found))) == len(found["results"])


async def test_own_mood_is_that_of_the_clock_and_later_memories_are_not_seen(
    stored: Stored, client: httpx.AsyncClient
) -> None:
    life = Life(stored, "t", "a")
    life.event("sad thing", T0 - DAY, pad=(-0.8, 0.0, 0.0))
    life.event("glad thing", T0 - DAY, pad=(0.8, 0.0, 0.0))
    life.event("bad news", T0, (-0.75, 0.0, 0.0))
    life.event("good news", T0 + 2 * DAY, (0.75, 0.0, 0.0))
    life.event("later good news", T0 + 4 * DAY, (0.75, 0.0, 0.0))
    life.write()
    filters = {"until": iso(from_ms(T0)), "k": 2}
    low = await _recall(client, ["a"], as_of=iso(from_ms(T0)), **filters)
    high = await _recall(client, ["a"], as_of=iso(from_ms(T0 + 2 * DAY)), **filters)
    assert (_ids(low), low["mood"]["pleasure"]) == (["sad thing", "glad thing"], -0.75)
    assert _ids(high) == ["glad thing", "sad thing"]
    assert high["mood"]["pleasure"] == pytest.approx(0.75, abs=1e-4)
    seen = await _recall(client, ["a"], as_of=iso(from_ms(T0 + DAY)), k=100)
    assert "bad news" in _ids(seen)
    assert "good news" not in _ids(seen)


async def test_shifts_are_candidates_whether_in_the_row_or_out_of_it(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    for n in range(3):
        life.event(f"e{n}", T0 + n * 2 * HOUR_MS, (0.25, 0.0, 0.0), text=f"cause {n}", turn_id="t1")
    life.write()
    assert len(life.row.kept) == 1
    found = await _recall(client, ["a"], domains=["mood"], as_of=iso(from_ms(T0 + DAY)), order="chronological")
    assert _ids(found) == ["mood:e2", "mood:e1", "mood:e0"]
    x = [0.25, 0.25 * exp(-0.5) + 0.25, (0.25 * exp(-0.5) + 0.25) * exp(-0.5) + 0.25]
    assert [each["pad"]["pleasure"] for each in found["results"]] == pytest.approx(x[::-1])
    newest = found["results"][0]
    assert (newest["domain"], newest["text"], newest["type"]) == ("mood", "cause 2", "mood.state")
    assert newest["attributes"]["cause-event"] == "e2"
    assert newest["attributes"]["tau"] == "[4,4,4]"
    assert newest["attributes"]["turn-id"] == "t1"
    assert float(newest["attributes"]["pleasure"]) == newest["pad"]["pleasure"]
    by_attribute = await _recall(client, ["a"], attributes={"cause-event": "e1"}, as_of=iso(from_ms(T0 + DAY)), k=5)
    assert _ids(by_attribute) == ["mood:e1"]


async def test_times_bound_as_since_until_and_as_of_say(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    for n in range(5):
        life.event(f"e{n}", T0 // 1000, us=T0 * 1000 + n)
    life.write()
    inside = [iso(from_us(T0 * 1000 + n)) for n in range(5)]
    found = await _recall(client, ["a"], since=inside[1], until=inside[3], as_of=inside[4])
    assert sorted(_ids(found)) == ["e1", "e2"]
    found = await _recall(client, ["a"], since=inside[1], as_of=inside[3])
    assert sorted(_ids(found)) == ["e1", "e2", "e3"]


async def test_a_mood_signal_is_one_memory(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("s", T0, (0.25, 0.0, 0.0), type="mood.signal", text="a walk", attributes={"ms-kind": "direct_shift"})
    life.write()
    found = await _recall(client, ["a"], as_of=iso(from_ms(T0)))
    assert _ids(found) == ["mood:s"]
    assert found["results"][0]["attributes"]["ms-kind"] == "direct_shift"
    assert found["results"][0]["pad"] == {"pleasure": 0.25, "arousal": 0.0, "dominance": 0.0}


async def test_influence_zero_gives_the_order_without_mood(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.change(T0 - 2 * DAY, influence=0.0)
    for n in range(40):
        life.event(f"e{n}", T0 - n * HOUR_MS, pad=((-1) ** n * 0.9, 0.0, 0.0), importance=(n % 7) / 7)
    life.event("now", T0, (-0.75, 0.0, 0.0))
    life.write()
    clock = iso(from_ms(T0))
    own, none = [await _recall(client, ["a"], as_of=clock, mood=mood, k=50) for mood in ("own", "none")]
    assert own["mood"] is not None
    assert none["mood"] is None
    assert _ids(own) == _ids(none)


async def test_centred_at_rest_changes_nothing(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.change(T0, baseline=(0.5, 0.0, 0.0), influence=1.0)
    life.event("glad", T0, pad=(0.9, 0.0, 0.0))
    life.event("sad", T0, pad=(-0.9, 0.0, 0.0))
    life.write()
    found = await _recall(client, ["a"], as_of=iso(from_ms(T0)), centred=True)
    assert [each["score"]["mood_factor"] for each in found["results"]] == [1.0, 1.0]
    plain = await _recall(client, ["a"], as_of=iso(from_ms(T0)))
    assert [each["score"]["mood_factor"] for each in plain["results"]] != [1.0, 1.0]


async def test_orders_and_ties(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("old", T0 - DAY, importance=1.0, text="the deadline slipped", pad=(-0.9, 0.0, 0.0))
    life.event("b", T0, importance=0.25, text="lunch", pad=(0.9, 0.0, 0.0))
    life.event("a", T0, importance=0.25, text="lunch", pad=(0.9, 0.0, 0.0))
    life.write()
    body: dict[str, Any] = {"as_of": iso(from_ms(T0)), "question": "deadline?"}
    mood = {"pleasure": 0.9, "arousal": 0.0, "dominance": 0.0}
    by_time = await _recall(client, ["a"], order="chronological", mood=mood, **body)
    assert _ids(by_time) == ["a", "b", "old"]
    salient = await _recall(client, ["a"], order="salience", mood=mood, **body)
    assert _ids(salient) == ["old", "a", "b"]
    assert [(each["score"]["mood_factor"], each["score"]["relevance"]) for each in salient["results"]] == [
        (1, None)
    ] * 3
    assert salient["mood"] is None


async def test_question_is_scored_over_all_that_pass_the_filters(stored: Stored, client: httpx.AsyncClient) -> None:
    texts = ["the deadline slipped", "a new deadline", "lunch was late", "slipped on the ice"]
    life = Life(stored, "t", "a")
    for n, text in enumerate(texts):
        life.event(f"e{n}", T0, text=text)
    life.write()
    expected = dict(zip([f"e{n}" for n in range(4)], text_relevance("Deadline slipped", texts), strict=True))
    found = await _recall(client, ["a"], question="Deadline slipped", as_of=iso(from_ms(T0)))
    assert _ids(found)[0] == "e0"
    for each in found["results"]:
        assert each["score"]["relevance"] == pytest.approx(expected[each["memory_id"]])


async def test_embeddings_are_compared_by_angle_within_one_model(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("same", T0, embedding=("m", pack(">2f", 2.0, 0.0)), case_id="c")
    life.event("right angle", T0, embedding=("m", pack(">2f", 0.0, 3.0)), case_id="c")
    life.event("opposite", T0, embedding=("m", pack(">2f", -1.0, 0.0)), case_id="c")
    life.event("other model", T0, embedding=("n", pack(">2f", 1.0, 0.0)))
    life.write()
    clock = iso(from_ms(T0))
    body = {"embedding": {"model": "m", "values": [1.0, 0.0]}, "as_of": clock}
    found = await _recall(client, ["a"], case_id="c", **body)
    relevance = {each["memory_id"]: each["score"]["relevance"] for each in found["results"]}
    assert relevance == {"same": 1.0, "right angle": 0.5, "opposite": 0.0}
    assert (await _refused(client, agents=["a"], **body))["code"] == "invalid_query"
    longer = {"model": "m", "values": [1.0, 0.0, 0.0]}
    assert (await _refused(client, agents=["a"], case_id="c", embedding=longer))["code"] == "invalid_query"


async def test_broken_annotations_count_as_none(stored: Stored, client: httpx.AsyncClient) -> None:
    life = Life(stored, "t", "a")
    life.event("good", T0, pad=(0.5, None, None), importance=0.5)
    life.event("bad pad", T0, pad=(7.0, 0.0, float("nan")))
    life.event("bad importance", T0, importance=-3.0)
    life.write()
    found = await _recall(client, ["a"], as_of=iso(from_ms(T0)))
    assert found["broken"] == 2
    scores = {each["memory_id"]: each["score"] for each in found["results"]}
    assert scores["bad pad"]["mood_factor"] == 1.0
    assert scores["bad importance"]["importance"] == 1.0
    shown = {each["memory_id"]: each for each in found["results"]}
    assert (shown["bad pad"]["pad"], shown["bad importance"]["importance"]) == (None, None)
    assert shown["good"]["pad"] == {"pleasure": 0.5, "arousal": None, "dominance": None}


async def test_over_several_agents_somebody_must_be_named(stored: Stored, client: httpx.AsyncClient) -> None:
    for agent, weight in (("a", 1.0), ("b", 5.0)):
        life = Life(stored, "t", agent)
        life.change(T0, domain_weights={"reflection": weight})
        life.event(f"of {agent}", T0, type="reflection")
        life.write()
    clock = iso(from_ms(T0))
    problem = await _refused(client, agents=["a", "b"])
    assert problem["errors"] == [{"field": "as_agent", "rule": "missing", "detail": problem["errors"][0]["detail"]}]
    bare = await _recall(client, ["a", "b"], mood="none", as_of=clock)
    assert [each["score"]["domain_weight"] for each in bare["results"]] == [1.0, 1.0]
    as_b = await _recall(client, ["a"], as_agent="b", as_of=clock)
    assert [each["score"]["domain_weight"] for each in as_b["results"]] == [5.0]
    assert {each["agent_id"] for each in as_b["applied"]} == {"a", "b"}
    assert {each["agent_id"] for each in as_b["results"]} == {"a"}
    twice = await _recall(client, ["a", "a"], as_of=clock)
    assert twice["candidates"] == 1


async def test_tenants_never_meet(stored: Stored, client: httpx.AsyncClient) -> None:
    for tenant in ("t", "u"):
        life = Life(stored, tenant, "a")
        life.event("e", T0, (0.25 if tenant == "t" else -0.5, 0.0, 0.0), text=f"secret of {tenant}")
        life.write()
    only_u = Life(stored, "u", "b")
    only_u.event("e2", T0)
    only_u.write()
    found = await _recall(client, ["a"], as_of=iso(from_ms(T0)))
    assert {each["text"] for each in found["results"]} == {"secret of t"}
    foreign = await _refused(client, 404, agents=["a", "b"], as_agent="a")
    missing = await _refused(client, 404, agents=["a", "c"], as_agent="a")
    assert foreign == missing


@pytest.mark.parametrize(
    ("body", "field", "rule"),
    [
        ({}, "agents", "missing"),
        ({"agents": []}, "agents", "too_short"),
        ({"agents": [f"a{n}" for n in range(26)]}, "agents", "too_long"),
        ({"agents": ["a\n"]}, "agents.0", "control_character"),
        ({"agents": ["a"], "k": 0}, "k", "range"),
        ({"agents": ["a"], "k": "3"}, "k", "type"),
        ({"agents": ["a"], "kk": 3}, "kk", "unknown_field"),
        ({"agents": ["a"], "as_of": "2026-01-01"}, "as_of", "instant"),
        ({"agents": ["a"], "as_of": 1700000000}, "as_of", "type"),
        ({"agents": ["a"], "domains": ["dreams"]}, "domains.0", "choice"),
        ({"agents": ["a"], "order": "random"}, "order", "choice"),
        ({"agents": ["a"], "mood": {"pleasure": 2, "arousal": 0, "dominance": 0}}, "mood.pleasure", "range"),
        ({"agents": ["a"], "question": " "}, "question", "not_blank"),
        ({"agents": ["a"], "question": "q", "embedding": {"model": "m", "values": [1]}}, "embedding", "conflict"),
        ({"agents": ["a"], "attributes": {"k": 1}}, "attributes.k", "type"),
    ],
)
async def test_bad_bodies_name_field_and_rule(
    client: httpx.AsyncClient, body: dict[str, Any], field: str, rule: str
) -> None:
    problem = await _refused(client, **body)
    assert (problem["code"], problem["status"]) == ("invalid_query", 422)
    assert (field, rule) in [(each["field"], each["rule"]) for each in problem["errors"]]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"agents": ["\\ud800"]}', b'{"agents": [NaN]}']
)
async def test_bodies_that_are_no_query(client: httpx.AsyncClient, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = await client.post("t/recall", content=content, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_query")


async def test_a_body_that_is_not_declared_as_json_says_so(client: httpx.AsyncClient) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}  # what curl -d sends
    answer = await client.post("t/recall", content=b'{"agents": ["a"]}', headers=form)
    assert (answer.status_code, answer.json()["errors"][0]["rule"]) == (422, "content_type")
    assert "Content-Type: application/json" in answer.json()["detail"]


async def test_too_many_candidates_are_an_error_and_never_cut(stored: Stored, reader: StateReader) -> None:
    life = Life(stored, "t", "a")
    for n in range(5):
        life.event(f"e{n}", T0)
    life.write()
    app = create_app(QuerySettings(recall_candidates=4), reader)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://s/v1/tenants/") as client:
        problem = await _refused(client, agents=["a"])
        assert (problem["code"], problem["rule"]) == ("invalid_query", "too_many_candidates")
        found = await _recall(client, ["a"], until=iso(from_ms(T0)))
        assert found["candidates"] == 0
