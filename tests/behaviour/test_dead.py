"""Dead letters through their commands: listed, shown, replayed once, purged."""

from __future__ import annotations

import json
from typing import Any

from aiokafka import AIOKafkaProducer

from moodstream.schemas.events import InputEvent
from moodstream.schemas.identity import agent_key, partition_of
from support.events import T0_MS, erase, life, outcome
from support.running import Running

TENANT, AGENT = "t", "agent-0"
KEY = agent_key(TENANT, AGENT)
LATE_MS = T0_MS + 30 * 3_600_000
HOUR_MS = 3_600_000
WRITTEN_MS = 1_790_000_000_000
"""When the records of the tests were written, as they say themselves."""


async def post(run: Running, values: list[bytes | None], *, off: int = 0, headers: Any = ()) -> None:
    """Send raw values with the agent's key, `off` partitions away from where they belong."""
    count, topic = run.deployment.streams.partitions, run.deployment.streams.topics.events
    partition = (partition_of(KEY, count) + off) % count
    async with AIOKafkaProducer(bootstrap_servers=run.deployment.platform.bootstrap) as producer:
        for value in values:
            await producer.send_and_wait(
                topic, value, key=KEY, partition=partition, headers=list(headers), timestamp_ms=WRITTEN_MS
            )


def misplaced() -> list[InputEvent]:
    return [outcome(TENANT, AGENT, f"x{i}", LATE_MS + i) for i in range(3)]


def future() -> bytes:
    return outcome(TENANT, AGENT, "future", WRITTEN_MS + 3_600_000).model_dump_json().encode()


async def buried(run: Running) -> list[dict[str, Any]]:
    """A log with accepted events, and letters for four reasons; gives the letters as listed."""
    await run.fire(life(AGENT, 2))
    await post(run, [event.model_dump_json().encode() for event in misplaced()], off=1, headers=[("trace", b"1")])
    await post(run, [b"{", None, b"\xff\x00" * 9, future(), b"v" * 800_000])
    run.worker()
    await run.read(len(life(AGENT, 2)) + 8)
    return await listed(run)


async def listed(run: Running, *filters: str) -> list[dict[str, Any]]:
    code, lines = await run.command("dead", "list", *filters)
    assert code == 0
    assert lines[-1]["letters"] >= len(lines) - 1
    return lines[:-1]


async def replay(run: Running, *words: str, code: int = 0) -> dict[str, Any]:
    found, (result,) = await run.command("dead", "replay", "--yes", *words)
    assert found == code, result
    return result


async def test_letters_are_listed_filtered_and_shown(run: Running) -> None:
    letters = await buried(run)
    reasons = [letter["reason"] for letter in letters]
    assert sorted(reasons) == sorted(
        ["partition_mismatch"] * 3 + ["malformed_record"] * 3 + ["future_event", "event_too_large"]
    )
    assert letters == sorted(letters, key=lambda letter: (letter["refused_at"], letter["letter"]))
    assert [one["reason"] for one in await listed(run, "--reason", "malformed_record")] == ["malformed_record"] * 3
    assert len(await listed(run, "--limit", "2")) == 2
    assert len(await listed(run, "--since", "1h", "--topic", run.deployment.streams.topics.events)) == 8
    for none in (("--until", "1h"), ("--topic", "other"), ("--reason", "fenced")):
        assert await listed(run, *none) == []
    broken = next(one for one in letters if one["bytes"] == 18)
    assert broken["written_at"] == "2026-09-21T14:13:20Z"
    _, (shown,) = await run.command("dead", "show", broken["letter"])
    assert (shown["value_base64"], shown["replays"], shown["topic"]) == (
        "/wD/AP8A/wD/AP8A/wD/AP8A",
        0,
        run.deployment.streams.topics.events,
    )
    assert (await run.output("dead", "show", broken["letter"], "--raw"))[1] == b"\xff\x00" * 9
    _, out, _ = await run.output("dead", "show", broken["letter"])
    assert b"00000010  ff 00" in out
    code, (error,) = await run.command("dead", "show", "0:999999")
    assert (code, error["code"]) == (2, "not_found")
    code, (error,) = await run.command("dead", "list", "--partition", "77")
    assert (code, error["code"]) == (2, "not_found")


async def test_a_letter_counts_once_however_often_it_is_replayed(run: Running) -> None:
    await buried(run)
    before = await run.counts()
    reason = ("--reason", "partition_mismatch")
    dry = await replay(run, *reason, "--dry-run")
    assert (dry["replayed"], dry["dry_run"], await run.counts()) == (3, True, before)
    assert (await replay(run, *reason))["replayed"] == 3
    await _check_records(run, (await listed(run, *reason))[0]["letter"])
    total = sum(before.values())
    after = await run.read(total + 3)
    assert (after["accepted"], after["dead"]) == (before["accepted"] + 3, before["dead"])
    second = await replay(run, *reason)
    assert (second["replayed"], second["already"]) == (0, 3)
    again = await replay(run, *reason, "--again")
    assert again["replayed"] == 3
    after = await run.read(total + 6)
    assert (after["accepted"], after["duplicate"]) == (before["accepted"] + 3, 3)
    assert all(one["replayed"] for one in await listed(run, *reason))
    code, found = await run.audit()
    assert (code, found["differences"]) == (0, 0)


async def _check_records(run: Running, first: str) -> None:
    """A replayed record is the one that was, with its time and its headers, and says which letter it was."""
    records = await run.consume(run.deployment.streams.topics.events, 5 + 8 + 3)
    (record,) = [one for one in records if dict(one.headers).get("x-moodstream-replay-of") == first.encode()]
    assert dict(record.headers) == {
        "trace": b"1",
        "x-moodstream-replays": b"1",
        "x-moodstream-replay-of": first.encode(),
    }
    assert (record.timestamp, record.key, json.loads(record.value)["event_id"]) == (WRITTEN_MS, KEY, "x0")


async def test_a_letter_that_fails_again_says_so_and_does_not_multiply(run: Running) -> None:
    letters = await buried(run)
    total = sum((await run.counts()).values())
    result = await replay(run)
    (cut,) = result["impossible"]
    assert (result["replayed"], "SHA-256" in cut["why"]) == (7, True)
    counts = await run.read(total + 7)
    assert counts["dead"] == 8 + 4
    newer = (await listed(run))[8:]
    assert sorted(one["reason"] for one in newer) == ["future_event"] + ["malformed_record"] * 3
    assert {one["replays"] for one in newer} == {1}
    assert {one["replay_of"] for one in newer} < {one["letter"] for one in letters}
    # Measured against the record's own time, the future stays the future, however long one waits with the replay.
    assert {one["written_at"] for one in newer} == {"2026-09-21T14:13:20Z"}
    result = await replay(run)
    assert (result["replayed"], result["already"]) == (0, 11)
    result = await replay(run, "--again", "--reason", "future_event")
    assert (result["replayed"], result["already"]) == (1, 1)
    await run.read(total + 8)
    newest = (await listed(run, "--reason", "future_event"))[-1]
    assert newest["replays"] == 2
    result = await replay(run, cut["letter"], "0:999999", newest["letter"], code=1)
    assert (result["replayed"], result["missing"]) == (1, ["0:999999"])


async def test_what_was_erased_does_not_come_back_by_a_replay(run: Running) -> None:
    await buried(run)
    before = await run.counts()
    await run.fire([erase(TENANT, AGENT, "forget", LATE_MS + HOUR_MS)])
    total = sum(before.values())
    await run.read(total + 1)
    assert (await replay(run, "--reason", "partition_mismatch"))["replayed"] == 3
    after = await run.read(total + 4)
    assert (after["accepted"], after["erased"]) == (before["accepted"] + 1, before["erased"] + 3)
    code, found = await run.audit()
    assert (code, found["differences"], found["erased"]) == (0, 0, after["erased"])


async def test_letters_are_purged_where_the_broker_can_and_nothing_is_done_unasked(run: Running) -> None:
    await buried(run)
    code, (found,) = await run.command("dead", "purge", "--all" if run.deployment.platform.is_real else "--before=1h")
    if run.deployment.platform.is_real:  # nobody can be asked
        assert (code, found["code"]) == (2, "invalid_usage")
        assert (await run.output("dead", "purge", "--all"))[0] == 1
    code, (error,) = await run.command("dead", "replay")
    assert (code, error["code"]) == (2, "invalid_usage")
    code, _, err = await run.output("dead", "replay")
    assert (code, b"Replay them?" in err) == (1, True)
    assert len(await listed(run)) == 8
    code, (found,) = await run.command("dead", "purge", "--before", "1h", "--yes")
    assert (code, found["purged"]) == (0, 0)
    code, (found,) = await run.command("dead", "purge", "--all", "--yes")
    if not run.deployment.platform.is_real:
        assert (code, found["code"]) == (2, "unsupported_broker")
        assert len(await listed(run)) == 8
        return
    assert (code, found["purged"], await listed(run)) == (0, 8, [])
    # The worker goes on, and so do the letters.
    await post(run, [b"{"])
    await run.read(5 + 9)
    (letter,) = await listed(run)
    assert (await run.command("dead", "show", letter["letter"]))[0] == 0
    code, (found,) = await run.command("dead", "purge", "--upto", letter["letter"], "--yes")
    assert (found["purged"], await listed(run)) == (1, [])
