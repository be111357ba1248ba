"""The measuring and the workload of the benchmarks: wrong numbers would mislead without failing."""

import asyncio
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record import MemoryRecords

from bench import workload
from bench.flooding import BROKEN, Flood
from bench.process import cpu_seconds, peak_mb, tree
from bench.window import Sample, Span, rates
from bench.workload import Engagements, Workload, publish
from moodstream.agents.decode import decode_records
from moodstream.schemas.codec import decode
from moodstream.schemas.identity import agent_key, partition_of
from moodstream.schemas.limits import Limits
from support.chunks import Record

SIGNALS = (
    *("responded", "response_time_ms", "response_length", "sentiment_shift"),
    *("reaction_count", "continued"),
)


def steady(until: float) -> list[Sample]:
    """Give samples of 100 events a second; own CPU .5, servers .25 and the machine 1 core."""
    return [Sample(t, 100 * t, 0.5 * t, 0.25 * t, t) for t in (0, 1, 4, 9, until)]


def test_rates_of_a_steady_run() -> None:
    found = rates(steady(12), 1_000)
    assert found.events_per_s == pytest.approx(100)
    assert found.cpu_s_per_million == pytest.approx(5_000)
    assert found.other_cores == pytest.approx(0.25)


def test_slow_start_and_tail_are_left_out() -> None:
    run = [Sample(0, 0, 0, 0, 0), Sample(100, 150, 0, 0, 0), Sample(101, 250, 0, 0, 0), Sample(108, 950, 0, 0, 0)]
    run.append(Sample(500, 1_000, 0, 0, 0))
    assert rates(run, 1_000).events_per_s == pytest.approx(100)


def test_run_that_ends_early_gives_no_rate() -> None:
    with pytest.raises(ValueError, match="950"):
        rates(steady(9.4), 1_000)


SPAN = Span(warmup=3, seconds=5)


def test_a_fixed_time_begins_after_the_warm_up_from_the_first_progress() -> None:
    slow = [Sample(t, 0, 0, 0, t) for t in range(4)]
    fast = [
        Sample(4 + t, 10 * t if t < 3 else 30 + 100 * (t - 3), 0.5 * t, 0.25 * t, 4 + t, 0.1 * t) for t in range(10)
    ]
    run = [*slow, *fast]
    assert [SPAN.over(run[:count], 10_000) for count in (4, 13, 14)] == [False, False, True]
    found = SPAN.rates(run, 10_000)
    assert (found.events_per_s, found.seconds) == (pytest.approx(100), 5)
    assert found.cpu_s_per_million == pytest.approx(5_000)
    assert found.broker_cpu_s_per_million == pytest.approx(1_000)
    assert found.other_cores == pytest.approx(0.25)


def test_a_warm_up_lasts_until_the_work_is_done_where_others_have_the_cores() -> None:
    starved = [Sample(t, 100 * t, 0.5 * t, 0, 0) for t in range(30)]
    begins = {cpu: Span(4, 5, cpu).rates(starved, 10_000).seconds for cpu in (2, 4, 400)}
    assert begins == {2: 29 - 5, 4: 29 - 9, 400: 29 - 13}
    assert [Span(4, 5, 4).over(starved[:count], 10_000) for count in (14, 15)] == [False, True]


def test_a_run_that_has_done_everything_is_over_and_counts_up_to_there() -> None:
    run = [Sample(t, min(100 * t, 600), 0, 0, 0) for t in range(9)]
    assert SPAN.over(run[:7], 600)
    assert not SPAN.over(run[:6], 600)
    found = SPAN.rates(run, 600)
    assert (found.events_per_s, found.seconds) == (100, 2)
    within_the_warm_up = SPAN.rates([*run[:3], Sample(3, 600, 0, 0, 0)], 600)
    assert within_the_warm_up.seconds == 2


def test_a_run_without_progress_gives_no_rate() -> None:
    with pytest.raises(ValueError, match="no progress"):
        SPAN.rates([Sample(t, 0, 0, 0, 0) for t in range(9)], 600)


def test_engagements_have_all_signals_and_are_the_same_each_time() -> None:
    events = list(Engagements(2_000, 50))
    assert events == list(Engagements(2_000, 50))
    assert events != list(Engagements(2_000, 50, seed=8))
    decoded = [decode(key, value, [], limits=Limits(), timestamp_ms=None).event for key, value in events]
    assert {event.type_name for event in decoded} == {"engagement"}
    assert None not in {getattr(event, name) for event in decoded for name in SIGNALS}
    assert len({event.event_id for event in decoded}) == 2_000
    assert {key for key, _ in events} == {agent_key(event.tenant_id, event.agent_id) for event in decoded}
    assert (len({key for key, _ in events}), len({event.other_agent_id for event in decoded})) == (50, 20)
    gaps = {after.occurred_at - before.occurred_at for before, after in pairwise(decoded)}
    assert gaps == {timedelta(milliseconds=100)}


class Broker:
    """Takes batches, and keeps what is in them by partition."""

    def __init__(self, **settings: object) -> None:
        self.size = int(str(settings["max_batch_size"]))
        self.sent: list[tuple[int, BatchBuilder]] = []

    async def __aenter__(self) -> "Broker":
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def partitions_for(self, topic: str) -> set[int]:
        return {0, 1, 2}

    def create_batch(self) -> BatchBuilder:
        return BatchBuilder(self.size, 0, is_transactional=False)

    async def send_batch(self, batch: BatchBuilder, topic: str, *, partition: int) -> asyncio.Future[None]:
        self.sent.append((partition, batch))
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


async def test_every_record_is_published_in_order_in_the_partition_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers: list[Broker] = []
    monkeypatch.setattr(
        workload, "AIOKafkaProducer", lambda **settings: brokers.append(Broker(**settings)) or brokers[0]
    )
    monkeypatch.setattr(workload, "_BATCH_BYTES", 4_000)
    events = list(Engagements(300, 20))
    await publish(events, "nowhere", "events")
    found: dict[int, list[tuple[bytes, bytes]]] = {0: [], 1: [], 2: []}
    for partition, batch in brokers[0].sent:
        batch.close()
        records = MemoryRecords(bytes(batch._build()))
        while records.has_next():
            found[partition] += [(one.key, one.value) for one in records.next_batch()]
    assert len(brokers[0].sent) > 3
    assert found == {place: [one for one in events if partition_of(one[0], 3) == place] for place in range(3)}


def test_workload_is_what_it_says_and_the_same_each_time() -> None:
    events = list(Workload(2_000, 50))
    assert events == list(Workload(2_000, 50))
    decoded = [decode(key, value, [], limits=Limits(), timestamp_ms=None).event for key, value in events]
    kinds = Counter(event.type_name for event in decoded)
    assert set(kinds) == {"engagement", "experience.outcome"}
    assert kinds["engagement"] / len(events) == pytest.approx(0.8, abs=0.03)
    assert len({key for key, _ in events}) == 50
    assert [event.occurred_at for event in decoded] == sorted(event.occurred_at for event in decoded)


def test_half_of_a_flood_is_refused_each_for_its_reason() -> None:
    valid = Workload(320, 10)
    found = decode_records(
        (Record(number, key, value) for number, (key, value) in enumerate(Flood(valid))), 0, 1, Limits()
    )
    assert len(found.records) == len(found.refused) == 160
    codes = Counter(one.reason.code for one in found.refused)
    assert set(codes) == {"malformed_record", "unknown_type", "invalid_event", "future_event", "key_mismatch"}
    assert min(codes.values()) >= 160 // len(BROKEN)


def test_cpu_and_memory_count_the_children_too() -> None:
    burn = "import time\nwhile time.process_time() < .3: pass\nprint(1, flush=True)\ninput()"
    parent = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {burn!r}]))"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pids = tree(process.pid)
        assert len(pids) == 2
        assert cpu_seconds(pids) >= 0.25
        assert peak_mb(pids) > 5
        process.communicate(b"\n")
