"""Equal rows for equal sets of events: in any order inside the horizon, repeated, cut and restarted anywhere.

The cases are made by seed. A run takes some; `MOODSTREAM_TEST_CASES=10000 scripts/test tests/agents/test_any_order.py`
takes as many as are asked for.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from struct import Struct

import pytest

from moodstream.affect.mood import MoodRow
from moodstream.state.rows import AGENT as FACTS
from moodstream.state.rows import HEADER, MOOD, kind_of, row_key, split_row_key, unpack_row
from support.any_order import as_it_comes, in_time, life
from support.folding import KEY, Store, folded

CASES = int(os.environ.get("MOODSTREAM_TEST_CASES", "400"))
PARTS = 8
_FACTS = Struct(">qQq")


def bare(store: Store) -> dict[bytes, object]:
    """Give the rows without offsets and counters."""
    rows: dict[bytes, object] = {}
    for key, data in store.rows.items():
        row = unpack_row(data)
        body: object = row.body
        if split_row_key(key)[1] == FACTS:
            body = _FACTS.unpack(row.body)[2]  # its newest time; the others are an offset and a counter
        rows[key] = (*row[:3], body)
    return rows


def mood_of(store: Store) -> MoodRow:
    data = store.rows.get(row_key(KEY, MOOD))
    return MoodRow() if data is None else MoodRow.unpack(data[HEADER.size :])


def check(seed: int) -> Counter[str]:
    """Fold one life in its time and in one piece, then as it may come; tell what was met."""
    rng = random.Random(seed)  # noqa: S311
    parts = life(rng, 1 + seed % 160)
    log = as_it_comes(rng, parts)
    cuts = rng.sample(range(1, len(log) + 1), min(rng.choice([0, 1, 5, len(log)]), len(log)))
    kept = [cut for cut in cuts if rng.random() < 0.5]
    expected, found = folded(in_time(parts)), folded(log, cuts, kept)
    assert mood_of(expected).late is mood_of(found).late is None, "a signal is late: the case asks for too much"
    assert bare(found) == bare(expected)
    kinds = Counter({kind_of(split_row_key(key)[1]).name for key in found.rows})
    kinds["events"] = len(log)
    kinds["again"], kinds["contradicted"] = found.counts[1], found.counts[2]
    kinds["restarts"] = len(cuts) - len(kept)
    kinds["out of time"] = log != in_time(parts)
    return kinds


@pytest.mark.parametrize("part", range(PARTS))
def test_rows_are_equal_in_any_order(part: int) -> None:
    met: Counter[str] = Counter()
    for seed in range(part, CASES, PARTS):
        try:
            met += check(seed)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
    rows = {"AGENT", "MOOD", "TRENDS", "PAIR", "MEMORY", "SHIFT", "PROFILE"}
    assert min(met[name] for name in (*rows, "again", "contradicted", "restarts", "out of time")) > 0, met
    print(dict(met))  # noqa: T201 - for who runs it with -s


def test_the_order_does_matter_where_a_signal_is_late() -> None:
    """The cases would be worth nothing if every order gave the same rows."""
    different = 0
    for seed in range(40):
        rng = random.Random(seed)  # noqa: S311
        log = in_time(life(rng, 60))
        different += bare(folded(log)) != bare(folded(rng.sample(log, len(log))))
    assert different > 10
