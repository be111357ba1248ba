"""The values that everything is measured on: they have to be what their names say."""

import numpy as np
import pytest

from evidence.jobs import rng_of
from evidence.rows import reports_of, row_of, rows_of, table, windows
from evidence.series import DATA, WORLDS, times_ms
from moodstream.affect.bulk import look_all
from moodstream.affect.signals import SIGNALS
from moodstream.affect.statistics import KINDS

SHAPE = (4_000, 50)


def drawn(kind: str) -> np.ndarray:
    return DATA[kind].draw(rng_of(1, kind), SHAPE)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_share_of_yes(share: float) -> None:
    values = drawn(f"yes{share}")
    assert set(np.unique(values)) == {0.0, 1.0}
    assert values.mean() == pytest.approx(share, abs=0.004)


@pytest.mark.parametrize("mean", [0.1, 0.3, 1, 3, 10])
def test_counts_are_stored_as_logarithms(mean: float) -> None:
    values = drawn(f"count{mean}")
    assert values.mean() == pytest.approx(mean, rel=0.02)
    assert values.var() == pytest.approx(mean, rel=0.03)
    assert np.allclose(np.expm1(DATA[f"count{mean}"].stored(values)), values)


@pytest.mark.parametrize("rho", [0.2, 0.4, 0.6])
def test_neighbours_correlate_and_others_less(rho: float) -> None:
    values = drawn(f"ar{rho}")
    assert values.std() == pytest.approx(1.0, abs=0.01)
    assert np.mean(values[:, 1:] * values[:, :-1]) == pytest.approx(rho, abs=0.01)
    assert np.mean(values[:, 2:] * values[:, :-2]) == pytest.approx(rho**2, abs=0.01)
    assert values[:, 0].std() == pytest.approx(1.0, abs=0.05)


def test_logged_waits_are_normal_again() -> None:
    data = DATA["logged"]
    values = drawn("logged")
    assert data.stored(values).std() == pytest.approx(1.5, abs=0.02)
    assert np.median(values) == pytest.approx(1.0, abs=0.03)


def test_times_rise_by_the_gap() -> None:
    gaps = np.diff(times_ms(rng_of(1), (100, 400), 2.0), axis=1)
    assert gaps.min() > 0
    assert gaps.mean() == pytest.approx(2 * 3_600_000, rel=0.02)


def test_every_kind_is_in_one_world_where_its_rules_are_for_it() -> None:
    places = [(kind, signal) for world in WORLDS for signal, kind in world.items()]
    assert sorted(kind for kind, _ in places) == sorted(DATA)
    for kind, signal in places:
        wanted = "boolean" if kind.startswith("yes") else "count" if kind.startswith("count") else "real"
        assert KINDS[signal] == wanted


def test_a_row_has_the_values_that_were_put_in() -> None:
    times = times_ms(rng_of(1), (2, 20), 1.0)
    values = rng_of(2).standard_normal((2, 20)).astype(np.float32).astype(np.float64)
    row = rows_of(times, {"sentiment_shift": values, "responded": np.ones((2, 20))})[1]
    assert row.observations("sentiment_shift") == list(zip(times[1].tolist(), values[1].tolist(), strict=True))
    assert [value for _, value in row.observations("responded")] == [1.0] * 20
    assert row.observations("continued") == []


def test_windows_are_the_rows_after_each_turn() -> None:
    times = times_ms(rng_of(1), (1, 90), 1.0)[0]
    reports = reports_of(times, table({"sentiment_shift": rng_of(2).standard_normal((1, 90))}, 0))
    whole = [row_of(reports[: end + 1]) for end in range(90)]
    for seen, right in zip(windows(reports), whole, strict=True):
        assert seen.observations("sentiment_shift") == right.observations("sentiment_shift")
    column = SIGNALS.index("sentiment_shift")
    assert np.array_equal(look_all(list(windows(reports))).p[:, column], look_all(whole).p[:, column])


def test_a_generator_depends_on_its_name_and_seed_only() -> None:
    values = [
        rng_of(seed, *name).random() for seed, name in [(1, ("a", 1)), (1, ("a", 2)), (1, ("b", 1)), (2, ("a", 1))]
    ]
    assert len(set(values)) == 4
    assert rng_of(1, "a", 1).random() == values[0]
