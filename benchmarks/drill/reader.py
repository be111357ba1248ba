"""Reads the query service all the while, and keeps what it answered, to be judged when the log is known."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from drill.story import AGENTS, END_MS
from moodstream.schemas.identity import encode_id
from moodstream.schemas.instants import from_ms, iso
from support.waiting import eventually

PAUSE_SECONDS = 0.04
_PATIENCE_SECONDS = 6.0
_PAGE = 500


@dataclass(frozen=True)
class Answer:
    """One answer about one agent: to `mood`, or to `memories`."""

    tenant: str
    agent: str
    what: str
    body: dict[str, Any]


@dataclass
class Reader:
    """Asks for the mood of an agent, or for all that it remembers."""

    url: str
    rng: random.Random
    answers: list[Answer] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    """How often which status was answered, or that nothing was."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """Tenant and agent of those that were found once."""
    gone: set[tuple[str, str]] = field(default_factory=set)
    """Those that were found once, and later not."""
    broken: list[str] = field(default_factory=list)
    """Answers that no fault excuses, such as a 500."""

    async def run(self) -> None:
        """Ask until cancelled."""
        async with httpx.AsyncClient(base_url=self.url, timeout=_PATIENCE_SECONDS, trust_env=False) as client:
            while True:
                what = "mood" if self.rng.random() < 0.8 else "memories"
                await self._ask(client, *self.rng.choice(AGENTS), what)
                await asyncio.sleep(PAUSE_SECONDS)

    async def _ask(self, client: httpx.AsyncClient, tenant: str, agent: str, what: str) -> None:
        path = f"/v1/tenants/{encode_id(tenant)}/agents/{encode_id(agent)}/{what}"
        asked = {"at": iso(from_ms(END_MS))} if what == "mood" else {"limit": str(_PAGE)}
        try:
            answer = await client.get(path, params=asked)
        except httpx.HTTPError as error:
            self.statuses[type(error).__name__] += 1
            return
        self._keep(answer, tenant, agent, what)

    def _keep(self, answer: httpx.Response, tenant: str, agent: str, what: str) -> None:
        self.statuses[str(answer.status_code)] += 1
        if answer.status_code == httpx.codes.OK:
            self.known.add((tenant, agent))
            self.answers.append(Answer(tenant, agent, what, answer.json()))
        elif answer.status_code == httpx.codes.NOT_FOUND:
            self.gone |= self.known & {(tenant, agent)}
        elif answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            self.broken.append(f"{answer.request.url}: {answer.status_code} {answer.text[:300]}")


async def everything(url: str, tenant: str, agent: str) -> list[dict[str, Any]]:
    """All memories of an agent, page by page; none where the service knows no such agent.

    Waits while the service says that it cannot answer now: on a busy machine a worker may lose its session just then.
    """
    found: list[dict[str, Any]] = []
    path = f"/v1/tenants/{encode_id(tenant)}/agents/{encode_id(agent)}/memories"
    asked: dict[str, str] = {"limit": str(_PAGE)}
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:

        async def answered() -> httpx.Response | None:
            answer = await client.get(path, params=asked)
            return None if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE else answer

        while True:
            answer = await eventually(answered, what=f"an answer about {agent}")
            if answer.status_code == httpx.codes.NOT_FOUND:
                return found
            body = answer.raise_for_status().json()
            found += body["memories"]
            if body["next"] is None:
                return found
            asked["after"] = body["next"]
