"""From event to row, output and dead letter, on both platforms."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from moodstream.schemas.identity import agent_key, partition_of
from moodstream.state.layout import Layout
from moodstream.state.rows import MOOD
from support.events import T0_MS, life, lives, outcome
from support.running import Running

TENANT = "t"
HOUR = 3_600_000


async def test_what_was_fired_is_folded_and_audited(run: Running) -> None:
    events = lives(6)
    run.worker()
    await run.fire(events)
    counts = await run.read(len(events))
    assert counts == {"accepted": len(events), "duplicate": 0, "erased": 0, "dead": 0}
    code, found = await run.audit()
    assert (code, found["differences"], found["agents"], found["covered"]) == (0, 0, 6, 6)
    assert found["events"] == found["accepted"] == len(events)


async def test_a_second_publication_changes_nothing_and_is_counted(run: Running) -> None:
    events = lives(3)
    run.worker()
    await run.fire(events)
    await run.read(len(events))
    _, first = await run.audit()
    await run.fire(events)
    counts = await run.read(2 * len(events))
    assert (counts["accepted"], counts["duplicate"]) == (len(events), len(events))
    code, second = await run.audit()
    assert (code, second["digest"], second["differences"]) == (0, first["digest"], 0)


async def test_a_flipped_byte_is_found(run: Running) -> None:
    events = life("agent-0")
    run.worker()
    await run.fire(events)
    await run.read(len(events))
    key = agent_key(TENANT, "agent-0")
    place = Layout(run.deployment.prefix, partition_of(key, run.deployment.streams.partitions)).agent(key)
    row = bytearray(await run.redis.hget(place, MOOD))  # type: ignore[arg-type,misc]
    row[-1] ^= 1
    await run.redis.hset(place, MOOD, bytes(row))  # type: ignore[arg-type,misc]
    code, found = await run.audit()
    assert (code, found["differences"]) == (1, 1)


async def test_each_state_is_announced_and_repeats_are_recognisable(run: Running) -> None:
    events = life("agent-0", 12)
    run.worker()
    await run.fire(events)
    await run.read(len(events))
    topics = run.deployment.streams.topics
    moods = [json.loads(record.value) for record in await run.consume(topics.mood, 1)]
    newest = await _newest(run, moods)
    assert newest["event_id"] == f"{TENANT}/agent-0/mood/{newest['sequence']}"
    assert all(-1 <= axis <= 1 for axis in newest["mood"])
    for axis, value in enumerate(newest["mood"]):
        assert abs(newest["baseline"][axis] + newest["displacement"][axis] - value) < 1e-12
    assert all(a["sequence"] <= b["sequence"] for a, b in pairwise(moods))
    (told, *_) = await run.consume(topics.profiles, 1)
    assert (told.key, json.loads(told.value)["baseline"]) == (agent_key(TENANT, "agent-0"), [0.1, 0.0, -0.1])


async def _newest(run: Running, moods: list[dict[str, Any]]) -> dict[str, Any]:
    """The announcement of the last event that moved the mood; more may be on their way."""
    while moods[-1]["cause"] != "report on m11":
        found = await run.consume(run.deployment.streams.topics.mood, len(moods) + 1)
        moods[:] = [json.loads(record.value) for record in found]
    return moods[-1]


BAD: dict[str, tuple[bytes | None, str]] = {
    "no value": (None, "malformed_record"),
    "broken UTF-8": (b'{"type": "\xff"}', "malformed_record"),
    "no JSON": (b"{", "malformed_record"),
    "unknown type": (b'{"type": "nonsense"}', "unknown_type"),
    "NaN": (b"", "invalid_event"),
    "naive time": (b"", "invalid_event"),
    "blank": (b"", "invalid_event"),
    "reserved": (b"", "invalid_event"),
    "far future": (b"", "future_event"),
    "other key": (b"", "key_mismatch"),
    "too large": (b"", "event_too_large"),
}
CHANGED: dict[str, dict[str, Any]] = {
    "NaN": {"importance": "NAN"},
    "naive time": {"occurred_at": "2026-01-01T00:00:00"},
    "blank": {"description": "  "},
    "reserved": {"metadata": {"ms-x": "y"}},
    "far future": {"occurred_at": "9000-01-01T00:00:00Z"},
    "other key": {"agent_id": "somebody-else"},
    "too large": {"description": "x" * 70_000},
}


def bad_values() -> dict[str, tuple[bytes | None, str]]:
    """Values that must not be accepted, with the code of the reason."""
    good = {
        "type": "experience.outcome",
        "tenant_id": TENANT,
        "agent_id": "agent-0",
        "event_id": "x",
        "occurred_at": "2026-01-01T00:00:00Z",
        "description": "d",
        "result": "ok",
    }
    made = {name: json.dumps({**good, **change}).replace('"NAN"', "NaN").encode() for name, change in CHANGED.items()}
    return {name: (made.get(name, value), code) for name, (value, code) in BAD.items()}


async def test_what_cannot_be_accepted_becomes_a_dead_letter_and_the_partition_goes_on(run: Running) -> None:
    key = agent_key(TENANT, "agent-0")
    partition = partition_of(key, run.deployment.streams.partitions)
    topics = run.deployment.streams.topics
    bad = bad_values()
    await run.fire(life("agent-0", 2))
    sent = [await _send(run, topics.events, partition, key, value) for value, _ in bad.values()]
    sent.append(await _send(run, topics.events, (partition + 1) % 4, key, bad["blank"][0]))
    await run.fire([outcome(TENANT, "agent-0", "after", T0_MS + 10 * HOUR)])
    run.worker()
    counts = await run.read(6 + len(sent))
    assert (counts["accepted"], counts["dead"]) == (6, len(sent))
    letters = await run.consume(topics.dead, len(sent))
    found = {(letter.partition, _header(letter, "__streams.errors.offset")): letter for letter in letters}
    for (name, (value, code)), (place, offset) in zip(bad.items(), sent, strict=False):
        letter = found[place, b"%d" % offset]
        assert (letter.value, letter.key) == (value, key), name
        assert _header(letter, "x-moodstream-code") == code.encode(), name
        assert _header(letter, "__streams.errors.topic") == topics.events.encode()
        assert _header(letter, "trace") == b"kept"
    assert (await run.audit())[0] == 0


async def test_a_key_in_the_wrong_partition_is_dead(run: Running) -> None:
    event = outcome(TENANT, "agent-0", "x", T0_MS)
    key = agent_key(TENANT, "agent-0")
    wrong = (partition_of(key, run.deployment.streams.partitions) + 1) % 4
    await _send(run, run.deployment.streams.topics.events, wrong, key, event.model_dump_json().encode())
    run.worker()
    assert (await run.read(1))["dead"] == 1
    (letter,) = await run.consume(run.deployment.streams.topics.dead, 1)
    assert _header(letter, "x-moodstream-code") == b"partition_mismatch"


async def test_records_as_large_as_a_broker_takes_stop_nothing(run: Running) -> None:
    topics, place = run.deployment.streams.topics, 2
    sizes = [(950_000, 9, 9), (9, 950_000, 9), (9, 9, 95_000)]
    sent = [(b"k" * key, b"v" * value, [(f"h{i}", b"h" * header) for i in range(10)]) for key, value, header in sizes]
    for key, value, headers in [*sent, (None, None, [])]:
        await _send(run, topics.events, place, key, value, headers)
    run.worker()
    assert (await run.read(4))["dead"] == 4
    letters = await run.consume(topics.dead, 4)
    for (key, value, _), letter in zip(sent, letters, strict=False):
        assert key.startswith(letter.key)
        assert value.startswith(letter.value)
    codes = [_header(letter, "x-moodstream-code") for letter in letters]
    assert codes == [b"malformed_record", b"event_too_large", b"malformed_record", b"malformed_record"]
    assert (letters[-1].key, letters[-1].value) == (None, None)


def _header(record: Any, name: str) -> bytes | None:
    return dict(record.headers).get(name)


async def _send(
    run: Running,
    topic: str,
    partition: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes]] = (("trace", b"kept"),),
) -> tuple[int, int]:
    """Send raw bytes, as any client might."""
    from aiokafka import AIOKafkaProducer

    bootstrap = run.deployment.platform.bootstrap
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, max_request_size=2 << 20) as producer:
        batch = producer.create_batch()  # `send` refuses a record with neither key nor value
        batch.append(key=key, value=value, timestamp=None, headers=list(headers))
        told = await (await producer.send_batch(batch, topic, partition=partition))
    return told.partition, told.offset


async def test_two_workers_share_the_partitions(run: Running) -> None:
    events = lives(8)
    run.worker()
    await run.fire(events[:200])
    await run.read(200)
    run.worker()
    await asyncio.gather(run.fire(events[200:]), run.read(len(events)))
    code, found = await run.audit()
    assert (code, found["accepted"], found["duplicate"]) == (0, len(events), 0)
