"""What a round publishes: everything that input can have wrong with it, and the same each time."""

import random

from drill.names import PARTITIONS
from drill.story import AGENTS, END_MS, Raw, story
from moodstream.cli.audit.fold import judge_for
from moodstream.cli.audit.sources import Record
from moodstream.schemas.codec import encode
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.instants import to_ms
from moodstream.schemas.limits import DEFAULT_LIMITS

TROUBLES = {
    "shuffled",
    "late",
    "duplicated",
    "judged-again",
    "malformed",
    "contradicted",
    "profile",
    "erased",
    "expired",
}


def told(count: int = 1_000) -> list:
    return story(random.Random(3), count, PARTITIONS).items


def test_every_trouble_is_in_every_story() -> None:
    for seed in range(10):
        one = story(random.Random(seed), 1_500, PARTITIONS)
        assert len(one.items) == 1_500
        assert set(one.troubles) == TROUBLES
        assert all(one.troubles.values())


def test_a_story_is_the_same_each_time() -> None:
    assert told() == told()


def test_malformed_records_are_refused_and_all_others_are_not() -> None:
    for offset, item in enumerate(told()):
        if isinstance(item, Raw):
            record, partition = Record(offset, END_MS, item.key, item.value), item.partition
        else:
            wire = encode(item)
            record, partition = Record(offset, END_MS, wire.key, wire.value), partition_of(wire.key, PARTITIONS)
        event = judge_for(partition, PARTITIONS, DEFAULT_LIMITS)(record)
        assert (event is None) == isinstance(item, Raw)


def test_readers_ask_for_a_time_after_all_events() -> None:
    events = [item for item in told() if not isinstance(item, Raw)]
    assert max(to_ms(event.occurred_at) for event in events) < END_MS


def test_every_partition_has_agents() -> None:
    assert {partition_of(agent_key(*agent), PARTITIONS) for agent in AGENTS} == set(range(PARTITIONS))
