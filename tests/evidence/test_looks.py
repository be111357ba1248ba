"""Counting false alarms and hits: with the code that is shipped, and with numbers that are right."""

from types import SimpleNamespace

import numpy as np
import pytest

from evidence import single, steps, streams
from evidence.jobs import Job, rng_of, run
from evidence.plan import Share
from evidence.rows import rows_of
from evidence.series import WORLDS, times_ms
from moodstream.affect.bulk import look_all
from moodstream.affect.signals import SIGNALS


def test_a_run_is_stopped_where_bulk_and_service_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = rng_of(1, "differ")
    rows = rows_of(times_ms(rng, (4, 30), 1.0), {"sentiment_shift": rng.standard_normal((4, 30))})
    single.looks_at(rows)
    p = np.zeros((4, len(SIGNALS)))
    looks = look_all(rows)
    broken = SimpleNamespace(p=p, change_ms=looks.change_ms)
    monkeypatch.setattr(single, "look_all", lambda _: broken)
    with pytest.raises(RuntimeError, match="differ in"):
        single.looks_at(rows)


def test_counts_of_one_look_are_those_of_the_looks() -> None:
    rng = rng_of(3, "counts")
    values = rng.standard_normal((200, 40))
    values[:30] += np.linspace(0, 8, 40)
    values[100:110, 20:] += 9.0
    looks = look_all(rows_of(times_ms(rng, (200, 40), 1.0), {"sentiment_shift": values}))
    counts = single.ours(looks, "sentiment_shift")
    assert 40 <= counts["direction"] <= 65
    assert 35 <= counts["notice"] <= counts["direction"]
    assert counts["step"] >= 10
    rising = single.ours(looks, "sentiment_shift", looks.slope[:, SIGNALS.index("sentiment_shift")] < 0)
    assert rising["direction"] < 15


def test_false_looks_cover_a_world_and_find_little() -> None:
    found = single.false_looks(1, 0, 64, 400, 0)
    assert found.keys() == set(WORLDS[0].values())
    for counts in found.values():
        assert counts["looks"] == 400
        assert counts["direction"] <= 40
        assert counts["step"] <= 8
    assert found["normal"]["halves"] > 150


def test_a_strong_drift_is_nearly_always_a_direction() -> None:
    counts = single.drifting(1, 64, 100, 3.0)
    assert counts["direction"] >= 97
    assert single.drifting(1, 10, 100, 0.0)["direction"] <= 9


def test_a_stream_counts_each_of_its_observations() -> None:
    found = streams.false_onsets(1, 1, 2.0, 300, 0)
    assert found.keys() == set(WORLDS[1].values())
    for counts in found.values():
        assert counts["observations"] == 300
        assert counts["looks"] == 291
        assert counts["label_onsets"] <= counts["labels"] < 291
        assert counts["announced"] <= counts["step_onsets"] + 1


def test_a_stream_with_a_trend_and_a_step_is_announced() -> None:
    rng = rng_of(5, "trend")
    values = np.full((200, len(SIGNALS)), np.nan)
    values[:, SIGNALS.index("sentiment_shift")] = rng.standard_normal(200) + np.linspace(0, 15, 200)
    values[:, SIGNALS.index("response_time_ms")] = rng.standard_normal(200) + np.where(np.arange(200) < 100, 0, 4)
    watcher = streams.watched(times_ms(rng, (1, 200), 2.0)[0], values)
    assert streams.ours(watcher, "sentiment_shift")["notices"] == 1
    assert streams.ours(watcher, "response_time_ms")["announced"] >= 1
    assert streams.ours(watcher, "response_time_ms")["step_onsets"] >= 1


def test_a_large_step_is_seen_soon_and_in_its_place() -> None:
    counts = steps.normal_step(1, 6.0, 20, 0)
    assert counts["step16"] == counts["step32"] == counts["close"] == counts["cusum16"] == 20
    assert counts["announced"] == counts["last"] == 20
    nothing = steps.normal_step(1, 0.0, 60, 0)
    assert nothing["step32"] <= 6


def test_a_step_of_answers() -> None:
    counts = steps.yes_step(1, (0.9, 0.1), 20, 0)
    assert counts["step32"] >= 19


def test_results_do_not_depend_on_the_number_of_processes() -> None:
    jobs = [Job("s", (at,), single.drifting, (1, 10, 5, float(at))) for at in range(3)]
    alone = {job.name: result for job, result in run(jobs, 1)}
    assert {job.name: result for job, result in run(jobs, 2)} == alone


def test_what_a_piece_raises_ends_the_run() -> None:
    with pytest.raises(ZeroDivisionError):
        list(run([Job("s", (), divmod, (1, 0))], 2))


def test_errors_of_shares() -> None:
    assert Share.of(50, 100) == Share(0.5, 0.05)
    assert Share.of(0, 100).error == pytest.approx(0.01)
    assert Share.of(0, 0) == Share(0.0, 0.0)
    same = Share.among([4, 4, 4], [1_000, 1_000, 1_000], 1_000.0)
    assert (same.value, same.error) == (4.0, pytest.approx(12**0.5 / 3))
    apart = Share.among([0, 0, 90], [1_000, 1_000, 1_000], 1_000.0)
    assert apart.value == 30.0
    assert apart.error == pytest.approx(30.0)
