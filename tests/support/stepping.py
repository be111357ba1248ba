"""A small world of workers, log and Redis, in which each worker is moved by hand from one call's edge to the next.

A worker is a coroutine that stops at every gate. To freeze it is to leave it there; to thaw it, to step it again; to
kill it, to drop it. So any interleaving of workers, and a crash at any edge, is a sequence of plain method calls.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import coroutine
from typing import Any, NamedTuple

from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    LogRecord,
    Position,
    Replay,
    apply_commits,
    claim_mark,
)
from moodstream.schemas.errors import Fenced, SourceGap, StateLost
from moodstream.state.layout import Layout
from moodstream.state.ownership import Ownership
from moodstream.state.partition import Wanted
from moodstream.state.rows import HEADER, kind_of, pack_row, split_row_key
from support.fakes import FakeChangelog, FakePartition, Log, Store

LAYOUT = Layout("test.", 0)
KEYS = (b"t/a\0mood", b"t/a\0pair/b", b"t/b\0mood", b"\0erased/" + bytes(12))
"""Row keys of the world."""
_PARAMS = b"\x01" * 8

Rows = dict[bytes, bytes]
Changes = dict[bytes, bytes | None]


class Event(NamedTuple):
    """An event of the source: which rows it changes, and whether it deletes them."""

    keys: Sequence[bytes]
    erases: bool = False


def fold(rows: Mapping[bytes, bytes | None], offset: int, event: Event) -> Changes:
    """What an event makes of rows. A row lists the offsets of all events in it: none can count twice, or not at all."""
    return {key: None if event.erases else _row(key, rows.get(key), offset) for key in event.keys}


def _row(key: bytes, row: bytes | None, offset: int) -> bytes:
    before = row[HEADER.size :] + b"," if row else b""
    return pack_row(kind_of(split_row_key(key)[1]), offset, before + b"%d" % offset, _PARAMS)


def model(events: Sequence[Event], end: int) -> Rows:
    """The rows after the events below `end`: each once, in order."""
    rows: Rows = {}
    for offset, event in enumerate(events[:end]):
        apply_changes(rows, fold(rows, offset, event))
    return rows


def apply_changes(rows: Rows, changes: Mapping[bytes, bytes | None]) -> None:
    """Write changes; None deletes."""
    for key, row in changes.items():
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row


def restored(records: Sequence[LogRecord]) -> tuple[Rows, Position]:
    """The rows and the position that the log alone gives."""
    rows: Rows = {}
    commits = Replay().feed(records)
    apply_commits(commits, rows)
    positions = [commit.position for commit in commits if commit.position is not None]
    return rows, positions[-1] if positions else Position()


def closed_ends(history: Sequence[LogRecord]) -> list[int]:
    """Offsets below which nothing in the log is loose: each key's last record is its owner's, and closed by a position.

    The rule once more, as plain as can be, on a log that was never compacted. Below such an offset the log can be
    compacted, and beyond it nothing can be done about a stale writer's record but to write it over in time.
    """
    owner, loose, ends = b"", dict[bytes, bool](), list[int]()
    for record in history:
        if record.key == OWNER_KEY:
            owner = claim_mark(record.offset, record.token)
        elif record.key == POSITION_KEY and record.token == owner:
            loose = {key: True for key, stale in loose.items() if stale and key != POSITION_KEY}
        elif not record.key.startswith(INCARNATION_PREFIX):
            loose[record.key] = record.token != owner
        if not loose:
            ends.append(record.offset + 1)
    return ends


@coroutine
def _stop(point: str) -> Generator[str, None, None]:
    yield point


async def stop_here(point: str) -> None:
    """A gate at which a stepped worker stops."""
    await _stop(point)


@dataclass
class World:
    """What all workers share, and how they are made: a broken protocol is a world with other classes."""

    events: list[Event] = field(default_factory=list)
    log: Log = field(default_factory=Log)
    store: Store = field(default_factory=Store)
    chunk: int = 2
    batch: int = 2
    ownership: type[Ownership] = Ownership
    partition: type[FakePartition] = FakePartition
    worker: type[Worker] | None = None
    committed: int = 0
    """Position of the source that the consumer group has committed: where the next worker's consumer may begin."""
    moments: list[Store] = field(default_factory=lambda: [Store()])
    """Redis after each change: what a replica, a backup or a log of commands may still hold."""

    def start(self, name: str = "w") -> Worker:
        """Start a worker: it stands before its first step."""
        return (self.worker or Worker)(self, name)

    def settle(self) -> Worker:
        """Let a new worker take over undisturbed and fold all there is."""
        worker = self.start("last")
        worker.run_until_idle()
        return worker

    def remember(self) -> None:
        """Keep how Redis is, if it has changed."""
        if self.store != self.moments[-1]:
            self.moments.append(self.store.copy())

    def check(self) -> None:
        """What must be true at any moment: log and Redis each hold a whole number of events, each once."""
        rows, position = restored(self.log.records)
        assert position.source <= len(self.events)
        assert rows == model(self.events, position.source), "the log alone gives other rows"
        assert position.accepted == position.source
        if self.store.meta.get("state") == b"ready":
            source = int(self.store.meta.get("source", 0))
            assert self.store.rows == model(self.events, source), "Redis has other rows"
            ends = [b"%d" % end for end in closed_ends(self.log.history)]
            assert self.store.meta["changelog"] in ends, "Redis is past a loose record"

    def check_settled(self) -> None:
        """What must be true after `settle`: all is folded, Redis and log agree, and nothing in the log is loose."""
        self.check()
        assert self.store.meta["state"] == b"ready"
        assert int(self.store.meta["source"]) == len(self.events)
        rows, position = restored(self.log.records)
        assert (rows, position.source) == (self.store.rows, len(self.events))
        replay = Replay()
        replay.feed(self.log.records)
        assert not replay.loose


class Worker:
    """A worker that acquires, then folds chunk after chunk. `point` is where it stands; `ended` why it stopped.

    Chunks are delivered to it from `cursor` on, by a consumer that it does not trust.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.point = "start"
        self.ended: Exception | None = None
        self.cursor = 0
        state = world.partition(world.store, LAYOUT, stop_here)
        self.changelog = FakeChangelog(world.log, stop_here, world.batch)
        self.ownership = world.ownership(0, LAYOUT, self.changelog, state, name)
        self._life: Coroutine[Any, Any, None] = self._live()

    def step(self) -> None:
        """Go on to the next edge, or to the end: `Fenced`, `StateLost`, `SourceGap`; anything else is a bug."""
        if self.ended is not None:
            return
        try:
            self.point = self._life.send(None)
        except (Fenced, SourceGap, StateLost) as error:
            self.ended = error
        self.world.remember()

    def run_to(self, point: str) -> Worker:
        """Go on to a named point."""
        self.step()
        while self.point != point:
            assert self.ended is None, f"ended before {point}: {self.ended}"
            self.step()
        return self

    def run_until_idle(self) -> Worker:
        """Go on until there is nothing left to fold."""
        return self.run_to("idle")

    def run_to_end(self) -> Exception:
        """Go on until it ends, and say why; it must."""
        while self.ended is None and self.point != "idle":
            self.step()
        assert self.ended is not None, "it should have been stopped"
        return self.ended

    def crash(self) -> None:
        """End it where it stands."""
        self._life.close()
        self.ended = self.ended or RuntimeError("crashed")

    def drop(self) -> None:
        """Have the consumer lose the next chunk, as one may that is interrupted while it resumes."""
        self.cursor = min(self.cursor + self.world.chunk, len(self.world.events))

    async def _live(self) -> None:
        await self.ownership.acquire()
        self.cursor = self.begin()
        while True:
            if self.cursor < len(self.world.events):
                await stop_here("chunk")
                start, events = self.cursor, self.world.events[self.cursor :][: self.world.chunk]
                self.cursor += len(events)
                await self.deliver(start, events)
            else:
                await stop_here("idle")

    def begin(self) -> int:
        """Where the consumer begins: never beyond the state; before it, where more was folded than committed."""
        return min(self.ownership.position.source, self.world.committed)

    async def deliver(self, start: int, events: Sequence[Event]) -> None:
        """Take a chunk: refuse one that does not follow what is known, skip what is."""
        known = self.ownership.position.source
        if start > known:
            raise SourceGap(f"{known} goes on at {start}")
        if start + len(events) > known:
            await self._process(known, events[known - start :])
        await self.commit(start + len(events))

    async def commit(self, end: int) -> None:
        """Commit the position of the source."""
        await stop_here("commit")
        self.world.committed = end

    async def _process(self, start: int, events: Sequence[Event]) -> None:
        rows = await self._load(sorted({key for event in events for key in event.keys}))
        for offset, event in enumerate(events, start):
            rows |= fold(rows, offset, event)
        before, count = self.ownership.position, len(events)
        position = replace(before, source=start + count, accepted=before.accepted + count)
        await self.write(rows, position)

    async def _load(self, keys: Sequence[bytes]) -> Changes:
        places = [LAYOUT.place(key) for key in keys]
        values = await self.ownership.load([Wanted(place, [name]) for place, name in places])
        return dict(zip(keys, (value[0] for value in values), strict=True))

    async def write(self, rows: Changes, position: Position) -> None:
        """Append, then flush."""
        await self.ownership.append(rows, position)
        await self.ownership.flush(rows, position)
