"""The answers of the query service as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rich import box
from rich.table import Table
from rich.text import Text

from moodstream.cli.output import screen

Answer = Mapping[str, Any]

_ARROWS = {"improving": "[green]improving[/]", "declining": "[red]declining[/]", "insufficient": "[dim]too few[/]"}
_SHORT = 60
_LARGE = 1000


def agents(answer: Answer) -> None:
    """A line per agent."""
    table = _table("agent", "events>", "newest", "log position>")
    for each in answer["agents"]:
        place = f"{each['position']['partition']}/{each['version']}"
        table.add_row(Text(each["agent_id"]), str(each["events"]), _time(each["newest"]), place)
    screen().print(table if answer["agents"] else f"no agents of tenant {answer['tenant_id']!r}", markup=False)
    _next(answer)


def ranking(answer: Answer) -> None:
    """A row per agent, then how much of it chance alone would give."""
    ranked = answer["ranking"]
    title = f"by {ranked['signal']}, {ranked['first']} ones first, as of {_time(ranked['as_of'])}"
    table = _table("agent", "direction=", "strength>", "n>", "p>", "q>", "step at", "newest", title=title)
    table.collapse_padding, table.pad_edge = True, False  # so that it fits 80 columns
    for each in answer["agents"]:
        trend = each["trend"]
        numbers = [_short(trend[name]) for name in ("p", "q")]
        strength = "" if trend["strength"] is None else f"{trend['strength']:+.2f}"
        table.add_row(
            Text(each["agent_id"]),
            _arrow(trend),
            strength,
            str(trend["observations"]),
            *numbers,
            _time(trend["change_at"]),
            _time(trend["newest"]),
        )
    cut = "" if ranked["read"] == ranked["agents"] else ", the rest was not read (query.ranked_agents)"
    _print(table, [f"{ranked['read']} of {ranked['agents']} agents looked at{cut}", _rule(ranked["rule"])])


def _arrow(trend: Answer) -> str:
    direction: str = trend["direction"]
    return _ARROWS.get(direction, direction) + ("\n[dim](stale)[/]" if trend["stale"] else "")


def _rule(rule: Answer) -> str:
    share, expected = 100 * rule["false_direction"], rule["expected_false"]
    return f"chance alone gives a direction in {share:g} % of looks at most: {expected:g} of these {rule['looks']}"


def mood(answer: Answer) -> None:
    """A line per axis, then what moved it and where that stands."""
    title = f"{answer['agent_id']} at {_time(answer['at'])}: {answer['octant']}"
    table = _table("axis", "mood>", "", "baseline>", "displacement>", "tau (h)>", title=title)
    for axis in ("pleasure", "arousal", "dominance"):
        value = answer["mood"][axis]
        numbers = [_number(answer[name][axis]) for name in ("baseline", "displacement")]
        table.add_row(axis, _number(value), _bar(value), *numbers, f"{answer['tau_hours'][axis]:g}")
    moved = answer["cause"] is not None
    lines = [
        f"moved by: {_cut(answer['cause'])}, {_time(answer['moved_at'])}" if moved else "nothing had moved it then"
    ]
    if answer["approximate"]:
        lines.append("approximate: a signal came late near this time, or the profile of then is no longer kept")
    _print(table, [*lines, _applied(answer["applied"])])


def explained(answer: Answer) -> None:
    """A row per shift with what is left of it, then the other terms; the columns of numbers add up to the mood."""
    why = answer["explanation"]
    title = f"{answer['agent_id']} at {_time(answer['at'])}: {answer['octant']}, and why"
    table = _table("time=", "P>", "A>", "D>", "what", title=title)
    for each in why["parts"]:
        table.add_row(_time(each["occurred_at"]), *map(_number, each["left"].values()), _moved_by(each))
    table.add_section()
    terms = {
        "cut": "cut off by clamps",
        "earlier": f"earlier shifts ({why['unlisted']} known)",
        "baseline": "baseline",
    }
    for name, what in terms.items():
        table.add_row("", *map(_number, why[name].values()), what)
    table.add_section()
    table.add_row("", *map(_number, answer["mood"].values()), Text("mood", "bold"))
    notes = ["approximate: a signal came late near this time"] if answer["approximate"] else []
    _print(table, [*notes, _applied(answer["applied"])])


def _moved_by(part: Answer) -> Text:
    by_profile = part["kind"] == "profile"
    what = "change of the profile" if by_profile else part["cause"]
    notes = [
        part["event_id"],
        None if by_profile else "asked for " + " ".join(f"{value:+.2f}" for value in part["delta"].values()),
        "cut off " + " ".join(map(_number, part["cut"].values())) if any(part["cut"].values()) else None,
        "late: approximate" if part["late"] else None,
    ]
    return _lines("(no longer kept)" if what is None else _cut(what), *[note for note in notes if note])


def trends(answer: Answer) -> None:
    """A row per signal; the column of steps is there when one was found."""
    other = "" if answer["other_agent_id"] is None else f" with {answer['other_agent_id']}"
    title = f"{answer['agent_id']}{other} as of {_time(answer['as_of'])}"
    numbers = {"mean": "decayed_mean", "rate": "rate", "slope/h": "slope_per_hour", "p": "p"}
    times = {"step at": "change_at", "newest": "newest"}
    if not any(each["change_at"] for each in answer["signals"].values()):
        del times["step at"]
    table = _table("signal=", "direction=", "n>", *(f"{name}>" for name in numbers), *times, title=title)
    table.collapse_padding, table.pad_edge = True, False  # so that it fits 80 columns
    for name, each in answer["signals"].items():
        shown = (*(_short(each[term]) for term in numbers.values()), *(_time(each[term]) for term in times.values()))
        table.add_row(name, _arrow(each), str(each["observations"]), *shown)
    _print(table, [_rule(answer["rule"]), _applied(answer["applied"])])


def memories(answer: Answer) -> None:
    """A memory per row."""
    table = _table("time", "domain=", "P>", "A>", "D>", "memory", title=answer["agent_id"])
    for each in answer["memories"]:
        cells = (_time(each["occurred_at"]), each["domain"], *_pad(each))
        table.add_row(*map(Text, cells), _lines(_cut(each["text"]), each["memory_id"]))
    _print(table, [_applied(answer["applied"])])
    _next(answer)


def memory(answer: Answer) -> None:
    """All of one memory."""
    table = _table("field", "value")
    for name, value in answer["memory"].items():
        if value not in (None, {}, []) and value is not False:
            text = "\n".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
            table.add_row(name, Text(text))
    _print(table, [_applied(answer["applied"])])


def recall(answer: Answer) -> None:
    """A row per result, with the terms of its score."""
    title = f"{len(answer['results'])} of {answer['candidates']} as of {_time(answer['as_of'])}, by {answer['order']}"
    table = _table("score>", "recency>", "import.>", "weight>", "mood>", "relev.>", "memory", title=title)
    terms = ("total", "recency", "importance", "domain_weight", "mood_factor", "relevance")
    several = len(answer["applied"]) > 1
    for each in answer["results"]:
        numbers = [_short(each["score"][name]) for name in terms]
        what = [_time(each["occurred_at"]), each["domain"], *([each["agent_id"]] if several else [])]
        table.add_row(*numbers, _lines(_cut(each["text"]), "  ".join(what), each["memory_id"]))
    mood = answer["mood"]
    used = "no mood" if mood is None else "mood " + ", ".join(_number(value) for value in mood.values())
    _print(table, [used, *[f"{each['agent_id']}: {_applied(each)}" for each in answer["applied"]]])


def _table(*columns: str, title: str | None = None) -> Table:
    """A table whose columns that end in `>` are numbers; those, and what ends in `=`, stay whole on a narrow screen."""
    table = Table(box=box.SIMPLE, title=None if title is None else Text(title), title_justify="left")
    for name in columns:
        justify: Literal["right", "left"] = "right" if name.endswith(">") else "left"
        table.add_column(name.rstrip(">="), justify=justify, no_wrap=name.endswith((">", "=")), overflow="fold")
    return table


def _lines(text: str, *more: str) -> Text:
    """What is remembered, and below it, fainter, what tells it from others: an id must be there to be copied."""
    return Text.assemble(text, *((f"\n{line}", "dim") for line in more))


def _print(table: Table, lines: Iterable[str]) -> None:
    console = screen()
    console.print(table)
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _next(answer: Answer) -> None:
    if answer["next"] is not None:
        screen().print(f"more: --after '{answer['next']}'", markup=False, soft_wrap=True)


def _applied(applied: Answer) -> str:
    place = applied["position"]
    return (
        f"applied up to offset {place['offset']} of partition {place['partition']}; "
        f"agent at {applied['version']}, {_time(applied['time'])}"
    )


def _pad(memory: Answer) -> list[str]:
    pad = memory["pad"] or {}
    return ["" if (value := pad.get(axis)) is None else _number(value) for axis in ("pleasure", "arousal", "dominance")]


def _bar(value: float) -> str:
    """A mark between -1 and 1, the middle shown."""
    cells = ["·"] * 21
    cells[10] = "|"
    cells[round((value + 1) * 10)] = "█"
    return "".join(cells)


def _number(value: float) -> str:
    return f"{value:+.3f}"


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"


def _time(text: str | None) -> str:
    return "" if text is None else text[:19].replace("T", " ") + "Z"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"
