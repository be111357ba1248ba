"""The service around its answers: problems, readiness, exposure, the document."""

import json
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest

from moodstream.query.app import create_app
from moodstream.query.settings import QuerySettings, is_loopback
from moodstream.schemas.errors import InvalidSettings
from moodstream.state.layout import format_key
from moodstream.state.reader import StateReader
from moodstream.state.settings import StateSettings
from moodstream.state.workers import workers_key
from support.stored import Stored

ROOT = "http://service"


def _problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["type"] == f"urn:moodstream:error:{found['code']}"
    assert all(found[name] for name in ("title", "detail", "hint"))
    return found


@pytest.mark.parametrize(
    ("path", "field", "rule"),
    [
        ("t/agents?limit=0", "limit", "range"),
        ("t/agents?limit=501", "limit", "range"),
        ("t/agents?limit=many", "limit", "type"),
        ("t/agents?page=2", "page", "unknown_field"),
        ("t/agents?after=%00", "after", "control_character"),
        ("t/agents/a/mood?at=yesterday", "at", "instant"),
        ("t/agents/a/mood?at=2026-01-01T00:00:00", "at", "timezone"),
        ("t/agents/a/mood?at=1700000000", "at", "instant"),
        ("t/agents/a/mood?at=1969-12-31T23:59:59Z", "at", "range"),
        ("t/agents/a/mood?att=2026-01-01T00:00:00Z", "att", "unknown_field"),
        ("t/agents/a/trends?signal=sadness", "signal", "choice"),
        ("t/agents/a/trends?with=", "with", "not_blank"),
        ("t/agents/a/memories?domain=dreams", "domain.0", "choice"),
        ("t/agents/a/memories?since=now", "since", "instant"),
    ],
)
async def test_bad_parameters_name_field_and_rule(client: httpx.AsyncClient, path: str, field: str, rule: str) -> None:
    found = _problem(await client.get(path), 422)
    assert found["code"] == "invalid_query"
    assert [(each["field"], each["rule"]) for each in found["errors"]] == [(field, rule)]


@pytest.mark.parametrize(
    ("path", "field", "rule"),
    [
        ("t/agents/%ff/mood", "agent", "unicode"),
        ("t%0A/agents", "tenant", "control_character"),
        (f"t/agents/{'x' * 257}/mood", "agent", "too_long"),
        (f"t/agents/a/memories/{'x' * 257}", "memory_id", "too_long"),
        ("t/agents/a/memories?after=tomorrow", "after", "mark"),
        ("t/agents/a/memories?after=-5.x", "after", "mark"),
        ("t/agents/a/memories?after=99999999999999999999.x", "after", "mark"),
    ],
)
async def test_bad_ids_and_marks_are_refused(client: httpx.AsyncClient, path: str, field: str, rule: str) -> None:
    found = _problem(await client.get(path), 422)
    assert (found["field"], found["rule"]) == (field, rule)


async def test_unknown_paths_and_methods_are_problems_too(client: httpx.AsyncClient) -> None:
    assert _problem(await client.get("t/agents/"), 404)["code"] == "not_found"
    assert _problem(await client.get(f"{ROOT}/docs"), 404)["code"] == "not_found"
    refused = await client.delete("t/agents")
    assert _problem(refused, 405)["code"] == "method_not_allowed"
    assert refused.headers["allow"] == "GET"


async def test_a_bug_of_ours_tells_nothing(
    stored: Stored, reader: StateReader, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("the secret of u")

    monkeypatch.setattr(reader, "agents", broken)
    answer = await client.get("t/agents")
    assert _problem(answer, 500)["code"] == "internal_error"
    assert "secret" not in answer.text


async def test_without_redis_the_address_is_named(free_url: str) -> None:
    reader = StateReader(StateSettings(url=free_url.replace("//", "//u:secret@")))
    app = create_app(QuerySettings(), reader)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ROOT) as client:
        answer = await client.get("/v1/tenants/t/agents/a/mood")
        found = _problem(answer, 503)
        ready = await client.get("/readyz")
        live = await client.get("/livez")
    await reader.close()
    assert (found["code"], found["address"], answer.headers["retry-after"]) == ("store_unavailable", free_url, "1")
    assert "secret" not in answer.text + ready.text
    assert (ready.status_code, ready.json()["ready"], live.status_code) == (503, False, 200)
    assert free_url in ready.json()["checks"][0]["reason"]


@pytest.fixture
def free_url() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{taken.getsockname()[1]}/0"


async def _ready(client: httpx.AsyncClient) -> tuple[int, dict[str, Any]]:
    answer = await client.get(f"{ROOT}/readyz")
    checks = {each["name"]: each for each in answer.json()["checks"]}
    assert answer.json()["ready"] == (answer.status_code == 200) == all(each["ok"] for each in checks.values())
    return answer.status_code, checks


async def test_ready_when_every_partition_is(stored: Stored, client: httpx.AsyncClient) -> None:
    stored.meta(1, source=90, source_end=95)
    status, checks = await _ready(client)
    assert (status, list(checks)) == (200, ["redis", "state", *[f"partition {n}" for n in range(4)], "workers"])
    assert (checks["partition 1"]["lag"], checks["partition 0"]["lag"]) == (5, None)


async def test_not_ready_says_why(stored: Stored, client: httpx.AsyncClient) -> None:
    stored.meta(1, state="restoring")
    stored.redis.delete(stored.layout(3).meta)
    status, checks = await _ready(client)
    assert status == 503
    assert {name for name, each in checks.items() if not each["ok"]} == {"partition 1", "partition 3"}
    assert "restored" in checks["partition 1"]["reason"]
    stored.redis.hset(format_key(stored.prefix), "format", 2)
    status, checks = await _ready(client)
    assert (status, list(checks)) == (503, ["redis", "state"])
    stored.redis.delete(format_key(stored.prefix))
    status, checks = await _ready(client)
    assert (status, checks["state"]["ok"]) == (503, False)
    assert "start a worker" in checks["state"]["reason"]


@pytest.mark.parametrize(
    ("age", "waiting", "status", "reason"),
    [
        (0, None, 200, "1 at work"),
        (0, "the broker is away", 503, "w waits: the broker is away"),
        (60, None, 503, "no worker has spoken for 60 s"),
        (7_200, None, 200, "none has reported here"),
    ],
)
async def test_workers_that_wait_or_are_gone_are_told(
    stored: Stored, client: httpx.AsyncClient, age: int, waiting: str | None, status: int, reason: str
) -> None:
    report = {"at": time.time() - age, "waiting": waiting, "phases": {}}
    stored.redis.hset(workers_key(stored.prefix), "w", json.dumps(report))
    found, checks = await _ready(client)
    assert found == status
    assert checks["workers"]["reason"].startswith(reason)


async def test_a_worker_that_restores_says_how_far_it_is(stored: Stored, client: httpx.AsyncClient) -> None:
    stored.meta(1, state="restoring")
    facts = {"rows": 1_234_567, "rows_per_s": 61_000, "percent": 43.21, "seconds_left": 26.6}
    report = {"at": time.time(), "waiting": None, "phases": {"0": "ready", "1": "restoring", "2": "claiming"}}
    for name, age in (("w", 0), ("gone", 60)):
        said = {**report, "at": time.time() - age, "progress": {"1": facts}}
        stored.redis.hset(workers_key(stored.prefix), name, json.dumps(said))
    status, checks = await _ready(client)
    assert status == 503
    assert checks["partition 1"]["reason"].endswith(
        "now at 7; w: restoring 43.2 %, 1,234,567 rows, 61,000 rows/s, 27 s left"
    )
    assert checks["partition 2"]["reason"].endswith("; w: claiming"), "its rows are whole: it is ready all the same"
    assert checks["partition 2"]["ok"]
    assert "w:" not in checks["partition 0"]["reason"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_leave(host: str) -> None:
    assert is_loopback(host)
    QuerySettings(host=host).check_exposure()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])  # noqa: S104
def test_everything_else_is_refused_at_start_unless_told(host: str, reader: StateReader) -> None:
    with pytest.raises(InvalidSettings) as caught:
        create_app(QuerySettings(host=host), reader)
    assert "token" in caught.value.detail
    assert "--insecure" in caught.value.hint
    create_app(QuerySettings(host=host, insecure=True), reader)


async def test_the_document_describes_all_paths_and_problems(client: httpx.AsyncClient) -> None:
    document = (await client.get(f"{ROOT}/openapi.json")).json()
    base = "/v1/tenants/{tenant}"
    assert set(document["paths"]) == {
        "/livez", "/readyz", f"{base}/agents", f"{base}/agents/{{agent}}/mood", f"{base}/agents/{{agent}}/trends",
        f"{base}/agents/{{agent}}/memories", f"{base}/agents/{{agent}}/memories/{{memory_id}}", f"{base}/recall",
    }  # fmt: skip
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["description"]
            if path.startswith(base):
                for status in ("404", "422", "503"):
                    assert "application/problem+json" in operation["responses"][status]["content"]
    text = json.dumps(document)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(document["components"]["schemas"])
    assert "HTTPValidationError" not in text


def test_the_service_knows_no_broker() -> None:
    code = "import sys, moodstream.query.app; print({'faust', 'mode', 'aiokafka'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
