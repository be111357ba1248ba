"""The changelog on a broker: what was appended is read, by position, and the log has a name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    LogRecord,
    Position,
    claim_mark,
    encode_position,
)
from moodstream.schemas.errors import StateLost
from moodstream.streams import topics
from moodstream.streams.changelog import KafkaChangelog, read_changelog, read_records
from moodstream.streams.sending import open_producer
from support.deployments import Deployment

Rows = Sequence[tuple[bytes, bytes | None]]


@pytest.fixture
async def changelog(deployment: Deployment) -> AsyncIterator[KafkaChangelog]:
    """The changelog of an empty deployment, with a producer of small batches."""
    settings = deployment.streams.model_copy(update={"max_batch_bytes": 2_000})
    await topics.create(settings)
    producer = await open_producer(settings)
    yield KafkaChangelog(settings, producer)
    await producer.stop()


def rows(count: int, size: int = 100) -> list[tuple[bytes, bytes | None]]:
    return [(b"k%d" % i, b"%d:" % i + b"x" * size) for i in range(count)]


async def read(changelog: KafkaChangelog, start: int, end: int, partition: int = 0) -> list[LogRecord]:
    return [record async for records in changelog.read(partition, start, end) for record in records]


def settings_of(changelog: KafkaChangelog) -> Any:
    return changelog._settings


async def test_what_is_appended_is_read_in_order_with_its_token(changelog: KafkaChangelog) -> None:
    wanted: Rows = [*rows(50), (b"gone", None)]
    spans = await changelog.append(0, b"token", wanted)
    assert len(spans) > 2
    assert spans[0].base == 0
    assert all(a.base + a.length == b.base for a, b in pairwise(spans))
    assert sum(span.length for span in spans) == len(wanted)
    found = await read(changelog, 0, len(wanted))
    assert found == [LogRecord(offset, key, value, b"token") for offset, (key, value) in enumerate(wanted)]


async def test_the_end_of_a_log_of_one_large_batch_is_found(deployment: Deployment) -> None:
    await topics.create(deployment.streams)
    producer = await open_producer(deployment.streams)
    try:
        changelog = KafkaChangelog(deployment.streams, producer)
        (span,) = await changelog.append(0, b"t", rows(1_000))
        assert span.length == 1_000
        found = [r.offset async for some in read_records(deployment.streams, changelog.topic, 0, 0) for r in some]
        assert found == list(range(1_000))
    finally:
        await producer.stop()


@pytest.mark.parametrize(("start", "end"), [(0, 10), (5, 10), (7, 8), (10, 50), (0, 500), (50, 60), (8, 8)])
async def test_a_part_is_read_by_position(changelog: KafkaChangelog, start: int, end: int) -> None:
    await changelog.append(0, b"t", rows(50))
    found = await read(changelog, start, end)
    assert [record.offset for record in found] == list(range(start, min(end, 50)))


async def test_partitions_are_logs_of_their_own(changelog: KafkaChangelog) -> None:
    await changelog.append(1, b"t", rows(3))
    await changelog.append(2, b"t", rows(5))
    assert [len(await read(changelog, 0, 100, partition)) for partition in range(3)] == [0, 3, 5]


async def test_a_log_has_the_name_of_its_first_record(changelog: KafkaChangelog) -> None:
    assert await changelog.incarnation(0) is None
    await changelog.append(0, b"t", [(INCARNATION_PREFIX + b"abc", b"1")])
    await changelog.append(0, b"t", [(INCARNATION_PREFIX + b"later", b"1"), *rows(2)])
    assert await changelog.incarnation(0) == b"abc"
    assert await changelog.incarnation(1) is None


async def test_a_log_that_begins_with_something_else_is_not_ours(changelog: KafkaChangelog) -> None:
    await changelog.append(0, b"t", rows(1))
    with pytest.raises(StateLost, match="does not begin with the name"):
        await changelog.incarnation(0)


async def test_a_restore_from_nothing_gives_what_counts(changelog: KafkaChangelog) -> None:
    mark, later = claim_mark(1, b"a"), claim_mark(6, b"b")
    position = encode_position(Position(source=1))
    await changelog.append(0, b"t", [(INCARNATION_PREFIX + b"x", b"1")])
    await changelog.append(0, b"a", [(OWNER_KEY, b"{}")])
    await changelog.append(0, mark, [(b"k1", b"1"), (b"k2", b"1"), (POSITION_KEY, position), (b"k1", b"loose")])
    await changelog.append(0, b"b", [(OWNER_KEY, b"{}")])
    await changelog.append(0, mark, [(b"k2", b"stale"), (POSITION_KEY, position)])
    await changelog.append(0, later, [(b"k1", b"1"), (b"k3", b"2"), (b"k2", None), (POSITION_KEY, position)])
    await changelog.append(0, later, [(b"k3", b"not yet")])
    assert await read_changelog(settings_of(changelog), 0) == {b"k1": b"1", b"k3": b"2"}
