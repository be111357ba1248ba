"""The numbers of a run as plots: small SVG files that are the same for the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evidence import moods, single, steps
from evidence.promises import POWER, STEP
from evidence.series import DATA
from evidence.tables import mean_share, rate

Found = dict[str, Any]
Draw = Callable[[Figure, Found], None]

OURS, USUAL, MILDER, THIRD = "#1b6ca8", "#c8553d", "#e0a458", "#8a8d91"
_STYLE: Final = {"svg.hashsalt": "evidence", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False}
_STYLE_TOO: Final = {"axes.spines.right": False, "legend.frameon": False, "path.simplify": True}


def single_looks(figure: Figure, found: Found) -> None:
    """False directions of one look by the number of values."""
    axes = figure.subplots()
    by = {(row["data"], row["n"]): row for row in found["single"]}
    for kind in (kind for kind, data in DATA.items() if data.promised):
        ours = [by[kind, n]["direction"] / by[kind, n]["looks"] for n in single.LENGTHS]
        axes.plot(
            single.LENGTHS, ours, color=OURS, lw=0.8, marker=".", label="ours, each kind" if kind == "normal" else None
        )
    for rule, color, label in (("halves", USUAL, "halves ± .15, normal"), ("cusum", MILDER, "CUSUM, normal")):
        theirs = [by["normal", n][rule] / by["normal", n]["looks"] for n in single.LENGTHS]
        axes.plot(single.LENGTHS, theirs, color=color, marker="o", label=label)
    axes.axhline(0.05, color="black", lw=0.6, ls=":")
    axes.set(xlabel="values", ylabel="share of looks with a false alarm", xticks=single.LENGTHS, ylim=(0, None))
    axes.legend()


def streams(figure: Figure, found: Found) -> None:
    """False alarms per 1,000 observations by kind of data."""
    axes = figure.subplots()
    rows = [row for row in found["streams"] if row["gap_hours"] == single.GAP_HOURS]
    rows.sort(key=lambda row: list(DATA).index(row["data"]), reverse=True)
    places = range(len(rows))
    series = (
        ("step_onsets", OURS, "o", "ours: steps"),
        ("notices", OURS, "^", "ours: notices"),
        ("halves_onsets", USUAL, "s", "halves ± .15"),
        ("cusum", MILDER, "D", "CUSUM"),
    )
    for name, color, marker, label in series:
        axes.scatter(
            [max(rate(row, name).value, 0.003) for row in rows], places, color=color, marker=marker, s=18, label=label
        )
    axes.axvline(STEP, color="black", lw=0.6, ls=":")
    axes.set(xscale="log", xlabel="false alarms per 1,000 observations, a look at each")
    axes.set_yticks(places, [DATA[row["data"]].label for row in rows])
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=4)


def step_power(figure: Figure, found: Found) -> None:
    """Steps that are seen by the observations since."""
    axes = figure.subplots()
    for row, style in zip(found["steps"], ("-", "--", "-.", ":"), strict=True):
        for name, color in (("step", OURS), ("cusum", MILDER)):
            shares = [row[f"{name}{within}"] / row["series"] for within in steps.WITHIN]
            label = f"{'ours' if name == 'step' else 'CUSUM'}, {row['step']:g} sd"
            axes.plot(steps.WITHIN, shares, color=color, ls=style, marker=".", label=label)
    axes.axhline(POWER, color="black", lw=0.6, ls=":")
    axes.set(xlabel="observations since the step", ylabel="share of steps seen", xticks=steps.WITHIN, ylim=(0, 1.02))
    axes.legend()


def people(figure: Figure, found: Found) -> None:
    """Directions among people: real, and by two kinds of chance."""
    axes = figure.subplots()
    of, clock = found["people"]["people"], found["clock"]
    signals = list(of["real"])
    bars = (
        ("as it is", OURS, [_share(of["real"][signal]) for signal in signals]),
        ("values permuted", THIRD, [mean_share([one[signal] for one in of["permuted"]]) for signal in signals]),
        (
            "outcomes permuted, clock kept",
            MILDER,
            [mean_share([one.get(s, _NONE) for one in clock["outcomes"]]) for s in signals],
        ),
        ("all known after a day", USUAL, [_share(clock["even"].get(signal, _NONE)) for signal in signals]),
    )
    for at, (label, color, values) in enumerate(bars):
        axes.bar([place + 0.2 * (at - 1.5) for place in range(len(signals))], values, 0.19, color=color, label=label)
    axes.axhline(0.05, color="black", lw=0.6, ls=":")
    axes.set(ylabel="share of people with a direction")
    axes.set_xticks(range(len(signals)), signals)
    axes.legend()


_NONE = {"direction": 0, "looks": 1}


def _share(count: dict[str, int]) -> float:
    return count["direction"] / max(count["looks"], 1)


def mood_errors(figure: Figure, found: Found) -> None:
    """Mean errors of the mood by the way events came."""
    axes = figure.subplots()
    names = list(found["moods"])
    labels = [moods.SCENARIOS[name][0].replace(", ", ",\n").replace(" in the mean", "\nin the mean") for name in names]
    rules = (("ours", OURS, "moodstream"), ("usual", USUAL, "add, then decay"), ("milder", MILDER, "decay, then add"))
    least = 1e-7
    for at, (rule, color, label) in enumerate(rules):
        values = [max(found["moods"][name][rule]["mean"], least) for name in names]
        axes.bar([place + 0.27 * (at - 1) for place in range(len(names))], values, 0.25, color=color, label=label)
    axes.set(yscale="log", ylim=(least, 9), ylabel="mean error of an axis (1e-7: none)")
    axes.set_xticks(range(len(names)), labels, fontsize=7)
    axes.legend(loc="upper left", ncols=3)


def day(figure: Figure, found: Found) -> None:
    """One agent's mood and what moved it."""
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    of = found["day"]
    for axis, (name, color) in enumerate(zip(moods.AXES, (OURS, USUAL, MILDER), strict=True)):
        above.plot(of["hours"], [mood[axis] for mood in of["moods"]], color=color, lw=1, label=name)
    above.axhline(0, color="black", lw=0.5)
    above.set(ylabel="mood", ylim=(-1.05, 1.05))
    above.legend(ncols=3, loc="lower left")
    _rug(below, of["events"])


def _rug(axes: Axes, events: list[tuple[float, float]]) -> None:
    for sign, color in ((1, OURS), (-1, USUAL)):
        part = [(hour, delta) for hour, delta in events if delta * sign > 0]
        axes.vlines([hour for hour, _ in part], 0, [delta for _, delta in part], color=color, lw=0.7)
    axes.axhline(0, color="black", lw=0.5)
    axes.set(xlabel="hours", ylabel="shift of pleasure")


def tradeoff(figure: Figure, found: Found) -> None:
    """What a mood costs and gives, by its influence."""
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, about, cost in ((left, "question", "relevance"), (right, "none", "recency")):
        for mood, color in (("low", OURS), ("own", USUAL), ("high", MILDER)):
            for how, style in (("plain", "-"), ("centred", "--")):
                rows = [
                    row
                    for row in found["recall"]["text spread"]["rows"]
                    if (row["about"], row["mood"], row["how"]) == (about, mood, how)
                ]
                x = [row[cost] / rows[0][cost] if rows[0][cost] else 1.0 for row in rows]
                moved = [row["pleasure"] - rows[0]["pleasure"] for row in rows]
                axes.plot(x, moved, color=color, ls=style, marker=".", lw=0.9, label=f"{mood}, {how}")
        axes.axhline(0, color="black", lw=0.5)
        axes.set(xlabel=f"{cost} kept", title={"question": "with a question", "none": "without a question"}[about])
        axes.locator_params(axis="x", nbins=4)
    left.set(ylabel="pleasure of the first ten, change")
    right.legend(fontsize=7)


PLOTS: Final[dict[str, tuple[Draw, str, tuple[float, float]]]] = {
    "single": (single_looks, "single", (6, 3)),
    "streams": (streams, "streams", (6.5, 4.2)),
    "steps": (step_power, "steps", (6, 3)),
    "people": (people, "people", (7, 3)),
    "moods": (mood_errors, "moods", (7, 3)),
    "day": (day, "day", (7, 3.6)),
    "recall": (tradeoff, "recall", (7, 3)),
}
"""By file name: who draws it, the section that it needs, its size in inches."""


def draw(folder: Path, found: Found) -> list[Path]:
    """Write the plots of all sections that were measured."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context({**_STYLE, **_STYLE_TOO}):
        for name, (how, section, inches) in PLOTS.items():
            if section in found:
                figure = Figure(figsize=inches, layout="constrained")
                how(figure, found)
                path = folder / f"{name}.svg"
                figure.savefig(path, metadata={"Date": None, "Creator": None})
                written.append(path)
    return written
