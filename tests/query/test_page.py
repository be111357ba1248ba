"""Every example of docs/query.md is asked and answered as the page says."""

import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from moodstream.schemas.identity import agent_key, partition_of
from moodstream.state.settings import StateSettings
from moodstream.state.workers import workers_key
from support.lives import HOUR_MS, Life
from support.stored import Stored

PAGE = Path(__file__).parents[2] / "docs" / "query.md"
EXAMPLE = re.compile(r"```http\n(GET|POST) (\S+)\n(?:\n(.*?)\n)?```\n\n```json\n(.*?)\n```", re.DOTALL)
DEFAULT = StateSettings().url
NINE = 1_767_776_400_000  # 2026-01-07T09:00:00Z


@pytest.fixture
async def story(stored: Stored, client: httpx.AsyncClient) -> httpx.AsyncClient:
    """A morning of one agent: what the page tells."""
    life = Life(stored, "acme", "support-1")
    for n in range(12):
        answered = NINE - (12 - n) * HOUR_MS
        life.report(answered, "customer-7", f"turn-{n}", 1.0, 11.0 - n / 4 + (n % 3) / 8, 4.0)
    life.event(
        "deploy-17",
        NINE,
        (-0.25, 0.15, -0.2),
        type="experience.outcome",
        text="the deploy failed before the deadline",
        importance=1.0,
        pad=(-0.6, 0.4, -0.3),
        attributes={"event-type": "outcome", "result": "failure"},
        case_id="release-4",
    )
    life.event(
        "lunch-3",
        NINE + 3 * HOUR_MS,
        type="experience.observation",
        text="lunch with the team",
        importance=0.4,
        pad=(0.5, 0.1, None),
        attributes={"event-type": "observation", "subject": "team"},
    )
    life.write()
    said = {"at": time.time(), "waiting": None, "phases": {}}
    stored.redis.hset(workers_key(stored.prefix), "worker-1", json.dumps(said))
    stored.meta(partition_of(agent_key("acme", "support-1"), 4), source=20)
    for number in range(4):
        if number != partition_of(agent_key("acme", "support-1"), 4):
            stored.meta(number, source=0)
    return client


def _like(value: Any, example: Any) -> Any:
    """The value, with numbers replaced by those of the example where they are the same to six digits."""
    if isinstance(value, dict) and isinstance(example, dict):
        return {name: _like(each, example.get(name)) for name, each in value.items()}
    if isinstance(value, list) and isinstance(example, list) and len(value) == len(example):
        return [_like(*pair) for pair in zip(value, example, strict=True)]
    if isinstance(value, float) and isinstance(example, int | float):
        return example if value == pytest.approx(example, rel=1e-5, abs=1e-9) else value
    return value


@pytest.mark.parametrize(
    ("method", "path", "body", "answer"), [found.groups() for found in EXAMPLE.finditer(PAGE.read_text())]
)
async def test_example(
    story: httpx.AsyncClient, stored: Stored, method: str, path: str, body: str | None, answer: str
) -> None:
    given = None if body is None else json.loads(body)
    text = (await story.request(method, f"http://service{path}", json=given)).text
    found = json.loads(text.replace(stored.url, DEFAULT))
    example = json.loads(answer)
    assert _like(found, example) == example


def test_no_example_is_overlooked() -> None:
    text = PAGE.read_text()
    assert len(EXAMPLE.findall(text)) == text.count("```http\n") >= 8
