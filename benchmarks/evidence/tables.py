"""The numbers of a run as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from evidence import moods, single, steps, streams
from evidence.plan import Share
from evidence.promises import Promise
from evidence.series import DATA

Found = dict[str, Any]

SHOWN = (0.0, 0.3, 0.6, 1.0)
"""Influences in the tables; the plot has one more."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, as far as it says something."""
    return f"{100 * share:.{digits}f} %"


def number(value: float) -> str:
    """Return a rate: two digits after the point below ten."""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def small(value: float) -> str:
    """Return an error of a mood: 0 where nothing but rounding is left."""
    return "0" if value <= moods.EXACT else f"{value:.1e}" if value < 0.001 else f"{value:.3f}"


def promise_cells(promise: Promise) -> tuple[str, str, str, str]:
    """Return one row: promise, limit, measured with its error and place, verdict."""
    scale, unit, digits = (100.0, " %", 2) if promise.unit == "%" else (1.0, f" {promise.unit}", 3)
    sign = "≥" if promise.at_least else "≤"
    error = f" ± {scale * promise.measured.error:.{digits}f}" if promise.measured.error else ""
    return (
        promise.text,
        f"{sign} {scale * promise.limit:g}{unit}",
        f"{scale * promise.measured.value:.{digits}f}{error}{unit} ({promise.where})",
        promise.verdict,
    )


def promised(made: Sequence[Promise]) -> str:
    """Return all promises; those that were missed stand out."""
    cells = [promise_cells(each) for each in made]
    rows = [(*row[:3], row[3] if each.met else f"**{row[3]}**") for each, row in zip(made, cells, strict=True)]
    return table(("promise", "limit", "measured", "verdict"), rows)


def one_look(found: Found) -> str:
    """Return the share of false directions of one look, ours and theirs, by kind of data and length."""
    by = {(row["data"], row["n"]): row for row in found["single"]}
    rows = []
    for kind, data in DATA.items():
        of_kind = [by[kind, n] for n in single.LENGTHS]
        ours = [percent(row["direction"] / row["looks"]) for row in of_kind]
        last = of_kind[-1]
        cells = [percent(of_kind[at][rule] / last["looks"], 0) for rule in ("halves", "slope") for at in (0, -1)]
        rows.append(
            (data.label + ("" if data.promised else " *"), *ours, *cells, percent(last["cusum"] / last["looks"], 0))
        )
    first, last_n = single.LENGTHS[0], single.LENGTHS[-1]
    head = [f"n = {n}" for n in single.LENGTHS]
    rivals = [f"{rule}, n = {n}" for rule in ("halves", "slope") for n in (first, last_n)]
    return table(("values", *head, *rivals, f"CUSUM, n = {last_n}"), rows)


def long_streams(found: Found) -> str:
    """Return rates of false alarms in streams, per 1,000 observations, ours and theirs."""
    rows = []
    for row in sorted(found["streams"], key=lambda row: (list(DATA).index(row["data"]), row["gap_hours"])):
        data = DATA[row["data"]]
        rows.append(
            (
                data.label + ("" if data.promised else " *"),
                f"{row['gap_hours']:g} h",
                percent(Share.among(row["labels"], row["looks"]).value),
                *(with_error(row, name) for name in ("label_onsets", "notices", "step_onsets", "announced")),
                *(number(rate(row, name).value) for name in ("halves_onsets", "slope_onsets", "cusum")),
            )
        )
    ours = ("label on, share of looks", "label onsets", "notices of a direction", "steps seen", "steps announced")
    return table(("values", "gap", *ours, "halves ± .15", "slope ± .15", "CUSUM"), rows)


def rate(row: Found, name: str) -> Share:
    """Return a count of streams per 1,000 observations."""
    return Share.among(row[name], row["observations"], 1_000.0)


def with_error(row: Found, name: str) -> str:
    """Return such a rate with its standard error."""
    share = rate(row, name)
    return f"{share.value:.2f} ± {share.error:.2f}"


def drifts(found: Found) -> str:
    """Return how often an even drift is seen."""
    rows = [
        (
            str(row["n"]),
            f"{row['drift']:g}",
            *(percent(row[rule] / row["looks"], 0) for rule in ("direction", "notice", "halves", "slope", "cusum")),
            percent(row["step"] / row["looks"], 0),
        )
        for row in found["drift"]
    ]
    theirs = ("halves ± .15", "slope ± .15", "CUSUM")
    return table(("n", "change over the window", "direction", "notice", *theirs, "called a step"), rows)


def steps_seen(found: Found) -> str:
    """Return how soon a step is seen."""
    rows = []
    for row in (*found["steps"], *found["yes"]):
        step = row["step"]
        what = f"share of yes {step[0]:g} → {step[1]:g}" if isinstance(step, tuple) else f"{step:g} standard deviations"
        seen = [percent(row[f"step{within}"] / row["series"], 0) for within in steps.WITHIN]
        first = percent(row["first_close"] / max(row[f"step{steps.WITHIN[-1]}"], 1), 0)
        last = percent(row["close"] / max(row["last"], 1), 0)
        again = percent(row["again"] / max(row["announced"], 1), 0)
        theirs = [percent(row[f"{rule}{steps.WITHIN[0]}"] / row["series"], 0) for rule in ("cusum", "halves")]
        rows.append((what, *seen, first, last, again, *theirs))
    soon = steps.WITHIN[0]
    head = [f"within {within}" for within in steps.WITHIN]
    placed = "placed within 3, when first seen", f"after {steps.WITHIN[-1]}", "announced more than once"
    return table(("step", *head, *placed, f"CUSUM, within {soon}", f"halves ± .15, within {soon}"), rows)


def people(found: Found) -> str:
    """Return shares of directions among people and pairs, by signal: real, permuted, and with the clock kept."""
    rows = []
    for who in ("people", "pairs"):
        of = found["people"][who]
        for signal, real in of["real"].items():
            null = [one[signal] for one in of["permuted"]]
            kept = [one[signal] for one in found["clock"]["outcomes"]] if who == "people" else []
            even = found["clock"]["even"].get(signal) if who == "people" else None
            rows.append(
                (
                    who,
                    signal,
                    f"{real['looks']:,}",
                    percent(real["direction"] / real["looks"]),
                    percent(mean_share(null)),
                    percent(mean_share(kept)) if kept else "-",
                    percent(even["direction"] / even["looks"]) if even else "-",
                )
            )
    head = (
        "who",
        "signal",
        "of",
        "as it is",
        "values permuted",
        "outcomes permuted, clock kept",
        "all known after a day",
    )
    return table(head, rows)


def mean_share(counts: Sequence[dict[str, int]]) -> float:
    """Return the share of directions over all permutations."""
    return sum(one["direction"] for one in counts) / max(sum(one["looks"] for one in counts), 1)


def mood_errors(found: Found) -> str:
    """Return errors of the mood by the way events came."""
    rows = []
    for name, by_rule in found["moods"].items():
        ours = by_rule["ours"]
        theirs = [f"{small(by_rule[rule]['mean'])} / {small(by_rule[rule]['q95'])}" for rule in ("usual", "milder")]
        wrong = f"{percent(ours['octant'], 0)} / {percent(by_rule['usual']['octant'], 0)}"
        mine = f"{small(ours['mean'])} / {small(ours['q95'])} / {small(ours['max'])}"
        rows.append(
            (moods.SCENARIOS[name][0], mine, percent(ours["flagged"], 0), percent(ours["silent"], 0), *theirs, wrong)
        )
    head = ("events came", "ours: mean / 95 % / max", "flagged", "wrong, not flagged")
    return table((*head, "add, then decay: mean / 95 %", "decay, then add", "wrong octant, ours / usual"), rows)


def recalled(found: Found, which: str, about: str) -> str:
    """Return what the first ten memories were like."""
    rows = [
        (
            {"own": "its own", "low": "low", "high": "high"}[row["mood"]],
            row["how"],
            f"{row['influence']:g}",
            *(f"{row[name]:.3f}" for name in ("alignment", "pleasure")),
            *((f"{row['relevance']:.3f}",) if about == "question" else ()),
            f"{row['recency']:.3f}",
            percent(row["kept"], 0),
        )
        for row in found["recall"][which]["rows"]
        if row["about"] == about and row["influence"] in SHOWN
    ]
    relevance = ("relevance",) if about == "question" else ()
    return table(("mood", "factor", "influence", "alignment", "pleasure", *relevance, "recency", "same memories"), rows)


def gaps() -> str:
    """Return the gaps of the streams, for a sentence."""
    return ", ".join(f"{gap:g}" for gap in streams.GAPS)
