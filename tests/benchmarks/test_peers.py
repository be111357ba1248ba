"""The worker beside its peers: a wrong output is found, and ratios and targets are what they say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from bench import installing
from bench.audited import Sample, Sampled, unaccepted
from bench.contenders import PEERS, chosen
from bench.contest import in_turn
from bench.profiling import hottest
from bench.reference import Reference
from bench.standing import outcome, unsound
from bench.subjects import told
from bench.terms import OURS, Contest, Run, Terms
from bench.workload import Engagements
from moodstream.cli.audit.report import Report
from moodstream.cli.audit.run import audit
from moodstream.cli.audit.sources import Meta, Rows
from moodstream.schemas.limits import DEFAULT_LIMITS
from peers import fold
from support import logs
from support.audits import ADA, BEA, FakeDeployment, flipped, key_of

EVENTS = [value for _, value in Engagements(60, 4)]


# -- the oracle of the peers


def given_out(bodies: Iterable[bytes]) -> list[dict[str, Any]]:
    """What a peer gives out for events."""
    states: dict[str, tuple[list[float], list[float]]] = {}
    found = []
    for body in bodies:
        event = SimpleNamespace(**json.loads(body))
        t = fold.seconds(event.occurred_at)
        mood, trend = states.get(event.agent_id, (None, None))
        states[event.agent_id] = fold.mood(mood, event, t), fold.trend(trend, event, t)
        found.append(fold.output(event, *states[event.agent_id]))
    return found


def judged(outputs: list[dict[str, Any]], *, one_each: bool = True) -> tuple[int, int]:
    """How many outputs were checked, and how many are wrong."""
    reference = Reference()
    for body in EVENTS:
        reference.add(body)
    found = reference.check([json.dumps(one).encode() for one in outputs], one_each=one_each)
    return found.checked, found.wrong


def test_outputs_of_the_fold_are_right() -> None:
    assert judged(given_out(EVENTS)) == (60, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"p": 0.9},
        {"a": -0.3},
        {"d": 0.0123},
        {"mean": [1.0, 2.0, 3.0, 4.0]},
        {"slope": [1.0, 2.0, 3.0, 4.0]},
        {"agent_id": "somebody"},
    ],
)
def test_a_wrong_value_is_found(change: dict[str, Any]) -> None:
    outputs = given_out(EVENTS)
    outputs[41] |= change
    assert judged(outputs) == (60, 1)
    assert judged(outputs, one_each=False) == (60, 1)


def test_a_slope_may_be_off_by_what_cancels_out_and_no_more() -> None:
    outputs = given_out(EVENTS)
    outputs[50]["slope"][0] *= 1 + 1e-10
    assert judged(outputs) == (60, 0)
    outputs[50]["slope"][0] *= 1.01
    assert judged(outputs) == (60, 1)


def test_an_output_that_is_missing_or_doubled_is_found() -> None:
    outputs = given_out(EVENTS)
    assert judged(outputs[:30] + outputs[31:])[1] == 29
    assert judged([*outputs[:30], *outputs[29:]])[1] == 30


def test_an_aggregate_is_compared_after_the_events_that_it_names() -> None:
    outputs = given_out(EVENTS)
    beyond = {**outputs[0], "event_id": "event-999999999"}
    assert judged([outputs[7], outputs[59], beyond], one_each=False) == (2, 0)


# -- the audit of a sample


def sampled(made: FakeDeployment, sample: Sample) -> Sampled:
    """An audit's view of one partition."""

    async def stored(sample: Sample) -> AsyncIterator[tuple[bytes, Rows]]:
        async for key, rows in made.redis(0):
            if key in sample:
                yield key, rows

    return Sampled(made, sample, stored)


def deployed() -> FakeDeployment:
    """Many agents in one partition, folded."""
    made = FakeDeployment(partitions=1)
    made.publish(*(logs.outcome(f"o{n}", n, agent_id=f"agent-{n % 40}") for n in range(200)))
    made.publish(logs.outcome("o", 1, agent_id=ADA), logs.outcome("o", 1, agent_id=BEA))
    made.work()
    return made


async def audited(made: FakeDeployment, one_in: int) -> Report:
    """Audit one agent in so many."""
    report = Report()
    await audit(sampled(made, Sample(one_in)), DEFAULT_LIMITS, report)
    return report


async def test_a_sample_is_a_part_and_has_no_differences() -> None:
    whole, part = await audited(deployed(), 1), await audited(deployed(), 4)
    assert (whole.agents, whole.differences, part.differences) == (42, 0, 0)
    assert 0 < part.agents < whole.agents
    assert part.covered == part.agents
    assert 0 < part.events < whole.events == 202


@pytest.mark.parametrize("where", ["redis", "changelog"])
async def test_a_wrong_row_in_the_sample_is_found(where: str) -> None:
    made = deployed()
    rows = getattr(made.parts[0], where)
    key = key_of(made.parts[0], "mood") if where == "redis" else key_of(made.parts[0], "agent", BEA)
    rows[key] = flipped(rows[key])
    assert (await audited(made, 1)).differences == 1


async def test_an_agent_that_redis_has_lost_is_found() -> None:
    made = deployed()
    made.parts[0].redis = {key: row for key, row in made.parts[0].redis.items() if not key.startswith(b"acme/ada\0")}
    assert (await audited(made, 1)).differences > 0


def test_events_that_were_not_accepted_are_found() -> None:
    assert unaccepted([Meta(10, {"accepted": 10}), Meta(7, {"accepted": 5, "duplicate": 2})]) == 2


# -- how long, how much, and who


def test_the_log_is_longer_than_anybody_gets() -> None:
    terms = Terms(seconds=45, warmup=10, rounds=1, peers=True)
    assert terms.span(jit=True).warmup == 10
    assert terms.span(jit=False).warmup == 3
    for peer in PEERS:
        assert terms.backlog([peer], 1_000) > peer.per_s * (terms.span(jit=peer.jit).warmup + 45)
    assert terms.backlog(list(PEERS), 1_000) > terms.backlog(list(PEERS), 100_000) > terms.backlog([], 1_000)


def test_a_million_agents_are_for_those_that_are_made_for_it() -> None:
    assert chosen(1_000) == list(PEERS)
    assert {peer.name for peer in chosen(1_000_000)} == {"kafka_streams", "kafka_streams_aggregate"}


def test_our_worker_comes_between_the_peers() -> None:
    names = [peer and peer.name for peer in in_turn(list(PEERS))]
    assert names == ["stock_faust", "quix_streams", None, "kafka_streams", "kafka_streams_aggregate"]
    assert in_turn([]) == [None]


def test_progress_is_the_last_whole_line() -> None:
    assert told(b"ne 5\nsome warning\ndone 70\ndone 8") == 70
    assert told(b"starting\n") == 0


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing.shutil, "which", lambda name: None)
    with pytest.raises(installing.MissingToolError, match="java is missing: install a JDK 17"):
        installing.kafka_streams()


# -- what comes out


def run(name: str, events_per_s: float, cpu: float = 50, agents: int = 1_000, **more: Any) -> Run:
    """A run that has nothing wrong with it."""
    given = {"rss_mb": 250.0, "broker_cpu_s_per_million": 5.0, "foreign_cores": 0.1, "seconds": 45.0, "ran_out": False}
    checks = {"checked": 100, "wrong": 0, "unit": "outputs", "scope": "partition 0"}
    return Run(name, agents, events_per_s, cpu, **(given | checks | more))


def contest(*rounds: list[Run], **left_out: str) -> Contest:
    """Rounds with their runs."""
    return Contest(rounds[0][0].agents, [{one.name: one for one in some} for some in rounds], left_out)


def test_ratios_are_of_neighbours_in_one_round() -> None:
    one = contest(
        [run(OURS, 30_000), run("stock_faust", 1_000)],
        [run(OURS, 10_000), run("stock_faust", 500)],
        [run(OURS, 22_000), run("stock_faust", 1_000)],
    )
    found = outcome([one])
    assert found.ratios == {"stock_faust": 22.0}
    assert found.tables[0].rows[0][:2] == ["moodstream", 22_000]
    assert found.figures["ratios"] == {1_000: {"stock_faust": 22.0}}
    assert len(found.figures["runs"]) == 6


def test_targets_are_met_or_not_and_what_was_not_measured_is_not() -> None:
    runs = [run(OURS, 30_000, 40, rss_mb=310.0), run("stock_faust", 1_000), run("kafka_streams", 50_000, 40)]
    met = {one.name: one.met for one in outcome([contest(runs, quix_streams="no network")]).targets}
    assert list(met.values()) == [True, False, True, False]
    found = outcome([contest(runs, quix_streams="no network\nbecause")])
    assert "Left out: Quix Streams (no network)." in found.tables[0].note
    assert found.targets[1].found == "not measured"


def test_a_million_agents_are_set_beside_a_thousand() -> None:
    few, many = contest([run(OURS, 30_000)]), contest([run(OURS, 24_000, agents=1_000_000)])
    found = outcome([few, many])
    assert found.figures["rate_with_a_million_agents"] == 0.8
    assert (found.targets[-1].found, found.targets[-1].met) == ("0.80 x", True)
    assert "rate_with_a_million_agents" not in outcome([few]).figures


def test_what_ran_out_of_events_is_told() -> None:
    one = contest([run(OURS, 1), run("kafka_streams_aggregate", 100_000, ran_out=True, seconds=31.24)])
    assert "cached aggregate ran out of events: its rate is over 31.2 s." in outcome([one]).tables[0].note


def test_wrong_outputs_and_unchecked_ones_are_unsound() -> None:
    assert unsound([contest([run(OURS, 1), run("stock_faust", 1)])]) == []
    faults = unsound([contest([run(OURS, 1, wrong=3), run("stock_faust", 1, checked=0)])])
    assert faults == [
        "moodstream, 1,000 agents: 3 wrong of 100 outputs",
        "stock Faust, 1,000 agents: 0 wrong of 0 outputs",
    ]


def test_a_profile_names_functions_by_their_own_time() -> None:
    stacks = ["run (a.py:1);fold (x/site-packages/b.py:7) 30", "run (a.py:1) 10", "run (a.py:1);run (a.py:1) 60"]
    stacks.append("run (a.py:1);EpollSelector.select (selectors.py:4) 50")
    table = hottest(stacks)
    assert table.rows == [[70.0, 100.0, "run", "a.py"], [30.0, 30.0, "fold", "b.py"]]
