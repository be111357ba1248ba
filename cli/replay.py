"""`moodstream replay`: a chat log as the events of one tenant."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moodstream.cli.options import Annotate, Bootstrap, Json
from moodstream.cli.output import messages, screen, write_json
from moodstream.cli.settings import load
from moodstream.schemas.identity import check_id

if TYPE_CHECKING:
    from moodstream.affect.annotate import Annotator
    from moodstream.cli.chat_events import Planned, Talk
    from moodstream.streams.settings import StreamSettings


def register(app: typer.Typer) -> None:
    """Add the command `replay`."""
    app.command()(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="Chat log: JSON lines, plain or gzip.", exists=True, dir_okay=False)],
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant that the authors become agents of.")] = "ubuntu",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Take the first so many messages only.")] = None,
    annotate: Annotate = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Turn a chat log into events, sorted by time, and publish them.

    The ids are made from those of the messages: a second replay changes nothing.

    With --annotate a message carries its pleasure; what is reported about it does not.
    """
    from moodstream.cli.chat_events import Talk, plan
    from moodstream.cli.chatlog import read_messages
    from moodstream.cli.publish import sentiment

    settings = load(streams={"bootstrap": bootstrap}).streams
    check_id(tenant, "tenant")
    talk = Talk.of(read_messages(file, limit))
    planned = plan(talk)
    annotator = sentiment() if annotate else None
    begun = time.perf_counter()
    sent = asyncio.run(_publish(settings, talk, planned, tenant, annotator))
    _report(talk, planned, tenant, sent, time.perf_counter() - begun, json)


async def _publish(
    settings: StreamSettings, talk: Talk, planned: Sequence[Planned], tenant: str, annotate: Annotator | None
) -> int:
    from moodstream.cli.chat_events import to_events
    from moodstream.cli.progress import bar
    from moodstream.streams.bus import Bus

    events = to_events(talk, planned, tenant, settings.limits, annotate)
    async with Bus(settings) as bus:
        with bar(messages(), "replay", len(planned)) as advance:
            return await bus.stream(events, progress=advance)


def _report(talk: Talk, planned: Sequence[Planned], tenant: str, sent: int, seconds: float, json: bool) -> None:
    rate = sent / max(seconds, 1e-9)
    kinds = Counter(one.kind for one in planned)
    if json:
        counts = {"tenant": tenant, "messages": len(talk.messages), "events": sent, "kinds": dict(kinds)}
        write_json({**counts, "seconds": round(seconds, 3), "events_per_second": round(rate, 1)})
        return
    console = screen()
    parts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    console.print(f"{len(talk.messages):,} messages: {sent:,} events of tenant {tenant} ({parts})", soft_wrap=True)
    console.print(f"{seconds:.1f} s, {rate:,.0f} events/s")
