"""Plays the story through the publisher and shows what the query service then says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from moodstream.cli.output import messages
from moodstream.cli.service import Service
from moodstream.cli.story import BUILD, MINUTES, SUPPORT, TENANT, Beat, story
from moodstream.schemas.errors import MoodstreamError, NotFound
from moodstream.schemas.instants import iso

if TYPE_CHECKING:
    from moodstream.cli.settings import Settings
    from moodstream.streams.bus import Bus
    from moodstream.streams.report import Receipt

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 26
_POLL_SECONDS = 0.03
_PATIENCE_SECONDS = 10.0
_PACE_SECONDS = 0.15
"""Between two events, for who watches."""
_ARROWS = {"improving": ("▲", "green"), "declining": ("▼", "red"), "stable": ("=", "dim"), "insufficient": ("?", "dim")}


@dataclass
class Stage:
    """What stays on the screen: each agent's mood and its course, and the trends."""

    begin: datetime
    moods: dict[str, dict[str, Any]] = field(default_factory=dict)
    course: dict[str, list[float]] = field(default_factory=lambda: {SUPPORT: [], BUILD: []})
    trends: dict[str, dict[str, Any]] = field(default_factory=dict)

    def time(self, beat: Beat) -> datetime:
        """When a beat happens."""
        return self.begin + timedelta(minutes=beat.minute)

    def event_id(self, minute: float | str) -> str:
        """Id of the event of a minute, other in every run."""
        return f"story-{self.begin:%Y%m%dT%H%M%S}-{minute}"

    def __rich__(self) -> Group:
        """Draw it."""
        return Group(_mood_table(self), *([_trend_table(self)] if self.trends else []))


def beat_line(stage: Stage, beat: Beat) -> Text:
    """One line: when, who, what."""
    return Text.assemble((f"{stage.time(beat):%H:%M} ", "dim"), (f"{beat.agent:8}", "bold"), beat.text)


async def play(settings: Settings, url: str) -> None:
    """Play the story; its times lie in the five hours before now. The state stays for other commands to look at."""
    from moodstream.streams.bus import Bus

    console = messages()
    query = settings.query.model_copy(update={"url": url})
    stage = Stage(datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=MINUTES + 5))
    console.print(f"\nA story of two agents of the tenant {TENANT}, told in {len(story())} events:\n")
    async with Bus(settings.streams) as bus:
        with Live(stage, console=console, auto_refresh=False) as live:
            for beat in story():
                console.print(beat_line(stage, beat), soft_wrap=True)
                await _act(bus, Service(query, TENANT), stage, beat)
                live.refresh()
                await asyncio.sleep(_PACE_SECONDS if console.is_terminal else 0)
            stage.trends = {agent: await _trends(Service(query, TENANT), agent) for agent in (SUPPORT, BUILD)}
            live.refresh()
    _farewell(console)


async def _act(bus: Bus, service: Service, stage: Stage, beat: Beat) -> None:
    """Fire one beat, wait until it is in the state, and read the mood then."""
    given = dict(beat.given)
    if beat.method == "reflection":
        given["source_memory_ids"] = [stage.event_id(minute) for minute in given["source_memory_ids"]]
    fire = getattr(bus.agent(TENANT, beat.agent), beat.method)
    receipt = await fire(**given, event_id=stage.event_id(beat.minute), occurred_at=stage.time(beat))
    found = await _applied(service, beat.agent, receipt, stage.time(beat))
    stage.moods[beat.agent] = found
    stage.course[beat.agent].append(found["mood"]["pleasure"])


async def _applied(service: Service, agent: str, receipt: Receipt, at: datetime) -> dict[str, Any]:
    """Ask for the mood until the answer includes the event."""
    last: MoodstreamError | None = None
    clock = asyncio.get_running_loop().time
    until = clock() + _PATIENCE_SECONDS
    while clock() < until:
        try:
            found = await asyncio.to_thread(service.get, "agents", agent, "mood", at=iso(at))
            if found["applied"]["position"]["offset"] > receipt.offset:
                return found
        except NotFound as error:
            last = error
        await asyncio.sleep(_POLL_SECONDS)
    raise last or NotFound(f"the event at {receipt.position} has not come into the state")


async def _trends(service: Service, agent: str) -> dict[str, Any]:
    return await asyncio.to_thread(service.get, "agents", agent, "trends")


def sparkline(values: list[float], width: int = _WIDTH) -> str:
    """Draw numbers in [-1, 1] as bars, the newest `width` of them."""
    top = len(_BARS) - 1
    return "".join(_BARS[min(max(round((value + 1) / 2 * top), 0), top)] for value in values[-width:])


def _mood_table(stage: Stage) -> Table:
    table = _table("moods", "agent", "mood", "pleasure so far", "pleasure>", "arousal>", "dominance>")
    for agent, found in sorted(stage.moods.items()):
        axes = [f"{found['mood'][axis]:+.2f}" for axis in ("pleasure", "arousal", "dominance")]
        course = Text(sparkline(stage.course[agent]), style="green" if found["mood"]["pleasure"] >= 0 else "red")
        table.add_row(agent, found["octant"], course, *axes)
    return table


def _trend_table(stage: Stage) -> Table:
    table = _table("trends", "agent", "signal", "direction", "observations>", "mean>", "p>")
    for agent, found in stage.trends.items():
        for signal, trend in found["signals"].items():
            if trend["observations"]:
                table.add_row(agent, signal, _direction(trend), *_numbers(trend))
    return table


def _table(title: str, *names: str) -> Table:
    """Make a table that fits 80 columns; a name with > is a column of numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name.rstrip(">"), justify="right" if name.endswith(">") else "left", no_wrap=True)
    return table


def _direction(trend: dict[str, Any]) -> Text:
    arrow, style = _ARROWS.get(trend["direction"], ("", ""))
    return Text(f"{arrow} {trend['direction']}", style=style)


def _numbers(trend: dict[str, Any]) -> tuple[str, str, str]:
    mean, p = trend["decayed_mean"], trend["p"]
    digits = 0 if mean is not None and abs(mean) >= 100 else 2
    return str(trend["observations"]), "-" if mean is None else f"{mean:,.{digits}f}", "-" if p is None else f"{p:.3f}"


def _farewell(console: Console) -> None:
    console.print("\nThe state stays while this runs. In another terminal:")
    for command in (
        f"moodstream mood {SUPPORT} --tenant {TENANT}",
        f"moodstream trends {BUILD} --tenant {TENANT}",
        f'moodstream recall {SUPPORT} "cannot log in" --tenant {TENANT}',
    ):
        console.print(f"  {command}", markup=False, soft_wrap=True)
