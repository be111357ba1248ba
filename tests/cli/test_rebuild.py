"""`moodstream rebuild`: what is asked of whom, what is refused, and how long it waits."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest
from typer.testing import CliRunner

from moodstream.affect.params import STANDARD
from moodstream.agents.heads import Head
from moodstream.cli.main import app
from moodstream.cli.rebuild import plan as planning
from moodstream.cli.rebuild import run as running
from moodstream.cli.rebuild.plan import Plan, Target, plan_all, plan_one
from moodstream.cli.rebuild.run import BEHIND, NOT_COVERED, Done, How
from moodstream.schemas.errors import InvalidUsage
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.state.rows import Kind, pack_row
from moodstream.streams.settings import StreamSettings

HOW = How(partial=False, from_offset=None, wait=1.0, yes=False, as_json=True)
PARTITIONS = 2


def head(first: int) -> bytes:
    return pack_row(Kind.AGENT, 90, struct.pack(">qQq", first, 3, 0), STANDARD.stamp)


class FakeReader:
    """Agents by key, with their rows."""

    def __init__(self, agents: dict[bytes, bytes | None]) -> None:
        self._agents = agents

    async def partitions(self) -> int:
        return PARTITIONS

    async def head(self, partition: int, key: bytes) -> bytes | None:
        assert partition == partition_of(key, PARTITIONS)
        return self._agents.get(key)

    async def heads(self, partition: int) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
        for key, row in self._agents.items():
            if partition_of(key, PARTITIONS) == partition:
                yield [(key, row)]


@pytest.fixture(autouse=True)
def log_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def starts(streams: StreamSettings, partitions: Any) -> dict[int, int]:
        return dict.fromkeys(partitions, 10)

    monkeypatch.setattr(planning, "_starts", starts)


def reader(**agents: bytes | None) -> Any:
    return FakeReader({agent_key("t", name): row for name, row in agents.items()})


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "--all"],
        ["a"],
        ["--all", "--from-offset", "3"],
    ],
)
def test_a_call_that_is_not_clear_is_refused(arguments: list[str]) -> None:
    found = CliRunner().invoke(app, ["rebuild", *arguments])
    assert isinstance(found.exception, InvalidUsage)


async def test_agents_are_told_apart_by_what_the_log_has() -> None:
    found = await plan_all(
        StreamSettings(), reader(early=head(9), late=head(10), before=head(-1), broken=b"?", gone=None), None
    )
    assert sorted(one.head.key for one in found.covered) == [b"t/late"]
    assert len(found.lost) == 4
    assert len(found.targets(partial=True)) == 5
    other = FakeReader({agent_key("t", "a"): head(20), agent_key("t2", "a"): head(20)})
    mine = await plan_all(StreamSettings(), other, "t")  # type: ignore[arg-type]
    assert [one.head.key for one in mine.covered] == [b"t/a"]


@pytest.mark.parametrize(
    ("row", "start", "refused"),
    [
        (head(50), None, False),
        (head(50), 50, False),
        (head(50), 51, True),
        (None, 51, True),
        (None, 10, False),
        (head(3), 10, False),
    ],
)
async def test_what_an_agent_has_before_an_offset_is_not_left_out(row: bytes | None, start: int, refused: bool) -> None:
    planned = plan_one(StreamSettings(), reader(a=row), "t", "a", start)
    if refused:
        with pytest.raises(InvalidUsage, match="log begins at 10"):
            await planned
    else:
        assert len((await planned).targets(partial=True)) == 1


def lost() -> Plan:
    return Plan(covered=[], lost=[Target(Head.of(b"t/a", None), 0)], starts={0: 10})


def test_nobody_loses_anything_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidUsage, match="nobody can be asked"):
        running._ask(lost(), HOW._replace(partial=True))
    running._ask(lost(), HOW._replace(partial=True, yes=True))
    running._ask(lost(), HOW)


@pytest.mark.parametrize(
    ("plan", "done", "how", "code"),
    [
        (Plan(), Done(3, 3), HOW, 0),
        (Plan(), Done(3, 2), HOW, BEHIND),
        (Plan(), Done(3, 0), HOW._replace(wait=0.0), 0),
        (lost(), Done(3, 3), HOW, NOT_COVERED),
        (lost(), Done(3, 3), HOW._replace(partial=True), 0),
    ],
)
def test_the_exit_code_says_what_is_left(
    plan: Plan, done: Done, how: How, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert running._report(plan, done, how) == code
    assert f'"applied": {done.applied}' in capsys.readouterr().out
    assert running._report(plan, done, how._replace(as_json=False)) == code
    assert f"{done.applied} of {done.sent} agents" in capsys.readouterr().out
