"""The measuring and the workload of the benchmarks: wrong numbers would mislead without failing."""

import subprocess
import sys
from collections import Counter

import pytest

from bench.flooding import BROKEN, Flood
from bench.process import cpu_seconds, peak_mb, tree
from bench.window import Sample, rates
from bench.workload import Workload
from moodstream.agents.decode import decode_records
from moodstream.schemas.codec import decode
from moodstream.schemas.limits import Limits
from support.chunks import Record


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
