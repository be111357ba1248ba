"""Each check finds what it looks for, and nothing in a round in which all went well."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from math import e
from typing import Any

import pytest

from drill import checks
from drill.evidence import announced
from drill.names import PARTITIONS
from drill.publisher import Sent
from drill.reader import Answer
from drill.story import END_MS, HOUR_MS, Raw, story
from drill.truth import Life, Truth
from moodstream.cli.audit.sources import Record
from moodstream.schemas.codec import encode
from moodstream.schemas.erasure import Erase, Expire
from moodstream.schemas.identity import agent_key, partition_of, split_key
from moodstream.schemas.instants import from_ms, iso

AXES = ("pleasure", "arousal", "dominance")


class Played:
    """A round that went well: its log, the publisher's list, and what readers were told."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.log: dict[int, list[Record]] = {partition: [] for partition in range(PARTITIONS)}
        for item in story(random.Random(4), 600, PARTITIONS).items:
            wire = item if isinstance(item, Raw) else encode(item)
            partition = item.partition if isinstance(item, Raw) else partition_of(wire.key, PARTITIONS)
            records = self.log[partition]
            self.sent.append(Sent(item, partition, len(records)))
            records.append(Record(len(records), END_MS, wire.key, wire.value))
        self.truth = Truth.of(self.log, PARTITIONS)
        self.expected = checks.expected_memories(self.sent, self.truth)
        self.listed = {key: Counter(names) for key, names in self.expected.items()}

    @property
    def announced(self) -> dict[bytes, checks.Told]:
        """The last mood of each agent that has one."""
        return {
            key: checks.Told(life.mood_offset, life.prefixes[max(life.prefixes)].displacement)
            for key, life in self.truth.lives.items()
            if life.mood_offset >= 0
        }

    def answer(self, what: str, after: int = 3) -> Answer:
        """A right answer about some agent after some of its records."""
        key, life = next((key, life) for key, life in self.truth.lives.items() if len(life.memories) > 6)
        version = sorted(life.prefixes)[after]
        mood, displacement, names = life.prefixes[version]
        body: dict[str, Any] = {"applied": {"version": version}}
        body["mood"] = dict(zip(AXES, mood, strict=True))
        body["displacement"] = dict(zip(AXES, displacement, strict=True))
        body |= {"next": None, "memories": [{"memory_id": name, "type": "reflection"} for name in sorted(names)]}
        return Answer(*split_key(key), what, body)


@pytest.fixture(scope="module")
def played() -> Played:
    return Played()


def test_a_round_that_went_well_has_no_finding(played: Played) -> None:
    records = sum(len(each) for each in played.log.values())
    letters = {(one.partition, one.offset) for one in played.sent if isinstance(one.item, Raw)}
    assert checks.not_in_log(played.sent, played.log) == []
    assert checks.lost_memories(played.expected, played.listed) == []
    assert checks.double_memories(played.expected, played.listed) == []
    assert checks.miscounted(played.truth, played.truth.counts, records) == ([], [])
    assert checks.unburied(played.sent, letters) == []
    assert checks.unannounced(played.truth, played.announced) == []
    assert checks.false_reads(played.truth, [played.answer("mood"), played.answer("memories")]) == []


def test_an_acknowledged_record_that_is_not_in_the_log_is_lost(played: Played) -> None:
    log = {**played.log, 1: played.log[1][:-1]}
    assert len(checks.not_in_log(played.sent, log)) == 1


def test_an_acknowledged_record_that_became_another_is_lost(played: Played) -> None:
    log = {**played.log, 1: [played.log[1][0]._replace(value=b"other"), *played.log[1][1:]]}
    assert len(checks.not_in_log(played.sent, log)) == 1


def test_an_event_that_is_no_memory_is_lost(played: Played) -> None:
    key, names = next(iter(played.listed.items()))
    listed = {**played.listed, key: Counter(list(names)[1:])}
    assert len(checks.lost_memories(played.expected, listed)) == 1
    assert len(checks.lost_memories(played.expected, {})) == sum(map(len, played.expected.values()))


def test_a_memory_that_is_there_twice_or_of_no_event_is_double(played: Played) -> None:
    key, names = next(iter(played.listed.items()))
    listed = {**played.listed, key: names + Counter([next(iter(names)), "nobody's"])}
    assert len(checks.double_memories(played.expected, listed)) == 2


@pytest.mark.parametrize(("change", "found"), [(-1, (1, 0)), (1, (0, 1))])
def test_events_accepted_too_often_or_not_are_found_by_the_counts(
    played: Played, change: int, found: tuple[int, int]
) -> None:
    counts = played.truth.counts + Counter()
    counts["accepted"] += change
    counts["duplicate"] -= change
    lost, double = checks.miscounted(played.truth, counts, sum(counts.values()))
    assert (len(lost), len(double)) == found


def test_counts_that_do_not_add_up_to_the_records_are_found(played: Played) -> None:
    total = sum(played.truth.counts.values())
    assert checks.miscounted(played.truth, played.truth.counts, total + 1)[0]
    assert checks.miscounted(played.truth, played.truth.counts, total - 1)[1]


def test_what_an_erasure_took_is_not_expected_and_what_it_left_is(played: Played) -> None:
    erased = {agent_key(one.item.tenant_id, one.item.agent_id) for one in played.sent if is_erasure(one)}
    published = checks.expected_memories([one for one in played.sent if not is_erasure(one)], Truth())
    assert erased
    assert any(played.expected[key] < published[key] for key in erased)
    assert all(played.expected[key] == published[key] for key in published.keys() - erased)


def is_erasure(one: Sent) -> bool:
    return isinstance(one.item, Erase | Expire)


def test_a_malformed_record_without_a_letter_is_found(played: Played) -> None:
    assert len(checks.unburied(played.sent, set())) == sum(isinstance(one.item, Raw) for one in played.sent)


def test_a_mood_that_was_not_announced_is_found(played: Played) -> None:
    moved = [life for life in played.truth.lives.values() if life.mood_offset >= 0]
    assert len(checks.unannounced(played.truth, {})) == len(moved)


def test_an_announcement_of_another_mood_is_found(played: Played) -> None:
    (key, told), *_ = played.announced.items()
    wrong = {**played.announced, key: told._replace(displacement=(0.9, 0.0, 0.0))}
    assert len(checks.unannounced(played.truth, wrong)) == 1


def test_the_last_announcement_is_what_a_subscriber_goes_by() -> None:
    early, late = (
        {
            "sequence": at,
            "occurred_at": iso(from_ms(END_MS - HOUR_MS)),
            "displacement": [x, 0, 0],
            "tau_hours": [1, 1, 1],
        }
        for at, x in ((4, 0.5), (9, 0.25))
    )
    records = [Record(n, 0, b"a", json.dumps(said).encode()) for n, said in enumerate((early, late, early))]
    assert announced({0: records}) == {b"a": checks.Told(9, (pytest.approx(0.25 / e), 0.0, 0.0))}


def test_a_mood_that_was_announced_may_be_gone_with_its_agent_and_not_otherwise() -> None:
    key = agent_key("red", "ada")
    assert checks.unannounced(Truth(lives={key: Life(erased=True)}), {key: checks.Told(7, (0.0, 0.0, 0.0))}) == []
    assert len(checks.unannounced(Truth(lives={key: Life()}), {key: checks.Told(7, (0.0, 0.0, 0.0))})) == 1


def test_an_agent_may_vanish_when_it_was_erased_and_not_otherwise() -> None:
    truth = Truth(lives={agent_key("red", "ada"): Life(erased=True), agent_key("red", "bea"): Life()})
    assert checks.vanished(truth, [("red", "ada")]) == []
    assert len(checks.vanished(truth, [("red", "ada"), ("red", "bea")])) == 1


def altered(answer: Answer, change: Callable[[dict[str, Any]], None]) -> Answer:
    change(answer.body)
    return answer


def test_a_mood_of_no_prefix_is_a_false_read(played: Played) -> None:
    moods = [played.answer("mood", after).body["mood"] for after in (3, 5)]
    wrong = altered(played.answer("mood", 3), lambda body: body.update(mood=moods[1]))
    assert moods[0] != moods[1]
    assert len(checks.false_reads(played.truth, [wrong])) == 1


def test_a_version_that_is_of_no_record_is_a_false_read(played: Played) -> None:
    wrong = altered(played.answer("mood"), lambda body: body["applied"].update(version=10**6))
    assert len(checks.false_reads(played.truth, [wrong])) == 1


def test_a_memory_too_few_or_from_the_future_is_a_false_read(played: Played) -> None:
    few = altered(played.answer("memories"), lambda body: body["memories"].pop())
    more = played.answer("memories", 5).body["memories"]
    many = altered(played.answer("memories", 3), lambda body: body.update(memories=more))
    assert len(checks.false_reads(played.truth, [few, many])) == 2


def test_a_signal_is_listed_by_its_shift_and_other_events_beside_theirs() -> None:
    memories = [
        {"memory_id": "a", "type": "experience.outcome"},
        {"memory_id": "mood:a", "type": "mood.state"},
        {"memory_id": "mood:s", "type": "mood.state"},
        {"memory_id": "mood:s", "type": "mood.state"},
    ]
    assert checks.names_of(memories) == Counter(a=1, s=2)


def test_moods_agree_with_the_oracle_after_every_record(played: Played) -> None:
    """The oracle's own rows at a prefix, read by the query's code, give what readers are held to."""
    from moodstream.affect.mood import MoodRow, mood_at
    from moodstream.cli.audit.fold import judge_for
    from moodstream.cli.oracle import OracleAgent
    from moodstream.schemas.limits import DEFAULT_LIMITS
    from moodstream.schemas.profile import DEFAULT_PROFILE
    from moodstream.state.profile_row import Profile
    from moodstream.state.rows import unpack_row

    for partition, records in played.log.items():
        judge = judge_for(partition, PARTITIONS, DEFAULT_LIMITS)
        oracles: dict[bytes, OracleAgent] = {}
        for record in records:
            event = judge(record)
            if event is None:
                continue
            key = agent_key(event.tenant_id, event.agent_id)
            oracle = oracles.setdefault(key, OracleAgent(event.tenant_id, event.agent_id))
            if oracle.apply(record.offset, event) != "accepted":
                continue
            bodies = {key: unpack_row(row).body for key, row in oracle.rows().items()}
            row = MoodRow.unpack(bodies.get(key + b"\0mood"))
            profile = Profile.unpack(bodies.get(key + b"\0profile"), DEFAULT_PROFILE)
            reading = mood_at(row, END_MS, profile.dynamics)
            right = played.truth.lives[key].prefixes[record.offset]
            assert right.mood == pytest.approx(reading.mood, abs=1e-12)
            assert right.displacement == pytest.approx(reading.displacement, abs=1e-12)
