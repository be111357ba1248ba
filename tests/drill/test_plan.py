"""Plans: the same for everybody who asks, each kind as often as the next, the rare ones in one round of ten."""

import json
from collections import Counter
from itertools import islice

import pytest

from drill.faults import ACTS
from drill.kinds import BROKER_GONE, KINDS, ORDINARY, SLOTS_MOVED, Kind
from drill.options import parsed, rounds_for_all
from drill.plan import CLUSTER, MOST_FAULTS, TRIO, plan_of, plans


def first(count: int, seed: int = 1) -> list:
    return list(islice(plans(seed), count))


def test_a_round_is_the_same_whoever_asks() -> None:
    assert plan_of(7, 5) == plan_of(7, 5)
    assert plan_of(7, 5) == first(6, seed=7)[5]
    assert first(20, seed=1) != first(20, seed=2)


def test_in_200_rounds_each_kind_comes_15_times_at_least() -> None:
    counts = Counter(kind for plan in first(200) for kind in plan.kinds)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 15


@pytest.mark.parametrize(("setup", "kind"), [(TRIO, BROKER_GONE), (CLUSTER, SLOTS_MOVED)])
def test_three_brokers_and_a_cluster_come_in_one_round_of_ten_each(setup: str, kind: Kind) -> None:
    rounds = first(200)
    assert [plan.setup for plan in rounds].count(setup) == 20
    assert all((kind.name in plan.kinds) == (plan.setup == setup) for plan in rounds)


def test_faults_come_alone_and_overlapping_and_each_once_in_a_round() -> None:
    plans_ = first(200)
    assert {len(plan.faults) for plan in plans_} == set(range(1, MOST_FAULTS + 1))
    assert all(len(set(plan.kinds)) == len(plan.kinds) for plan in plans_)
    pairs = [plan.faults[:2] for plan in plans_ if len(plan.faults) > 1]
    assert any(late.at < early.end for early, late in pairs)


def test_only_the_kinds_that_are_asked_for() -> None:
    wanted = ("redis-kill", "worker-zombie")
    assert {kind for plan in islice(plans(3, wanted), 50) for kind in plan.kinds} == set(wanted)
    assert {plan.setup for plan in islice(plans(3, (BROKER_GONE.name,)), 5)} == {TRIO}


def test_each_kind_can_be_acted_out_and_lasts_some_time() -> None:
    assert set(ACTS) == set(KINDS)
    assert all(0 < kind.least <= kind.most for kind in KINDS.values())
    assert all(
        KINDS[fault.kind].least <= fault.seconds <= KINDS[fault.kind].most
        for plan in first(50)
        for fault in plan.faults
    )


def test_chance_of_one_purpose_is_its_own() -> None:
    plan = plan_of(1, 0)
    assert plan.rng("story").random() == plan.rng("story").random()
    assert plan.rng("story").random() != plan.rng("reader").random()


def test_a_plan_is_an_object() -> None:
    assert json.loads(json.dumps(plan_of(1, 3).as_json()))["number"] == 3


def test_the_short_drill_has_every_kind() -> None:
    options = parsed(["--short"])
    assert {kind for plan in first(options.rounds) for kind in plan.kinds} == set(KINDS)
    assert options.rounds == rounds_for_all(1, tuple(KINDS)) <= 2 * len(ORDINARY)


def test_a_fault_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parsed(["--faults", "meteorite"])
    assert stop.value.code == 2
    assert "worker-kill" in capsys.readouterr().err


def test_the_command_that_repeats_a_round_gives_the_same_plan() -> None:
    options = parsed(["--seed", "5", "--faults", "redis-kill,kafka-kill", "--rate", "50", "--rounds", "9"])
    again = parsed(options.repeat(8).split()[1:])
    assert (again.only, again.identity) == (8, options.identity)
