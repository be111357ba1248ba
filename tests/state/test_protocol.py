"""The durability protocol under any interleaving of three workers, crashes, frozen workers and losses of Redis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from moodstream.state import ownership
from support import broken
from support.fakes import Store
from support.stepping import KEYS, Event, Worker, World, closed_ends

NAMES = ("A", "B", "C")
SOME_KEYS = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)
EVENTS = st.lists(st.builds(Event, SOME_KEYS, st.sampled_from([False] * 5 + [True])), min_size=1, max_size=4)
WHO = st.sampled_from(NAMES)
POINT = st.sampled_from(["append", "append.batch", "append.done", "apply", "apply.done", "load", "commit", "idle"])


@pytest.fixture(autouse=True, scope="module")
def small_slices() -> Iterator[None]:
    """Each row of a commit takes a call of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ownership, "SLICE_ROWS", 1)
        yield


class ProtocolMachine(RuleBasedStateMachine):
    """Any number of workers may believe that they have the partition; only the fences say who has it."""

    def make_world(self) -> World:
        return World()

    @initialize(events=EVENTS, batch=st.integers(1, 3), chunk=st.integers(1, 3))
    def begin(self, events: list[Event], batch: int, chunk: int) -> None:
        self.world = self.make_world()
        self.world.batch, self.world.chunk = batch, chunk
        self.workers: dict[str, Worker] = {}
        self.world.events += events
        self.worker("A").run_until_idle()

    @rule(name=WHO, steps=st.integers(1, 9), events=EVENTS)
    def step(self, name: str, steps: int, events: list[Event]) -> None:
        worker = self.busy(name, events)
        for _ in range(steps):
            worker.step()

    @rule(name=WHO, point=POINT, events=EVENTS)
    def leave(self, name: str, point: str, events: list[Event]) -> None:
        """Run a worker up to some point, perhaps for good."""
        self.run(self.busy(name, events), point)

    @rule(name=WHO, other=WHO, point=POINT, events=EVENTS)
    def replace(self, name: str, other: str, point: str, events: list[Event]) -> None:
        """Leave a worker in the middle of a chunk; another one takes the partition and folds it."""
        self.run(self.busy(name, events), point)
        self.run(self.worker(other), "idle")

    @rule(name=WHO, other=WHO, point=POINT, steps=st.integers(1, 6), then=POINT, events=EVENTS)
    def thaw(self, name: str, other: str, point: str, steps: int, then: str, events: list[Event]) -> None:
        """Let a worker, perhaps a stale one, go on in the middle of another one's chunk."""
        owner = self.busy(other, events)
        self.run(owner, point)
        for _ in range(steps):
            self.worker(name).step()
        self.run(owner, then)

    @rule(name=WHO)
    def crash(self, name: str) -> None:
        if name in self.workers:
            self.workers[name].crash()

    @rule(name=WHO, events=EVENTS, then=POINT)
    def drop(self, name: str, events: list[Event], then: str) -> None:
        """A worker's consumer loses a chunk and goes on."""
        worker = self.busy(name, events)
        worker.drop()
        self.world.events += events
        self.run(worker, then)

    @rule(ago=st.one_of(st.integers(2, 4), st.integers(2, 30), st.none()), name=WHO, then=POINT, events=EVENTS)
    def hurt_redis(self, ago: int | None, name: str, then: str, events: list[Event]) -> None:
        """Redis loses the newest changes, or all, and a worker goes on, perhaps one that has not noticed."""
        self.world.store.become(Store() if ago is None else self.world.moments[-ago:][0])
        self.run(self.busy(name, events), then)

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        """Compact what is closed: a stale writer's record must have been written over before the cleaner comes."""
        clean = data.draw(st.sampled_from(closed_ends(self.world.log.history)), "clean")
        upto = data.draw(st.integers(0, clean), "upto")
        self.world.log.compact(upto, clean)

    def worker(self, name: str) -> Worker:
        """The worker of that name; one that has ended is started again."""
        found = self.workers.get(name)
        if found is None or found.ended is not None:
            found = self.workers[name] = self.world.start(name)
        return found

    def busy(self, name: str, events: list[Event]) -> Worker:
        """The worker of that name; where it has nothing to do, something happens."""
        worker = self.worker(name)
        if worker.point == "idle":
            self.world.events += events
        return worker

    def run(self, worker: Worker, point: str) -> None:
        """Run up to a point, or until the worker ends or has nothing to do."""
        worker.step()
        while worker.ended is None and worker.point not in (point, "idle"):
            worker.step()

    @invariant()
    def whole(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.settle()
            self.world.check_settled()
            self.world.log.compact(self.world.log.end, self.world.log.end)
            self.world.check_settled()


TestProtocol = ProtocolMachine.TestCase
TestProtocol.settings = settings(
    max_examples=100, stateful_step_count=35, deadline=None, suppress_health_check=list(HealthCheck)
)


BROKEN: list[dict[str, Any]] = [
    {"partition": broken.UnfencedLoads},
    {"ownership": broken.RestoresWithHoles},
    {"ownership": broken.RestoresPastHoles},
    {"ownership": broken.LeavesLooseRows},
    {"ownership": broken.AppendsNothing},
    {"worker": broken.FlushesFirst},
    {"worker": broken.CommitsFirst},
    {"worker": broken.PassesGaps},
    {"worker": broken.FoldsAgain},
]


@pytest.mark.parametrize("parts", BROKEN, ids=[part.__name__ for parts in BROKEN for part in parts.values()])
def test_the_machine_sees_a_broken_protocol(parts: dict[str, Any]) -> None:
    """Without which its silence would mean little; test_broken_protocols has a story for each rule."""

    class Broken(ProtocolMachine):
        def make_world(self) -> World:
            return World(**parts)

    generate_only = settings(TestProtocol.settings, max_examples=200, phases=[Phase.generate], database=None)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Broken, settings=settings(generate_only, derandomize=True, print_blob=False))
