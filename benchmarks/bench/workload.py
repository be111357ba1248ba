"""The workloads: logs of events of many agents, the same for everybody who is measured."""

from __future__ import annotations

import json
import random
import time
from asyncio import Future
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aiokafka import AIOKafkaProducer

from moodstream.schemas.identity import agent_key, partition_of

TENANT = "bench"
OTHERS = 20
"""How many others each agent talks to."""

_BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_GAP = timedelta(seconds=2)
_TENTH = timedelta(milliseconds=100)
_BATCH_BYTES = 500_000
_FLIGHT_BATCHES = 32
_ENDINGS = 1 << 14


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


@dataclass(frozen=True)
class Engagements:
    """Engagement reports only, all signals known, 100 ms apart: what the peers of the worker can fold as well.

    The signals are drawn from some thousands of combinations that are made before, for a log has millions of events.
    """

    events: int
    agents: int = 1_000
    seed: int = 7

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Give key and value of each event, in order of time."""
        rng = random.Random(self.seed)  # noqa: S311 - a workload has to be the same each time
        draw, agents = rng.random, self.agents
        names = [_agent(number) for number in range(agents)]
        keys = [agent_key(TENANT, name) for name in names]
        endings = [_ending(rng) for _ in range(_ENDINGS)]
        for number, moment in zip(range(self.events), _moments(), strict=False):
            agent, ending = int(draw() * agents), endings[int(draw() * _ENDINGS)]
            text = (
                f'{{"tenant_id":"{TENANT}","agent_id":"{names[agent]}","event_id":"event-{number:09}",'
                f'"occurred_at":"{moment}","turn_id":"turn-{number:09}",{ending}'
            )
            yield keys[agent], text.encode()


def _moments() -> Iterator[str]:
    """Times 100 ms apart; a whole second is put into words once."""
    second = _BEGIN
    while True:
        text = second.strftime("%Y-%m-%dT%H:%M:%S")
        for tenth in range(10):
            yield f"{text}.{tenth}00Z"
        second += 10 * _TENTH


def _ending(rng: random.Random) -> str:
    """The fields of an event that are not its own, up to the closing brace."""
    fields = {
        "type": "engagement",
        "description": "how an answer landed",
        "other_agent_id": f"peer-{rng.randrange(OTHERS):03}",
        "responded": rng.random() < 0.8,
        "response_time_ms": round(rng.uniform(200, 5_000), 1),
        "response_length": rng.randrange(10, 400),
        "sentiment_shift": round(rng.uniform(-0.2, 0.2), 3),
        "reaction_count": rng.randrange(4),
        "continued": rng.random() < 0.7,
    }
    return json.dumps(fields, separators=(",", ":"))[1:]


async def publish(records: Iterable[tuple[bytes, bytes]], bootstrap: str, topic: str) -> None:
    """Send records (key, value), partitioned by key as every client does it.

    Whole batches are handed over: one call a record would take most of the time.
    """
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=_BATCH_BYTES)
    async with producer:
        sending = _Sending(producer, topic, len(await producer.partitions_for(topic)))
        places: dict[bytes, int] = {}
        for key, value in records:
            place = places.get(key)
            if place is None:
                place = places[key] = partition_of(key, sending.partitions)
            if not sending.took(place, key, value):
                await sending.hand_over(place)
                sending.took(place, key, value)
        for place in range(sending.partitions):
            await sending.hand_over(place)
        await sending.confirmed(0)


class _Sending:
    """An open batch for each partition, and those that wait for the broker's answer."""

    def __init__(self, producer: AIOKafkaProducer, topic: str, partitions: int) -> None:
        self._producer = producer
        self._topic = topic
        self.partitions = partitions
        self._open = [producer.create_batch() for _ in range(partitions)]
        self._now_ms = int(time.time() * 1000)
        self._flying: list[Future] = []

    def took(self, partition: int, key: bytes, value: bytes) -> bool:
        """Whether the open batch had room for the record."""
        return self._open[partition].append(key=key, value=value, timestamp=self._now_ms) is not None

    async def hand_over(self, partition: int) -> None:
        """Send the open batch of a partition and begin another one."""
        full, self._open[partition] = self._open[partition], self._producer.create_batch()
        if full.record_count():
            self._flying.append(await self._producer.send_batch(full, self._topic, partition=partition))
        await self.confirmed(_FLIGHT_BATCHES)
        self._now_ms = int(time.time() * 1000)

    async def confirmed(self, most: int) -> None:
        """Wait for the oldest until no more than `most` are on their way."""
        while len(self._flying) > most:
            await self._flying.pop(0)


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
