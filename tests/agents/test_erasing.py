"""Erasures in the worker's fold: every row and count is the oracle's, whatever the chunks, restarts and neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.agents.pipeline import PartitionPipeline
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.events import InputEvent
from moodstream.state.rows import NOTICE, split_row_key
from support.chunks import Line, chunk_of, records_of
from support.events import with_erasures
from support.stepping import restored

T, A = "t", "a"
HOUR = 3_600_000


async def fold(line: Line, log: Sequence[InputEvent], cuts: Sequence[int], restarts: bool = True) -> None:
    """Fold a log in chunks that end at the cuts, each by a worker of its own, or all by one."""
    records = records_of(log)
    worker: PartitionPipeline | None = None
    for start, end in pairwise(sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})):
        if worker is None or restarts:
            worker = await line.worker()
        await worker.process(chunk_of(records[start:end]))


def pure(rows: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Rows without notices."""
    return {key: row for key, row in rows.items() if split_row_key(key)[1] != NOTICE}


def by_oracle(log: Sequence[InputEvent]) -> tuple[dict[bytes, bytes], Counter[str]]:
    """Rows and counts of all agents of a log."""
    agents: dict[str, OracleAgent] = {}
    counts: Counter[str] = Counter()
    for offset, event in enumerate(log):
        verdict = agents.setdefault(event.agent_id, OracleAgent(event.tenant_id, event.agent_id)).apply(offset, event)
        counts["duplicate" if verdict == "conflict" else verdict] += 1
    return {key: row for agent in agents.values() for key, row in agent.rows().items()}, counts


async def checked(log: Sequence[InputEvent], cuts: Sequence[int] = (), restarts: bool = True) -> Line:
    """Fold a log, compare everything with the oracle, and Redis with what the changelog alone restores."""
    line = Line()
    await fold(line, log, cuts, restarts)
    rows, counts = by_oracle(log)
    assert pure(line.store.rows) == rows
    assert {name: n for name, n in line.counts().items() if n} == dict(counts)
    assert restored(line.log.records)[0] == line.store.rows
    line.log.compact(line.log.end, line.log.end)
    assert restored(line.log.records)[0] == line.store.rows
    return line


@settings(max_examples=200, deadline=None)
@given(with_erasures(T, A), st.lists(st.integers(1, 40), max_size=4), st.booleans())
async def test_every_row_is_the_oracles_whatever_the_chunks(
    log: list[InputEvent], cuts: list[int], restarts: bool
) -> None:
    await checked(log, cuts, restarts)
