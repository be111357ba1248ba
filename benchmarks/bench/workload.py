"""The workload: a log of engagement and outcome events of many agents, the same for everybody who is measured."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aiokafka import AIOKafkaProducer

from moodstream.schemas.identity import agent_key

TENANT = "bench"
OTHERS = 20
"""How many others each agent talks to."""

_BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_GAP = timedelta(seconds=2)
_FLIGHT = 5_000


@dataclass(frozen=True)
class Workload:
    """How much, of how many agents; four in five events are engagement reports with all six signals, one an outcome."""

    events: int = 200_000
    agents: int = 1_000
    seed: int = 7

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Give key and value of each event, in order of time."""
        rng = random.Random(self.seed)  # noqa: S311 - a workload has to be the same each time
        keys = [agent_key(TENANT, _agent(number)) for number in range(self.agents)]
        for number in range(self.events):
            agent = rng.randrange(self.agents)
            own = _engagement(rng, number) if rng.random() < 0.8 else _outcome(rng)
            yield keys[agent], json.dumps({**_common(agent, number), **own}).encode()


async def publish(records: Iterable[tuple[bytes, bytes]], bootstrap: str, topic: str) -> None:
    """Send records (key, value), partitioned by key as every client does it."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, max_batch_size=500_000)
    async with producer:
        sent = []
        for key, value in records:
            sent.append(await producer.send(topic, value, key=key))
            if len(sent) >= _FLIGHT:
                await _confirmed(sent)
        await _confirmed(sent)


async def _confirmed(sent: list) -> None:
    for future in sent:
        await future
    sent.clear()


def _agent(number: int) -> str:
    return f"agent-{number:06}"


def _common(agent: int, number: int) -> dict[str, object]:
    return {
        "tenant_id": TENANT,
        "agent_id": _agent(agent),
        "event_id": f"event-{number:09}",
        "occurred_at": (_BEGIN + number * _GAP).isoformat(),
    }


def _engagement(rng: random.Random, number: int) -> dict[str, object]:
    return {
        "type": "engagement",
        "description": "how an answer landed",
        "other_agent_id": f"peer-{rng.randrange(OTHERS):03}",
        "turn_id": f"turn-{number:09}",
        "responded": rng.random() < 0.8,
        "response_time_ms": int(rng.lognormvariate(10, 1.5)),
        "response_length": rng.randrange(1, 800),
        "sentiment_shift": round(rng.uniform(-1, 1), 3),
        "reaction_count": rng.randrange(6),
        "continued": rng.random() < 0.5,
    }


def _outcome(rng: random.Random) -> dict[str, object]:
    return {
        "type": "experience.outcome",
        "description": "a task has ended",
        "result": rng.choice(("success", "success", "failure")),
        "importance": round(rng.random(), 2),
        "capability": "search",
    }
