"""The states that restart and restore are measured on: valid rows, as a worker would have written them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.filling import POSITION, fill, fold
from bench.worker import Restored, restored
from bench.workload import Workload
from moodstream.schemas.changelog import Replay, Span, apply_commits
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.state.rows import BEFORE, kind_of, split_row_key, unpack_row
from support.fakes import Log

PARTITIONS = 3


class Logs:
    """Some partitions of a changelog in memory."""

    def __init__(self) -> None:
        self.logs = [Log() for _ in range(PARTITIONS)]

    async def append(self, partition: int, token: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> list[Span]:
        return [self.logs[partition].put(token, records)]

    def rows(self, partition: int) -> dict[bytes, bytes]:
        """What a restore would give."""
        replay, rows = Replay(), dict[bytes, bytes]()
        apply_commits(replay.feed(self.logs[partition].records), rows)
        assert replay.closed
        assert not replay.loose
        return rows


async def filled(agents: int, erased: int = 0) -> tuple[Logs, Any]:
    """Logs of so many agents."""
    template, logs = await fold(Workload(100, 10), chunk=40), Logs()
    assert (template.agents, len(template.chunks)) == (10, 3)
    return logs, await fill(logs, template, agents, PARTITIONS, erased=erased)  # type: ignore[arg-type]


async def test_each_name_has_the_rows_of_an_agent_in_its_own_partition() -> None:
    logs, done = await filled(25)
    named = set()
    for partition in range(PARTITIONS):
        for key, row in logs.rows(partition).items():
            agent, suffix = split_row_key(key)
            named.add(agent)
            found = unpack_row(row)
            assert partition_of(agent, PARTITIONS) == partition
            assert (found.kind, found.offset) == (kind_of(suffix), BEFORE)
    assert named == {agent_key("bench", f"agent-{number:07}") for number in range(25)}
    assert done.agents == 25
    assert done.rows == sum(log.end - 3 for log in logs.logs), "all but the name, the claim and the first position"


async def test_a_deleted_agent_has_no_rows_left() -> None:
    logs, _ = await filled(24, erased=4)
    left = {split_row_key(key)[0] for partition in range(PARTITIONS) for key in logs.rows(partition)}
    whole, _ = await filled(24)
    for partition in range(PARTITIONS):
        names = sorted({split_row_key(key)[0] for key in whole.rows(partition)})
        assert [name in left for name in names] == [number % 4 > 0 for number in range(len(names))]


async def test_chunks_are_closed_one_by_one() -> None:
    logs, _ = await filled(20)
    closed = [one for one in logs.logs[0].records if (one.key, one.value) == POSITION]
    assert len(closed) > 2


def test_a_restore_is_read_from_the_log_of_the_worker(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    lines = [
        {"event": "partition", "phase": "claiming", "timestamp": "2026-11-30T23:00:00Z"},
        {"event": "partition", "phase": "restoring", "timestamp": "2026-11-30T23:00:01.5Z"},
        {"event": "partition", "phase": "restoring", "timestamp": "2026-11-30T23:00:02Z"},
        {"event": "restored", "rows": 300, "timestamp": "2026-11-30T23:00:03Z"},
        {"event": "restored", "rows": 500, "timestamp": "2026-11-30T23:00:05.5Z"},
    ]
    log.write_text("a line of somebody else\n" + "\n".join(map(json.dumps, lines)))
    assert restored(log) == Restored(800, 4.0)
    assert restored(log).rows_per_s == 200
    log.write_text(json.dumps(lines[0]))
    with pytest.raises(ValueError, match="tells of no restore"):
        restored(log)
