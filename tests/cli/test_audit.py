"""What audit finds on a deployment that stands still."""

from __future__ import annotations

import random

import pytest

from moodstream.schemas.instants import to_ms
from support import logs
from support.audits import BEA, FakeDeployment, audited, deployed, flipped, key_of, part_with, story


async def test_equal() -> None:
    report = await audited(deployed())
    assert report.exit_code == 0
    numbers = report.as_json()
    assert len(str(numbers.pop("digest"))) == 64
    assert numbers == {
        "agents": 2,
        "rows": 17,
        "events": 7,
        "accepted": 7,
        "duplicate": 0,
        "erased": 0,
        "dead": 0,
        "covered": 2,
        "differences": 0,
    }


async def test_nothing_at_all_is_equal() -> None:
    report = await audited(FakeDeployment())
    assert (report.exit_code, report.agents, report.rows) == (0, 0, 0)


@pytest.mark.parametrize("word", ["agent", "mood", "trends", "pair", "memory", "shift", "profile"])
@pytest.mark.parametrize("place", [0, 5, 19, -1])
async def test_one_bit_in_redis_is_one_difference(word: str, place: int) -> None:
    made = deployed()
    part = part_with(made)
    key = key_of(part, word)
    part.redis[key] = flipped(part.redis[key], place)
    report = await audited(made)
    assert (report.exit_code, report.differences) == (1, 1)
    assert [(one.key, one.places) for one in report.kept] == [(key, ["redis"])]


async def test_one_bit_in_the_changelog_is_one_difference() -> None:
    made = deployed()
    part = part_with(made)
    key = key_of(part, "mood")
    part.changelog[key] = flipped(part.changelog[key])
    assert [(one.key, one.places) for one in (await audited(made)).kept] == [(key, ["changelog"])]


async def test_the_same_fault_in_both_places_is_told_once() -> None:
    made = deployed()
    part = part_with(made)
    key = key_of(part, "mood")
    part.redis[key] = part.changelog[key] = flipped(part.redis[key])
    report = await audited(made)
    assert report.differences == 1
    assert report.kept[0].places == ["redis", "changelog"]


async def test_rows_that_are_missing_or_should_not_be_there() -> None:
    made = deployed()
    part = part_with(made)
    gone = key_of(part, "memory")
    row = part.redis.pop(gone)
    part.redis[b"acme/ada\0pair/nobody"] = row
    found = {one.key: (one.expected, one.found) for one in (await audited(made)).kept}
    assert found == {gone: (row, None), b"acme/ada\0pair/nobody": (None, row)}


async def test_an_agent_that_the_log_does_not_know() -> None:
    made = deployed()
    part = part_with(made)
    part.redis[b"acme/zoe\0agent"] = part.redis[key_of(part, "agent")]
    report = await audited(made)
    assert (report.exit_code, report.differences, report.agents) == (1, 1, 3)


async def test_an_agent_that_redis_has_lost() -> None:
    made = deployed()
    part = part_with(made, BEA)
    lost = [key for key in part.redis if key.startswith(b"acme/bea\0")]
    for key in lost:
        del part.redis[key]
    report = await audited(made)
    assert {one.key for one in report.kept} == set(lost)
    assert report.agents == 2


async def test_differences_are_counted_beyond_those_shown() -> None:
    made = deployed()
    for part in made.parts:
        part.redis = {key: flipped(row) for key, row in part.redis.items() if not key.startswith(b"\0")}
    report = await audited(made, shown=3)
    assert report.differences == report.rows == 17
    assert len(report.kept) == 3


async def test_how_records_end() -> None:
    made = FakeDeployment()
    made.publish(logs.outcome("o1"), logs.outcome("o1"), logs.outcome("o1", result="other"))
    part = next(part for part in made.parts if part.log)
    other = next(one for one in made.parts if one is not part)
    key, value = part.log[0].key, part.log[0].value
    made.append(part, b"acme/bea", value)
    made.append(part, None, value)
    made.append(part, key, None)
    made.append(part, key, b'{"type": "outc')
    made.append(part, key, value, ms=0)  # long before the event happened
    made.append(other, key, value, ms=to_ms(logs.START))
    made.work()
    report = await audited(made)
    counts = report.as_json()
    assert [counts[name] for name in ("events", "accepted", "duplicate", "dead")] == [9, 1, 2, 6]
    assert report.exit_code == 0


async def test_a_wrong_count_is_a_difference() -> None:
    made = deployed()
    part = part_with(made)
    part.counts["accepted"] -= 1
    part.counts["dead"] += 1
    report = await audited(made)
    assert (report.exit_code, report.differences) == (1, 2)
    expected = sum(b"ada" in (one.key or b"") for one in part.log)
    assert (report.count_faults[0].name, report.count_faults[0].expected) == ("accepted", expected)


async def test_notices_are_left_out() -> None:
    made = deployed()
    before = await audited(made)
    part = part_with(made)
    part.redis[b"acme/ada\0notice"] = b"anything"
    after = await audited(made)
    assert (after.exit_code, after.as_json()) == (0, before.as_json())


async def test_records_that_no_worker_has_folded_are_no_difference() -> None:
    made = deployed()
    made.publish(logs.outcome("o9", 9), logs.outcome("o8", 9))
    report = await audited(made)
    assert (report.exit_code, report.pending, report.events) == (0, 2, 7)


async def test_an_event_that_was_skipped_is_found() -> None:
    made = deployed()
    made.publish(logs.push("p9", 4_010))
    for part in made.parts:
        part.source = part.next
    report = await audited(made)
    words = {one.key.split(b"\0")[1].split(b"/")[0] for one in report.kept}
    assert words == {b"agent", b"mood", b"memory"}
    assert [one.name for one in report.count_faults] == ["accepted"]


async def test_a_redis_that_was_emptied_lacks_what_the_changelog_has() -> None:
    made = deployed()
    for part in made.parts:
        part.redis, part.source = {}, None
    report = await audited(made)
    assert (report.exit_code, report.differences, report.rows) == (1, 17, 0)


async def test_gaps_between_offsets_do_no_harm() -> None:
    made = FakeDeployment()
    made.publish(*story(), gap=7)
    made.work()
    report = await audited(made)
    assert (report.exit_code, report.covered, report.events) == (0, 2, 7)


async def test_digest_depends_on_the_set_of_events_alone() -> None:
    events = [event for event in story() if event.event_id not in {"pr1", "p2"}]
    one = await audited(deployed(*events))
    mixed = [*events, *events[:3]]
    random.Random(1).shuffle(mixed)  # noqa: S311 - any order will do
    other = FakeDeployment(partitions=3)
    other.publish(*mixed, gap=4)
    other.work()
    assert (await audited(other)).digest.hex() == one.digest.hex()
    assert (await audited(deployed(*events[1:]))).digest.hex() != one.digest.hex()
