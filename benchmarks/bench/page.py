"""The generated part of docs/benchmarks.md: targets of all benchmarks, then the tables of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.outcome import Cell, Table, Target
from bench.suite import Found, Planned

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

Measured = Sequence[tuple[Planned, Found]]
"""What there are results of, in order."""


def replaced(page: str, generated: str) -> str:
    """The page with what stands between the markers replaced. ValueError where there is not one pair of them."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page needs {BEGIN} and {END} behind it, once each")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{generated.strip()}\n\n{END}{rest.partition(END)[2]}"


def generated(measured: Measured, missing: Sequence[str]) -> str:
    """All results as Markdown; `missing` names benchmarks without one."""
    if not measured:
        return "Nothing has been measured yet: `scripts/bench all` fills this part."
    parts = [environment_line([found["environment"] for _, found in measured]), targets(measured)]
    if missing:
        parts.append(f"Not measured: {', '.join(missing)}.")
    for planned, found in measured:
        parts += [f"## {planned.heading}", f"    {planned.command}"]
        parts += [Table(**table).markdown() for table in found["tables"]]
    return "\n\n".join(filter(None, parts))


def environment_line(environments: Sequence[dict[str, Any]]) -> str:
    """Where and when: each fact once, with all its values where they differ."""
    first = environments[0]
    packages = ", ".join(f"{name} {version}" for name, version in first["packages"].items())
    facts = {name: " and ".join(dict.fromkeys(str(one[name]) for one in environments)) for name in first}
    return (
        f"Measured on {facts['date']} at commit {facts['commit']}: {facts['processor']}, {facts['cores']} cores that "
        f"also carry broker and Redis, {facts['system']}, Python {facts['python']}; {packages}."
    )


def targets(measured: Measured) -> str:
    """The targets of all benchmarks in one table."""
    each = [(planned.name, Target(**target)) for planned, found in measured for target in found["targets"]]
    rows: list[list[Cell]] = [
        [name, one.name, one.asked, one.found, "yes" if one.met else "**no**"] for name, one in each
    ]
    table = Table("Targets", ["benchmark", "what", "asked", "found", "met"], rows)
    return table.markdown() if rows else ""
