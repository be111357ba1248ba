"""What is read when a round is over: the log, the outputs, the dead letters, all memories, and an audit."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import exp
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from drill.checks import NOTHING_TOLD, Place, Told, names_of
from drill.names import Names
from drill.reader import everything
from drill.story import AGENTS, END_MS, HOUR_MS
from drill.truth import Triple
from moodstream.cli.audit.sources import Record
from moodstream.schemas.identity import agent_key
from moodstream.schemas.instants import to_ms
from moodstream.streams.broker import connected
from moodstream.streams.settings import StreamSettings

_ERRORS = "__streams.errors."
_AUDITS, _PAUSE_SECONDS = 5, 1.0
_CANNOT = 2
"""Exit code of an audit that could not be made."""


@dataclass
class Evidence:
    """What was found at the end of a round."""

    log: dict[int, list[Record]] = field(default_factory=dict)
    announced: dict[bytes, Told] = field(default_factory=dict)
    """The mood with the greatest sequence that was announced, by agent."""
    letters: set[Place] = field(default_factory=set)
    """Where the records lie that have a dead letter."""
    memories: dict[bytes, Counter[str]] = field(default_factory=dict)
    """By agent, how often the query service lists which event."""
    audit: dict[str, Any] = field(default_factory=dict)
    """The last line of `moodstream audit --json`; `exit` is its code."""


async def gather(names: Names, redis: str, folder: Path) -> Evidence:
    """Read everything, the audit in a process beside."""
    auditing = asyncio.ensure_future(audit(names, redis, folder))
    try:
        streams = names.streams
        log, moods, letters = await read_topics(
            streams, streams.topics.events, streams.topics.mood, streams.topics.dead
        )
        listed = {agent_key(*agent): names_of(await everything(names.url, *agent)) for agent in AGENTS}
        return Evidence(log, announced(moods), places(letters), listed, await auditing)
    finally:
        auditing.cancel()


async def audit(names: Names, redis: str, folder: Path) -> dict[str, Any]:
    """Run `moodstream audit --json`; its output stays in the folder.

    Again where it cannot be made just now: on a busy machine a worker may lose its session, and restore a partition.
    """
    found: dict[str, Any] = {}
    for _ in range(_AUDITS):
        found = await _audit(names, redis, folder / "audit.txt")
        if found["exit"] != _CANNOT:
            break
        await asyncio.sleep(_PAUSE_SECONDS)
    return found


async def _audit(names: Names, redis: str, output: Path) -> dict[str, Any]:
    environment = names.environment | {"MOODSTREAM_STATE__URL": redis, "MOODSTREAM_STREAMS__BOOTSTRAP": names.bootstrap}
    with output.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "moodstream", "audit", "--json", "--show", "1000"),
            cwd=output.parent,
            env=environment,
            stdout=out,
            stderr=out,
        )
        code = await process.wait()
    return {**last_line(output), "exit": code}


def last_line(output: Path) -> dict[str, Any]:
    """The object at the end of what a command wrote; what it said instead where there is none."""
    lines = output.read_text(errors="replace").strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        return {"said": lines[-1:]}
    return found


Logs = dict[int, list[Record]]


async def read_topics(streams: StreamSettings, *topics: str) -> list[Logs]:
    """Read topics from their beginning to where they end now."""
    places = [TopicPartition(topic, partition) for topic in topics for partition in range(streams.partitions)]
    found: dict[str, Logs] = {topic: {partition: [] for partition in range(streams.partitions)} for topic in topics}
    consumer = AIOKafkaConsumer(
        bootstrap_servers=streams.servers, enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=50
    )
    await consumer.start()
    try:
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        await consumer.seek_to_beginning(*places)
        while not await _arrived(consumer, ends):
            for at, records in (await consumer.getmany(timeout_ms=200)).items():
                found[at.topic][at.partition] += [_record(one) for one in records if one.offset < ends[at]]
    finally:
        await consumer.stop()
    return list(found.values())


async def ends(streams: StreamSettings) -> dict[int, int]:
    """Where the partitions of the log end."""
    places = [TopicPartition(streams.topics.events, partition) for partition in range(streams.partitions)]
    consumer = AIOKafkaConsumer(bootstrap_servers=streams.servers)
    await consumer.start()
    try:
        return {at.partition: end for at, end in (await consumer.end_offsets(places)).items()}
    finally:
        await consumer.stop()


async def committed(streams: StreamSettings) -> dict[int, int]:
    """Up to where the workers have committed the log: outputs of all that lies before are acknowledged."""
    async with connected(streams) as admin:
        offsets = await admin.list_consumer_group_offsets(streams.app_id)
    return {at.partition: found.offset for at, found in offsets.items() if at.topic == streams.topics.events}


async def _arrived(consumer: Any, ends: dict[Any, int]) -> bool:  # noqa: ANN401 - aiokafka has no types
    for at, end in ends.items():
        if await consumer.position(at) < end:
            return False
    return True


def _record(one: Any) -> Record:  # noqa: ANN401 - as above
    return Record(one.offset, one.timestamp, one.key, one.value, tuple(one.headers))


def announced(moods: Logs) -> dict[bytes, Told]:
    """What a subscriber knows of each agent: the announcement with the greatest sequence, computed to `END_MS`."""
    found: dict[bytes, Told] = {}
    for record in _all(moods):
        key, said = record.key or b"", json.loads(record.value or b"{}")
        if said["sequence"] >= found.get(key, NOTHING_TOLD).sequence:
            found[key] = Told(said["sequence"], _then(said))
    return found


def _then(said: Mapping[str, Any]) -> Triple:
    """The displacement at `END_MS`, as docs/events.md tells subscribers to compute it."""
    hours = (END_MS - to_ms(datetime.fromisoformat(said["occurred_at"]))) / HOUR_MS
    x, y, z = (x * exp(-hours / tau) for x, tau in zip(said["displacement"], said["tau_hours"], strict=True))
    return x, y, z


def places(letters: Logs) -> set[Place]:
    """Where the records lay."""
    found = set()
    for record in _all(letters):
        headers = dict(record.headers)
        found.add((int(headers[f"{_ERRORS}partition"]), int(headers[f"{_ERRORS}offset"])))
    return found


def _all(logs: Logs) -> Iterable[Record]:
    return (record for records in logs.values() for record in records)


def records_of(log: Mapping[int, Sequence[Record]]) -> int:
    """How many records a log has."""
    return sum(len(records) for records in log.values())
