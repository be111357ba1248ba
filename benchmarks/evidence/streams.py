"""Long streams with a look after each observation: how often is a false direction, notice or step raised?"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evidence import rivals
from evidence.jobs import rng_of
from evidence.rows import reports_of, table, windows
from evidence.series import DATA, WORLDS, Floats, times_ms
from evidence.single import check
from moodstream.affect.bulk import Looks, look_all
from moodstream.affect.params import STANDARD
from moodstream.affect.signals import SIGNALS
from moodstream.affect.statistics import LABEL_P, STABLE
from moodstream.affect.trends import TrendRow
from moodstream.agents.agent_rows import AgentRows
from moodstream.agents.notices import Turn, turns_of
from moodstream.schemas.identity import agent_key
from moodstream.state.rows import TRENDS

GAPS: Final = (2.0, 12.0, 30.0, 48.0)
"""Mean hours between observations; the first world has all of them, the others the first."""
AT_ONCE: Final = 250

Counts = dict[str, float]


class Watcher:
    """Looks at a growing row as a worker does after each turn, and remembers what it announced."""

    def __init__(self) -> None:
        self.agent = AgentRows(agent_key("evidence", "a"), STANDARD)
        self.turns: list[Turn] = []
        self.looks: list[Looks] = []
        self.seen = 0

    def watch(self, rows: list[TrendRow]) -> None:
        """Look at the next rows, one after the other."""
        looks = look_all(rows)
        for at, row in enumerate(rows):
            self.agent.trends[TRENDS] = row
            self.agent.touched[TRENDS] = self.seen + at
            self.turns += turns_of(self.agent, TRENDS, looks, at)
        self.looks.append(looks)
        self.seen += len(rows)

    def column(self, name: str, signal: str) -> NDArray[Any]:
        """Return what all looks saw of one signal."""
        return np.concatenate([getattr(looks, name)[:, SIGNALS.index(signal)] for looks in self.looks])


def false_onsets(seed: int, world: int, gap_hours: float, length: int, stream: int) -> dict[str, Counts]:
    """Follow one stream of each signal of a world; counts by kind of data."""
    rng = rng_of(seed, "streams", world, gap_hours, stream)
    named = WORLDS[world]
    raw = {signal: DATA[kind].draw(rng, (1, length)) for signal, kind in named.items()}
    stored = {signal: DATA[named[signal]].stored(values) for signal, values in raw.items()}
    watcher = watched(times_ms(rng, (1, length), gap_hours)[0], table(stored, 0))
    return {
        kind: {**ours(watcher, signal), **theirs(raw[signal][0] * DATA[kind].scale)} for signal, kind in named.items()
    }


def watched(times: NDArray[np.int64], values: Floats) -> Watcher:
    """Follow one row from its first turn to its last."""
    watcher = Watcher()
    growing = windows(reports_of(times, values))
    while rows := list(islice(growing, AT_ONCE)):
        watcher.watch(rows)
        check(rows[-1], watcher.looks[-1], len(rows) - 1)
    return watcher


def ours(watcher: Watcher, signal: str) -> Counts:
    """Count looks with a false label, and onsets of labels, notices and steps."""
    labels = (watcher.column("p", signal) < LABEL_P) & watcher.column("testable", signal)
    steps = watcher.column("change_ms", signal) >= 0
    turned = [turn.state for turn in watcher.turns if turn.signal == signal]
    return {
        "observations": watcher.seen,
        "looks": int(np.count_nonzero(watcher.column("testable", signal))),
        "labels": int(np.count_nonzero(labels)),
        "label_onsets": rivals.onsets(labels),
        "notices": sum(state.direction not in (STABLE, state.previous) for state in turned),
        "step_onsets": rivals.onsets(steps),
        "announced": sum(state.change is not None for state in turned),
    }


def theirs(y: Floats) -> Counts:
    """Count the onsets of the usual rules on the same values."""
    flags = {name: abs(rivals.running(y, name)) > rivals.THRESHOLD for name in ("slope", "halves")}
    return {
        **{f"{name}_labels": int(np.count_nonzero(flag)) for name, flag in flags.items()},
        **{f"{name}_onsets": rivals.onsets(flag) for name, flag in flags.items()},
        "cusum": int(np.count_nonzero(rivals.cusum(y[None, :]))),
    }
