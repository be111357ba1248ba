"""The answers of the query service as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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


def mood(answer: Answer) -> None:
    """A line per axis, then what moved it and where that stands."""
    title = f"{answer['agent_id']} at {_time(answer['at'])}: {answer['octant']}"
    table = _table("axis", "mood>", "", "baseline>", "displacement>", "tau (h)>", title=title)
    for axis in ("pleasure", "arousal", "dominance"):
        value = answer["mood"][axis]
        numbers = [_number(answer[name][axis]) for name in ("baseline", "displacement")]
        table.add_row(axis, _number(value), _bar(value), *numbers, f"{answer['tau_hours'][axis]:g}")
    lines = [f"moved by: {_cut(answer['cause'])}, {_time(answer['moved_at'])}"] if answer["cause"] is not None else []
    if answer["approximate"]:
        lines.append("approximate: a signal came late near this time, or the profile of then is no longer kept")
    _print(table, [*lines, _applied(answer["applied"])])


def trends(answer: Answer) -> None:
    """A line per signal."""
    other = "" if answer["other_agent_id"] is None else f" with {answer['other_agent_id']}"
    title = f"{answer['agent_id']}{other} as of {_time(answer['as_of'])}"
    table = _table("signal", "direction", "n>", "mean>", "rate>", "slope/h>", "p>", "step at", "newest", title=title)
    for name, each in answer["signals"].items():
        table.add_row(
            name,
            _ARROWS.get(each["direction"], each["direction"]) + (" [dim](stale)[/]" if each["stale"] else ""),
            str(each["observations"]),
            _short(each["decayed_mean"]),
            _short(each["rate"]),
            _short(each["slope_per_hour"]),
            _short(each["p"]),
            _time(each["change_at"]),
            _time(each["newest"]),
        )
    _print(table, [_applied(answer["applied"])])


def memories(answer: Answer) -> None:
    """A line per memory."""
    table = _table("time", "domain", "text", "P>", "A>", "D>", "id", title=answer["agent_id"])
    for each in answer["memories"]:
        cells = (_time(each["occurred_at"]), each["domain"], _cut(each["text"]), *_pad(each), each["memory_id"])
        table.add_row(*map(Text, cells))
    _print(table, [_applied(answer["applied"])])
    _next(answer)


def memory(answer: Answer) -> None:
    """All of one memory."""
    table = _table("field", "value")
    for name, value in answer["memory"].items():
        if value not in (None, {}, []):
            text = "\n".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
            table.add_row(name, Text(text))
    _print(table, [_applied(answer["applied"])])


def recall(answer: Answer) -> None:
    """A line per result, with the terms of its score."""
    title = f"{len(answer['results'])} of {answer['candidates']} as of {_time(answer['as_of'])}, by {answer['order']}"
    names = ("score>", "recency>", "import.>", "weight>", "mood>", "relev.>", "time", "domain", "agent", "text")
    table = _table(*names, title=title)
    terms = ("total", "recency", "importance", "domain_weight", "mood_factor", "relevance")
    for each in answer["results"]:
        numbers = [_short(each["score"][name]) for name in terms]
        what = (_time(each["occurred_at"]), each["domain"], each["agent_id"], _cut(each["text"]))
        table.add_row(*numbers, *map(Text, what))
    mood = answer["mood"]
    used = "no mood" if mood is None else "mood " + ", ".join(_number(value) for value in mood.values())
    _print(table, [used, *[f"{each['agent_id']}: {_applied(each)}" for each in answer["applied"]]])


def _table(*columns: str, title: str | None = None) -> Table:
    """A table whose columns that end in `>` are numbers."""
    table = Table(box=box.SIMPLE, title=None if title is None else Text(title), title_justify="left")
    for name in columns:
        table.add_column(name.removesuffix(">"), justify="right" if name.endswith(">") else "left")
    return table


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
