"""The commands that read: `agents`, `mood`, `trends`, `memories`, `recall`. They ask the query service over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from moodstream.cli.options import Json
from moodstream.cli.output import write_json
from moodstream.cli.service import Answer, Service
from moodstream.cli.settings import load
from moodstream.schemas.errors import InvalidUsage

Tenant = Annotated[str, typer.Option("--tenant", "-t", help="Whose agents.")]
Agent = Annotated[str, typer.Argument(metavar="AGENT", help="Id of the agent.")]
Url = Annotated[str | None, typer.Option("--url", help="Where the query service answers.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Clock of the question, with an offset or Z; default now.")
]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Not before this time.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time.")]
Domains = Annotated[list[str] | None, typer.Option("--domain", help="Only this domain; may be repeated.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (agents, mood, trends, memories, recall):
        app.command(command.__name__)(command)


def agents(
    tenant: Tenant,
    after: Annotated[str | None, typer.Option("--after", help="Last agent of the page before.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="Largest number of agents.")] = 100,
    order: Annotated[str, typer.Option("--order", help="id, or trend: by the trend of a signal.")] = "id",
    signal: Annotated[str | None, typer.Option("--signal", help="By which signal, for --order trend.")] = None,
    first: Annotated[
        str | None, typer.Option("--first", help="improving or declining ones, for --order trend.")
    ] = None,
    as_of: AsOf = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the agents of a tenant, or rank them by a trend."""
    from moodstream.cli import tables

    found = _service(url, tenant).get(
        "agents", after=after, limit=limit, order=order, signal=signal, first=first, as_of=as_of
    )
    _show(found, json, tables.agents if found["ranking"] is None else tables.ranking)


def mood(
    agent: Agent,
    tenant: Tenant,
    explained: Annotated[
        str | None, typer.Argument(metavar="[AGENT]", help="After `explain`: whose mood.", show_default=False)
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="At which time, with an offset or Z; default now.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Tell which shifts make up the mood.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show an agent's mood at a time; `mood explain AGENT`, or `--explain`: what made it so."""
    from moodstream.cli import tables

    if explained is not None:
        if agent != "explain":
            raise InvalidUsage(f"one agent at a time: {agent!r} and {explained!r}")
        agent, explain = explained, True
    found = _service(url, tenant).get("agents", agent, "mood", at=at, explain="true" if explain else None)
    _show(found, json, tables.explained if explain else tables.mood)


def trends(
    agent: Agent,
    tenant: Tenant,
    other: Annotated[str | None, typer.Option("--with", metavar="AGENT", help="Only with this other agent.")] = None,
    signal: Annotated[str | None, typer.Option("--signal", help="Only this signal.")] = None,
    as_of: AsOf = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show how an agent's messages land: the trend of each signal."""
    from moodstream.cli import tables

    found = _service(url, tenant).get("agents", agent, "trends", with_=other, signal=signal, as_of=as_of)
    _show(found, json, tables.trends)


def memories(
    agent: Agent,
    tenant: Tenant,
    memory_id: Annotated[str | None, typer.Argument(metavar="MEMORY", help="Id of one memory.")] = None,
    domain: Domains = None,
    since: Since = None,
    until: Until = None,
    after: Annotated[str | None, typer.Option("--after", help="`next` of the page before.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="Largest number of memories.")] = 20,
    url: Url = None,
    json: Json = False,
) -> None:
    """List what an agent remembers, newest first, or show one memory."""
    from moodstream.cli import tables

    service = _service(url, tenant)
    if memory_id is not None:
        _show(service.get("agents", agent, "memories", memory_id), json, tables.memory)
        return
    found = service.get("agents", agent, "memories", domain=domain, since=since, until=until, after=after, limit=limit)
    _show(found, json, tables.memories)


def recall(
    agent: Agent,
    tenant: Tenant,
    question: Annotated[str | None, typer.Argument(help="What to look for in the memories.")] = None,
    also: Annotated[
        list[str] | None, typer.Option("--also", metavar="AGENT", help="Ask this agent's memories too.")
    ] = None,
    domain: Domains = None,
    case: Annotated[str | None, typer.Option("--case", help="Only memories of this case.")] = None,
    since: Since = None,
    until: Until = None,
    order: Annotated[str, typer.Option("--order", help="relevance, salience or chronological.")] = "relevance",
    no_mood: Annotated[bool, typer.Option("--no-mood", help="Leave the mood out.")] = False,
    centred: Annotated[bool, typer.Option("--centred", help="At rest the mood changes nothing.")] = False,
    as_of: AsOf = None,
    k: Annotated[int, typer.Option("-k", "--top", help="How many memories.")] = 10,
    url: Url = None,
    json: Json = False,
) -> None:
    """Recall memories in the agent's mood, with the terms of each score."""
    from moodstream.cli import tables

    body: dict[str, object] = {
        "agents": [agent, *(also or [])],
        "as_agent": agent,
        "domains": domain or [],
        "case_id": case,
        "since": since,
        "until": until,
        "question": question,
        "order": order,
        "mood": "none" if no_mood else "own",
        "centred": centred,
        "as_of": as_of,
        "k": k,
    }
    _show(_service(url, tenant).post("recall", body=body), json, tables.recall)


def _service(url: str | None, tenant: str) -> Service:
    return Service(load(query={"url": url}).query, tenant)


def _show(answer: Answer, json: bool, table: Callable[[Answer], None]) -> None:
    if json:
        write_json(answer)
    else:
        table(answer)
