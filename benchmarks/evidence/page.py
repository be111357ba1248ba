"""The page: a template filled with the numbers of a run, so that prose and numbers cannot disagree."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from evidence import plots, recalls, steps, tables
from evidence.plan import Share, Size
from evidence.promises import Promise
from evidence.single import GAP_HOURS
from evidence.tables import mean_share, percent, promise_cells

__all__ = ["promise_cells", "text", "write"]

Found = dict[str, Any]

_HERE = Path(__file__).parent
_NO_LOG = """## A chat log

No chat log was given to this run, so nothing was measured of real people, of moods and of recall (`--data FILE`)."""


def write(folder: Path, found: Found, made: Sequence[Promise], size: Size, seed: int) -> list[Path]:
    """Write page and plots into a folder; the page is the first of the files that are returned."""
    drawn = plots.draw(folder / "evidence", found)
    page = folder / "evidence.md"
    page.write_text(text(found, made, size, seed), encoding="utf-8")
    return [page, *drawn]


def text(found: Found, made: Sequence[Promise], size: Size, seed: int) -> str:
    """Return the page. KeyError if the template names what was not measured."""
    return _filled(
        "page.md", _synthetic(found, made, size) | {"seed": str(seed), "versions": versions()} | _real(found, size)
    )


def versions() -> str:
    """Return what the numbers depend on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("moodstream", "numpy", "matplotlib"))
    return f"Python {platform.python_version()}, {packages}"


def _filled(name: str, values: dict[str, str]) -> str:
    return Template((_HERE / name).read_text(encoding="utf-8")).substitute(values)


def _synthetic(found: Found, made: Sequence[Promise], size: Size) -> dict[str, str]:
    normal = next(row for row in found["streams"] if (row["data"], row["gap_hours"]) == ("normal", GAP_HOURS))
    return {
        "promises": tables.promised(made),
        "missed": missed(made),
        "series": f"{size.series:,}",
        "gap": f"{GAP_HOURS:g}",
        "one_look": tables.one_look(found),
        "drifts": tables.drifts(found),
        "streams": str(size.streams),
        "length": f"{size.length:,}",
        "long_streams": tables.long_streams(found),
        "label_onsets": f"{tables.rate(normal, 'label_onsets').value:.1f}",
        "steady": str(steps.STEADY),
        "steps": f"{found['steps'][0]['series']:,}",
        "steps_seen": tables.steps_seen(found),
    }


def missed(made: Sequence[Promise]) -> str:
    """Say in words what was missed."""
    those = [f"- {each.text}: {promise_cells(each)[2]}" for each in made if not each.met]
    if not those:
        return f"All {len(made)} were met in this run."
    return "\n".join([f"**Missed: {len(those)} of {len(made)}.**", "", *those])


def _real(found: Found, size: Size) -> dict[str, str]:
    if "people" not in found:
        return {"real_sections": _NO_LOG}
    return {"real_sections": _filled("real.md", _people(found) | _moods(found, size) | _recalls(found))}


def _people(found: Found) -> dict[str, str]:
    of, clock = found["people"], found["clock"]
    return {
        "messages": f"{of['messages']:,}",
        "people": f"{of['authors']:,}",
        "permutations": str(len(clock["outcomes"])),
        "people_table": tables.people(found),
        **{f"{who}_permuted": _all_signals(of[who]["permuted"]) for who in ("people", "pairs")},
        "responded_real": _chance([of["people"]["real"]], "responded"),
        **{f"{signal}_clock": _chance(clock["outcomes"], signal) for signal in ("responded", "continued")},
        **{f"{signal}_even": _chance([clock["even"]], signal) for signal in ("responded", "continued")},
    }


def _chance(counts: Sequence[Found], signal: str) -> str:
    return percent(mean_share([one[signal] for one in counts if signal in one]), 0)


def _all_signals(permutations: Sequence[Found]) -> str:
    counts = [count for one in permutations for count in one.values()]
    share = Share.of(sum(one["direction"] for one in counts), sum(one["looks"] for one in counts))
    return percent(share.value)


def _moods(found: Found, size: Size) -> dict[str, str]:
    day = found["day"]
    return {
        "agents": str(size.agents),
        "readings": str(size.readings),
        "mood_errors": tables.mood_errors(found),
        "agent": day["agent"],
        "start": datetime.fromtimestamp(day["start_ms"] / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "day_events": str(len(day["events"])),
    }


def _recalls(found: Found) -> dict[str, str]:
    every = found["recall"].values()
    by_text, by_outcome = found["recall"]["text spread"], found["recall"]["outcome spread"]
    orders = sum(2 * each["questions"] for each in every)
    return {
        "questions": str(by_text["questions"]),
        "annotated": percent(by_text["annotated"], 0),
        "outcome_annotated": percent(by_outcome["annotated"], 0),
        "low": _pad(recalls.LOW_MOOD),
        "high": _pad(recalls.HIGH_MOOD),
        "recall_question": tables.recalled(found, "text spread", "question"),
        "recall_none": tables.recalled(found, "text spread", "none"),
        "recall_log": tables.recalled(found, "text log", "none"),
        "recall_apart": f"{recalls.APART_US / 3_600_000_000:g}",
        "recall_outcome": tables.recalled(found, "outcome spread", "none"),
        "same_orders": f"{orders - sum(each['unlike'] for each in every):,}",
        "all_orders": f"{orders:,}",
    }


def _pad(mood: Sequence[float]) -> str:
    return ", ".join(f"{value:+g}" for value in mood)
