"""What audit makes of erasures: agents that are only in the log and in the marker rows, beside live workers."""

from __future__ import annotations

import pytest

from moodstream.cli.audit.digest import stripped
from moodstream.cli.audit.explain import fields
from moodstream.cli.audit.screen import key_text
from moodstream.cli.oracle.layout import MARKERS, marker_key
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.events import InputEvent
from moodstream.state.rows import from_before, pack_erased
from support import logs
from support.audits import ADA, BEA, FakeDeployment, audited, deployed, flipped, part_with, story

ADA_MARKER = marker_key(b"acme/ada")


def erase(name: str = "x", seconds: float = 9_000, agent: str = ADA, **target: str) -> InputEvent:
    """An erasure, of the agent where nothing else is said."""
    scope = {"memory_id": "memory", "other_agent_id": "other_agent"}.get(next(iter(target), ""), next(iter(target), ""))
    return logs.event(Erase, name, seconds, agent_id=agent, scope=scope or "agent", **target)


@pytest.mark.parametrize("target", [{}, {"domain": "mood"}, {"memory_id": "o1"}, {"other_agent_id": "bob"}])
async def test_after_an_erasure_everything_is_equal(target: dict[str, str]) -> None:
    made = deployed(*story(), erase(**target), logs.outcome("late", 100), logs.outcome("new", 9_999))
    report = await audited(made)
    assert (report.exit_code, report.agents, report.covered) == (0, 2, 2)
    assert report.counts["erased"] == (1 if not target else 0)


async def test_an_agent_of_which_only_the_marker_is_left() -> None:
    made = deployed(*story(), erase())
    report = await audited(made)
    assert (report.exit_code, report.agents, report.covered) == (0, 2, 2)
    part = next(part for part in made.parts if ADA_MARKER in part.redis)
    del part.redis[ADA_MARKER]
    assert [(one.key, one.places) for one in (await audited(made)).kept] == [(ADA_MARKER, ["redis"])]


async def test_what_came_back_is_a_difference() -> None:
    before, after = deployed(*story()), deployed(*story(), erase())
    key = next(key for key in sorted(part_with(before).redis) if key.startswith(b"acme/ada\0memory"))
    part = next(part for part in after.parts if ADA_MARKER in part.redis)
    for rows in (part.redis, part.changelog):
        rows[key] = part_with(before).redis[key]
    report = await audited(after)
    assert [(one.key, one.expected) for one in report.kept] == [(key, None)]


async def test_a_marker_of_nobody_is_a_difference() -> None:
    made = deployed(*story())
    stray = marker_key(b"acme/nobody")
    made.parts[0].redis[stray] = made.parts[0].changelog[stray] = flipped(erased_row(made))
    report = await audited(made)
    assert [(one.key, one.places) for one in report.kept] == [(stray, ["redis", "changelog"])]


def erased_row(made: FakeDeployment) -> bytes:
    """The marker row of an agent that is erased in a copy of the deployment."""
    other = deployed(*story(), erase())
    return next(part.redis[ADA_MARKER] for part in other.parts if ADA_MARKER in part.redis)


async def test_a_marker_from_before_the_log_is_partly_covered() -> None:
    made = deployed(*story(), erase())
    part = next(part for part in made.parts if ADA_MARKER in part.redis)
    part.start = part.next
    report = await audited(made)
    assert (report.exit_code, report.differences) == (3, 0)
    part.redis[ADA_MARKER] = flipped(part.redis[ADA_MARKER])
    assert [one.key for one in (await audited(made)).kept] == [ADA_MARKER]


async def test_a_marker_of_another_log_is_partly_covered_also_where_it_was_changed_since() -> None:
    made = deployed(logs.outcome("o1"), erase(domain="mood"))
    part = part_with(made)
    part.log = []
    for rows in (part.redis, part.changelog):
        rows.update({key: from_before(row) for key, row in rows.items() if key != b"\0owner" and key != b"\0position"})
        rows[ADA_MARKER] = pack_erased(7, rows[ADA_MARKER][20:])
    report = await audited(made)
    assert (report.exit_code, report.differences, report.covered) == (3, 0, 0)


@pytest.mark.parametrize("step", ["meta", "changelog", "agent", "markers"])
@pytest.mark.parametrize("agent", [ADA, BEA, "new"])
async def test_a_worker_may_erase_at_any_moment(step: str, agent: str) -> None:
    made = FakeDeployment(partitions=1)
    made.publish(*story())
    made.work()

    def go_on() -> None:
        made.publish(erase("x1", agent=agent), logs.outcome("late", 1, agent_id=agent))
        made.work()

    made.steps[step] = go_on
    report = await audited(made)
    assert (report.exit_code, report.differences) == (0, 0)


async def test_expired_memories_are_gone_on_all_sides() -> None:
    expire = logs.event(Expire, "x", 9_000, before=logs.at(1_000))
    report = await audited(deployed(*story(), expire, logs.outcome("late", 999)))
    assert (report.exit_code, report.counts["erased"]) == (0, 1)


def test_a_marker_row_is_told_in_words_and_counts_without_its_offsets() -> None:
    rows = [
        next(part.redis[ADA_MARKER] for part in deployed(*first, erase()).parts if ADA_MARKER in part.redis)
        for first in ([], story())
    ]
    assert rows[0] != rows[1]
    assert stripped(rows[0]) == stripped(rows[1])
    found = fields(rows[1])
    assert (found["erasure 0 of"], found["erasure 0 time"]) == ("agent", int(logs.at(9_000).timestamp() * 1000))
    assert fields(pack_erased(3, bytes(16)))["erased at"] == 0
    assert key_text(ADA_MARKER) == " erased/" + ADA_MARKER.removeprefix(MARKERS).hex()
