"""Protocols that leave out one rule, each in a story that shows what for; the real one passes them all.

So the checks of the world do see the faults, and no rule is there for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from moodstream.schemas.changelog import POSITION_KEY, Position, encode_position
from moodstream.state import ownership
from support import broken
from support.fakes import Log, Store
from support.stepping import KEYS, Event, Worker, World

K1, K2, K3, K4 = KEYS
Story = Callable[[World], None]


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "SLICE_ROWS", 1)


def go_on(worker: Worker, point: str = "idle") -> None:
    """Up to a point, or to its end."""
    worker.step()
    while worker.ended is None and worker.point != point:
        worker.step()


# -- the stories


def redis_is_emptied_under_an_owner(world: World) -> None:
    world.events += [Event([K1]), Event([K1, K2])]
    worker = world.start().run_until_idle()
    world.store.become(Store())
    world.events += [Event([K1])]
    go_on(worker)


def redis_falls_back_under_an_owner(world: World) -> None:
    world.events += [Event([K1])]
    worker = world.start().run_until_idle()
    before = world.store.copy()
    world.events += [Event([K1])]
    worker.run_until_idle()
    world.store.become(before)
    world.events += [Event([K1])]
    go_on(worker)


def a_worker_dies(world: World, edge: int) -> None:
    """At an edge of its restore or of its chunks, and the next one at half the way."""
    world.events += [Event([K1, K2]), Event([K2, K3]), Event([K1], erases=True)]
    world.start().run_until_idle()
    world.store.become(Store())
    world.events += [Event([K1, K4]), Event([K4])]
    for steps in (edge, edge // 2):
        worker = world.start()
        for _ in range(steps):
            worker.step()
        worker.crash()


A_WORKER_DIES = [partial(a_worker_dies, edge=edge) for edge in range(80)]


def a_chunk_is_not_delivered(world: World) -> None:
    """The consumer has lost one, and goes on with the next."""
    world.events += [Event([K1]), Event([K1, K2])]
    worker = world.start().run_until_idle()
    world.events += [Event([K1]), Event([K2]), Event([K3]), Event([K1])]
    worker.run_to("chunk").drop()
    go_on(worker)


def chunks_are_delivered_again(world: World) -> None:
    """What was folded last has not been committed."""
    world.events += [Event([K1]), Event([K1, K2]), Event([K2])]
    world.start().run_to("commit").crash()
    world.start().run_to("chunk").crash()


def redis_loses_a_call_of_a_restore(world: World) -> None:
    world.events += [Event([K1, K2, K3])]
    world.start().run_until_idle()
    world.store.become(Store())
    worker = world.start().run_to("apply.done")
    before = world.store.copy()
    worker.run_to("apply.done")
    world.store.become(before)
    go_on(worker)


def a_chunk_is_torn(world: World) -> None:
    """Its first rows are in the log, its position is not; then Redis is lost."""
    world.batch = 1
    world.events += [Event([K1, K2, K3])]
    worker = world.start().run_until_idle()
    world.events += [Event([K1, K2, K4])]
    worker.run_to("append.batch").crash()
    world.start().run_to("chunk").crash()
    _clean_and_lose(world)


def a_stale_chunk_lands(world: World) -> None:
    world.events += [Event([K1, K2])]
    stale = world.start().run_until_idle()
    world.events += [Event([K1])]
    stale.run_to("append")
    world.events += [Event([K1])]
    owner = world.start().run_until_idle()
    go_on(stale)
    world.events += [Event([K2])]
    owner.run_until_idle()
    _clean_and_lose(world)


def a_stale_record_lands_in_a_chunk(world: World) -> None:
    """Between row and position of an owner, which dies before it looks."""
    world.batch = 1
    world.events += [Event([K1, K2])]
    stale = world.start().run_until_idle()
    world.events += [Event([K1])]
    stale.run_to("append")
    owner = world.start().run_to("append.batch")
    stale.step()
    owner.run_to("append.done").crash()
    world.settle()
    _clean_and_lose(world)


def a_stale_position_lands_last(world: World) -> None:
    world.events += [Event([K1, K2])]
    world.start().run_until_idle()
    world.log.put(b"0:stale", [(POSITION_KEY, encode_position(Position(source=77)))])
    world.settle()
    _clean_and_lose(world)


def claims_are_compacted_away(world: World) -> None:
    """A backup of Redis comes back that is older than two owners of whom the log keeps no claim."""
    world.events += [Event([K1])]
    world.start().run_until_idle()
    backup = world.store.copy()
    for key in (K1, K2):
        world.events += [Event([key])]
        world.start().run_until_idle()
    world.start().run_until_idle()
    world.log.compact(world.log.end, world.log.end)
    world.store.become(backup)


def a_leader_knows_less_than_was_confirmed(world: World) -> None:
    world.events += [Event([K1])]
    worker = world.start().run_until_idle()
    world.log.visible = world.log.end
    world.events += [Event([K1])]
    worker.run_to("append.done").crash()
    second = world.start()
    go_on(second, "chunk")
    second.crash()
    world.log.visible = None
    _clean_and_lose(world)


def log_and_redis_begin_again(world: World) -> None:
    """The embedded pair is started again, and a worker of before wakes up to a log of the same length."""
    world.events += [Event([K1]), Event([K1])]
    old = world.start().run_until_idle()
    end = world.log.end
    _begin_again(world, [Event([K1])])
    world.start().run_until_idle()
    assert world.log.end == end
    world.events += [Event([K1]), Event([K1])]
    go_on(old)


def _begin_again(world: World, events: Sequence[Event]) -> None:
    fresh = Log()
    world.log.records, world.log.history, world.log.end = fresh.records, fresh.history, fresh.end
    world.store.become(Store())
    world.events[:] = events


def _clean_and_lose(world: World) -> None:
    """The cleaner comes, and Redis is lost: what remains is the last record of each key."""
    world.log.compact(world.log.end, world.log.end)
    world.store.become(Store())


# -- one by one

STORIES: list[Story] = [
    redis_is_emptied_under_an_owner,
    redis_falls_back_under_an_owner,
    redis_loses_a_call_of_a_restore,
    a_chunk_is_not_delivered,
    chunks_are_delivered_again,
    a_chunk_is_torn,
    a_stale_chunk_lands,
    a_stale_record_lands_in_a_chunk,
    a_stale_position_lands_last,
    claims_are_compacted_away,
    a_leader_knows_less_than_was_confirmed,
    log_and_redis_begin_again,
    *A_WORKER_DIES,
]
BROKEN: list[tuple[dict[str, Any], Sequence[Story]]] = [
    ({"partition": broken.UnfencedLoads}, [redis_is_emptied_under_an_owner]),
    ({"partition": broken.LoadsOfAnyPosition}, [redis_falls_back_under_an_owner]),
    ({"worker": broken.FlushesFirst}, A_WORKER_DIES),
    ({"worker": broken.CommitsFirst}, A_WORKER_DIES),
    ({"worker": broken.PassesGaps}, [a_chunk_is_not_delivered]),
    ({"worker": broken.FoldsAgain}, [chunks_are_delivered_again]),
    ({"ownership": broken.RestoresPastHoles}, A_WORKER_DIES),
    ({"ownership": broken.AppendsNothing}, A_WORKER_DIES),
    ({"ownership": broken.RestoresWithHoles}, A_WORKER_DIES),
    ({"ownership": broken.RestoresBlindly}, [redis_loses_a_call_of_a_restore]),
    ({"ownership": broken.LeavesLooseRows}, [a_chunk_is_torn]),
    ({"ownership": broken.LeavesStaleRows}, [a_stale_chunk_lands]),
    ({"ownership": broken.LeavesStalePositions}, [a_stale_position_lands_last]),
    ({"ownership": broken.TrustsShortReads}, [a_leader_knows_less_than_was_confirmed]),
    ({"ownership": broken.CountsItsEpochs}, [log_and_redis_begin_again]),
]
FORGETFUL = [
    (broken.forget_at_the_position, a_stale_record_lands_in_a_chunk),
    (broken.know_no_marks, claims_are_compacted_away),
]


def name_of(broken: tuple[dict[str, Any], Sequence[Story]]) -> str:
    (part,) = broken[0].values()
    return str(part.__name__)


def tell(world: World, story: Story) -> None:
    """Let a story happen, and see what is left when the next worker has taken over."""
    story(world)
    world.settle()
    world.check_settled()


def is_caught(world: Callable[[], World], stories: Sequence[Story]) -> bool:
    """Whether the checks fail in any of the stories, and with a wrong state, not a wrong program."""
    for story in stories:
        try:
            tell(world(), story)
        except AssertionError:
            return True
    return False


def test_the_protocol_passes_all_stories() -> None:
    for story in STORIES:
        tell(World(), story)


@pytest.mark.parametrize(("parts", "stories"), BROKEN, ids=[*map(name_of, BROKEN)])
def test_a_protocol_that_leaves_out_a_rule_is_caught(parts: dict[str, Any], stories: Sequence[Story]) -> None:
    assert is_caught(lambda: World(**parts), stories)


@pytest.mark.parametrize(("forget", "story"), FORGETFUL)
def test_a_replay_that_leaves_out_a_rule_is_caught(
    forget: Callable[[pytest.MonkeyPatch], None], story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    assert is_caught(World, [story])
