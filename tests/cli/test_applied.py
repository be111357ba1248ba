"""Commands that wait for the workers: for every event, not for ever, and for a write whose offset is not known."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from moodstream.cli import applied
from moodstream.cli.applied import wait_applied
from moodstream.streams.event_log import EventLog
from moodstream.streams.report import Receipt
from moodstream.streams.settings import StreamSettings


class FakeReader:
    """How far the workers are: for each partition one position a look, the last one for ever."""

    def __init__(self, sources: dict[int, list[int]]) -> None:
        self.sources = sources

    async def partition_meta(self, partition: int) -> SimpleNamespace | None:
        left = self.sources[partition]
        source = left.pop(0) if len(left) > 1 else left[0]
        return SimpleNamespace(source=source) if source else None


async def waited(sources: dict[int, list[int]], sent: list[tuple[int, int]], seconds: float) -> tuple[int, list[int]]:
    shown: list[int] = []
    receipts = [Receipt("id", partition, offset) for partition, offset in sent]
    reader = FakeReader(sources)
    done = await wait_applied(StreamSettings(), reader, receipts, seconds, shown.append)  # type: ignore[arg-type]
    return done, shown


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applied, "_POLL_SECONDS", 0)


async def test_it_waits_for_the_workers() -> None:
    hour = timedelta(hours=1).total_seconds()
    done, shown = await waited({0: [5, 6, 7], 1: [0, 0, 0, 9]}, [(0, 5), (0, 6), (1, 8)], hour)
    assert (done, shown[0], shown[-1]) == (3, 0, 3)


async def test_it_does_not_wait_for_ever() -> None:
    assert await waited({0: [6]}, [(0, 5), (0, 6)], 0.0) == (1, [1])


async def test_a_write_that_was_repeated_counts_when_the_workers_are_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broker does not say where the first write is (offset -1), only that it has it."""

    async def end(log: EventLog, partition: int) -> int:
        return {0: 10}[partition]

    monkeypatch.setattr(EventLog, "end", end)
    assert await waited({0: [9]}, [(0, -1)], 0.0) == (0, [0])
    assert await waited({0: [9, 10]}, [(0, -1)], 60.0) == (1, [0, 1])
