"""What audit does beside live workers, and where the log does not reach back far enough."""

from __future__ import annotations

import pytest

from moodstream.state.rows import from_before
from support import logs
from support.audits import ADA, BEA, FakeDeployment, audited, deployed, flipped, key_of, part_with


def together() -> FakeDeployment:
    """Two agents in one partition, so that one is read while the other moves on."""
    made = FakeDeployment(partitions=1)
    made.publish(*[logs.outcome(f"o{n}", n, agent_id=agent) for n in range(5) for agent in (ADA, BEA)])
    made.work()
    return made


def more(made: FakeDeployment, *, flush: bool = True, agents: tuple[str, ...] = (ADA, BEA)) -> None:
    """Let publisher and worker go on."""
    start = made.parts[0].next
    made.publish(*[logs.push(f"x{start + n}", 100 + start + n, 0.1, agent_id=agent) for n, agent in enumerate(agents)])
    made.work(flush=flush)


@pytest.mark.parametrize("step", ["meta", "changelog", "agent"])
@pytest.mark.parametrize("agents", [(ADA,), (BEA,), (ADA, BEA), ("new",), ("aaa",)])
async def test_a_worker_may_go_on_at_any_moment(step: str, agents: tuple[str, ...]) -> None:
    made = together()
    made.steps[step] = lambda: [more(made, agents=agents) for _ in range(3)]
    report = await audited(made)
    assert (report.exit_code, report.differences) == (0, 0)
    assert report.events == 10


async def test_a_chunk_that_is_in_the_changelog_and_not_yet_in_redis() -> None:
    made = together()
    made.steps["meta"] = lambda: more(made, flush=False)
    report = await audited(made)
    assert (report.exit_code, report.covered) == (0, 2)


async def test_a_fault_is_found_beside_a_live_worker() -> None:
    made = together()
    part = made.parts[0]
    key = key_of(part, "trends", BEA)

    def go_on() -> None:
        more(made)
        part.redis[key] = flipped(part.redis[key])

    made.steps["agent"] = go_on
    report = await audited(made)
    assert [one.key for one in report.kept] == [key]


async def test_a_log_that_has_lost_its_beginning_is_partly_covered() -> None:
    made = together()
    made.parts[0].start = 1  # bea's first event is still there, ada's is not
    report = await audited(made)
    assert (report.exit_code, report.agents, report.covered, report.differences) == (3, 2, 1, 0)


async def test_counts_are_those_of_the_worker_where_the_log_has_lost_its_beginning() -> None:
    made = together()
    made.publish(*[logs.outcome(f"o{n}", n, agent_id=ADA) for n in range(5)])
    made.work()
    made.parts[0].start = 4  # what ada repeats looks new to those who read from here
    counts = (await audited(made)).counts
    assert counts == {"accepted": 10, "duplicate": 5, "erased": 0, "dead": 0}


@pytest.mark.parametrize("agent", [ADA, BEA])
async def test_a_difference_weighs_more_than_partial_coverage(agent: str) -> None:
    made = together()
    part = made.parts[0]
    part.start = 1
    key = key_of(part, "memory", agent)
    part.redis[key] = flipped(part.redis[key])
    report = await audited(made)
    places = {ADA: "redis, not changelog", BEA: "redis"}
    assert (report.exit_code, report.kept[0].key, report.kept[0].places) == (1, key, [places[agent]])


async def test_partly_covered_agents_may_move_while_they_are_compared() -> None:
    made = together()
    part = made.parts[0]
    part.start = part.next
    key = key_of(part, "memory", ADA)
    made.steps["changelog"] = lambda: more(made)
    report = await audited(made)
    assert (report.exit_code, report.covered, report.differences) == (3, 0, 0)

    def go_on() -> None:
        more(made)
        part.redis[key] = flipped(part.redis[key])

    made.steps["changelog"] = go_on
    assert [one.key for one in (await audited(made)).kept] == [key]


async def test_rows_from_before_the_log_are_partly_covered() -> None:
    made = deployed()
    part = part_with(made)
    for rows in (part.redis, part.changelog):
        rows.update({key: from_before(row) for key, row in rows.items() if key.startswith(b"acme/ada\0")})
    part.log = [one for one in part.log if one.key != b"acme/ada"]
    report = await audited(made)
    assert (report.exit_code, report.agents, report.covered, report.differences) == (3, 2, 1, 0)
    lost = key_of(part, "mood")
    del part.redis[lost]
    assert [one.key for one in (await audited(made)).kept] == [lost]


async def test_a_position_beyond_the_log_is_one_of_another_log() -> None:
    made = together()
    part = made.parts[0]
    part.log, part.next = [], 0
    report = await audited(made)
    assert (report.exit_code, report.covered, report.differences) == (3, 0, 0)


async def test_a_nonsense_version_is_a_difference_and_no_endless_read() -> None:
    made = together()
    part = made.parts[0]
    key = key_of(part, "agent", ADA)
    part.redis[key] = flipped(part.redis[key], 13)
    report = await audited(made)
    assert [one.key for one in report.kept] == [key]
    assert report.covered == 2
