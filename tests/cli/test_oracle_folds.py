"""The folds of the worker and the oracle are two readings of docs/rows.md: they must agree to the byte."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moodstream.affect.params import STANDARD
from moodstream.agents.agent_rows import SMALL_ROWS, AgentRows
from moodstream.agents.decode import others_of
from moodstream.agents.fold import Entry, fold_events
from moodstream.cli.oracle import OracleAgent
from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key
from moodstream.state.rows import Kind, content_of, pair_suffix, split_row_key, unpack_row
from support import logs

KEY = agent_key(logs.TENANT, logs.AGENT)


class Worker:
    """The folds as a worker runs them: in chunks, with the rows packed and read again in between."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.counts = [0, 0, 0]

    def chunk(self, entries: list[Entry]) -> None:
        """Load, fold, store."""
        pairs = [pair_suffix(other) for other in others_of(entries)]
        small = {split_row_key(key)[1]: row for key, row in self.rows.items()}
        agent = AgentRows.load(KEY, {suffix: small.get(suffix) for suffix in (*SMALL_ROWS, *pairs)}, STANDARD)
        changes = fold_events(agent, entries, self._known())
        self.rows |= changes.rows | agent.pack_touched()
        for at, count in enumerate((changes.accepted, changes.duplicate, changes.conflict)):
            self.counts[at] += count

    def _known(self) -> dict[bytes, bytes]:
        rows = [(key, unpack_row(row)) for key, row in self.rows.items()]
        return {key[-12:]: content_of(row.body) for key, row in rows if row.kind is Kind.MEMORY}


def by_worker(log: list[InputEvent], cuts: set[int]) -> Worker:
    """Fold a log whose chunks end before the given places; offsets are 3, 6, 9, ..."""
    worker, chunk = Worker(), []
    for place, event in enumerate(log):
        if place in cuts and chunk:
            worker.chunk(chunk)
            chunk = []
        chunk.append(Entry.of(3 * place + 3, event))
    worker.chunk(chunk)
    return worker


def by_oracle(log: list[InputEvent]) -> tuple[dict[bytes, bytes], list[int]]:
    """Fold the same log with the oracle: rows, and how many were accepted, known, known but different."""
    oracle = OracleAgent(logs.TENANT, logs.AGENT)
    verdicts = [oracle.apply(3 * place + 3, event) for place, event in enumerate(log)]
    conflicts = verdicts.count("conflict")
    return oracle.rows(), [verdicts.count("accepted"), verdicts.count("duplicate") + conflicts, conflicts]


@given(st.lists(logs.events, min_size=1, max_size=60), st.sets(st.integers(1, 59), max_size=8))
@settings(max_examples=150, deadline=None)
def test_rows_are_equal_to_the_byte(log: list[InputEvent], cuts: set[int]) -> None:
    worker = by_worker(log, cuts)
    rows, counts = by_oracle(log)
    assert worker.rows == rows
    assert worker.counts == counts


@given(logs.busy_hours)
@settings(max_examples=20, deadline=None)
def test_rows_over_the_limits_are_equal(log: list[InputEvent]) -> None:
    worker = by_worker(log, set(range(0, len(log), 25)))
    assert worker.rows == by_oracle(log)[0]
