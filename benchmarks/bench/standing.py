"""What a contest shows: a table for each number of agents, ratios, and the targets."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from bench.contenders import PEERS
from bench.outcome import Cell, Outcome, Table, Target
from bench.terms import OURS, Contest, Run

PER_CPU_PEER = "kafka_streams"
FASTER = {"stock_faust": 20.0, "quix_streams": 2.0}
"""Events/s of ours to theirs that are asked for."""
RSS_MB = 300
FEW, MANY, KEPT = 1_000, 1_000_000, 0.7
"""With a million agents there should be this part of the rate with a thousand."""

Value = Callable[[Run], float]
_RATIOS = ("stock_faust", "quix_streams", "kafka_streams")
_TITLES = {OURS: "moodstream", **{peer.name: peer.title for peer in PEERS}}
_COLUMNS = [
    *("subject", "events/s", "CPU s / million", "peak RSS MB", "broker CPU s / million", "foreign cores"),
    *("ours, events/s", "ours, per CPU s", "checked", "wrong"),
]
_NOTE = (
    "Peers do the lighter fold: mood, sums of a regression for four signals, one output an event (the cached "
    "aggregate: one a key and commit). moodstream does its whole job: validated decode, duplicates, mood, trends of "
    "the agent and of each pair, memories, changelog acknowledged, Redis flushed, notices of mood and trends. The "
    "columns `ours` say how many times as much moodstream does, in neighbouring runs."
)


def outcome(contests: Sequence[Contest]) -> Outcome:
    """Everything that was found."""
    first = contests[0]
    ratios = {name: ratio(first, name, _rate) for name in _RATIOS}
    return Outcome(
        "pipeline",
        [table(one) for one in contests],
        targets(contests),
        {name: round(value, 2) for name, value in ratios.items() if value is not None},
        figures(contests),
    )


def _rate(run: Run) -> float:
    return run.events_per_s


def _per_cpu(run: Run) -> float:
    return run.events_per_cpu_s


def ratio(contest: Contest, peer: str, value: Value) -> float | None:
    """Ours to a peer's: the median over the rounds, each within itself. None where it was not measured."""
    pairs = [(one[OURS], one[peer]) for one in contest.rounds if peer in one]
    return statistics.median(value(mine) / value(its) for mine, its in pairs) if pairs else None


def median(contest: Contest, name: str, value: Value) -> float:
    """The median of a subject over the rounds."""
    return statistics.median(value(run) for run in runs(contest, name))


def runs(contest: Contest, name: str) -> list[Run]:
    """The runs of a subject."""
    return [one[name] for one in contest.rounds if name in one]


def table(contest: Contest) -> Table:
    """Who did what with so many agents."""
    names = [name for name in _TITLES if runs(contest, name)]
    rows = [_row(contest, name) for name in names]
    return Table(f"{contest.agents:,} agents", list(_COLUMNS), rows, " ".join([_NOTE, *_remarks(contest, names)]))


def _row(contest: Contest, name: str) -> list[Cell]:
    some = runs(contest, name)
    checked = f"{sum(run.checked for run in some):,} {some[0].unit}"
    return [
        _TITLES[name],
        round(median(contest, name, _rate)),
        round(median(contest, name, lambda run: run.cpu_s_per_million), 1),
        round(max(run.rss_mb for run in some)),
        round(median(contest, name, lambda run: run.broker_cpu_s_per_million), 1),
        round(median(contest, name, lambda run: run.foreign_cores), 2),
        *(_times(ratio(contest, name, value)) for value in (_rate, _per_cpu)),
        checked,
        sum(run.wrong for run in some),
    ]


def _remarks(contest: Contest, names: Sequence[str]) -> list[str]:
    """What has to be known beside the numbers: what was checked, who ran out of events, and who is missing."""
    told = dict.fromkeys(f"Checked of moodstream: {run.unit} of {run.scope}." for run in runs(contest, OURS))
    for name in names:
        if short := [run.seconds for run in runs(contest, name) if run.ran_out]:
            told[f"{_TITLES[name]} ran out of events: its rate is over {min(short):.1f} s."] = None
    return [*told, *(f"Left out: {_TITLES[name]} ({why.splitlines()[0]})." for name, why in contest.left_out.items())]


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} x"


def targets(contests: Sequence[Contest]) -> list[Target]:
    """What was asked for, and whether it is met; what was not measured is not met."""
    found = [
        _at_least(f"events/s to {_TITLES[name]}'s", asked, ratio(contests[0], name, _rate))
        for name, asked in FASTER.items()
    ]
    for one in contests:
        where = f"{one.agents:,} agents"
        per_cpu = ratio(one, PER_CPU_PEER, _per_cpu)
        found.append(_at_least(f"events per CPU s to those of {_TITLES[PER_CPU_PEER]}, {where}", 1.0, per_cpu))
        rss = max(run.rss_mb for run in runs(one, OURS))
        found.append(Target(f"peak RSS of the worker, {where}", f"< {RSS_MB} MB", f"{rss:.0f} MB", rss < RSS_MB))
    kept = kept_rate(contests)
    if kept is not None:
        found.append(_at_least(f"events/s with {MANY:,} agents to {FEW:,}", KEPT, kept))
    return found


def _at_least(name: str, asked: float, value: float | None) -> Target:
    found = "not measured" if value is None else _times(value)
    return Target(name, f">= {asked:g} x", found, value is not None and value >= asked)


def kept_rate(contests: Sequence[Contest]) -> float | None:
    """Our rate with a million agents to that with a thousand, if both were measured."""
    rates = {one.agents: median(one, OURS, _rate) for one in contests}
    return rates[MANY] / rates[FEW] if {FEW, MANY} <= rates.keys() else None


def figures(contests: Sequence[Contest]) -> dict[str, Any]:
    """All runs, the ratios at each number of agents, and who was left out."""
    kept = kept_rate(contests)
    return {
        "runs": [
            {"round": number, **run.as_figures()}
            for one in contests
            for number, some in enumerate(one.rounds, 1)
            for run in some.values()
        ],
        "ratios": {one.agents: _ratios(one, _rate) for one in contests},
        "cpu_ratios": {one.agents: _ratios(one, _per_cpu) for one in contests},
        "left_out": {one.agents: one.left_out for one in contests if one.left_out},
        **({} if kept is None else {"rate_with_a_million_agents": round(kept, 3)}),
    }


def _ratios(contest: Contest, value: Value) -> dict[str, float]:
    found = {peer.name: ratio(contest, peer.name, value) for peer in PEERS}
    return {name: round(one, 3) for name, one in found.items() if one is not None}


def unsound(contests: Sequence[Contest]) -> list[str]:
    """Runs whose outputs are wrong, or of which none could be checked, in words."""
    every = [run for one in contests for some in one.rounds for run in some.values()]
    return [
        f"{_TITLES[run.name]}, {run.agents:,} agents: {run.wrong:,} wrong of {run.checked:,} {run.unit}"
        for run in every
        if run.wrong or not run.checked
    ]
