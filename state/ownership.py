"""How a worker owns a partition: claim, restore, load, append, flush. docs/durability.md tells why in this order.

All of it works on two small interfaces, the changelog and the partition's state, so that a test can break any step.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from enum import Enum
from itertools import islice
from typing import Final

import structlog

from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    SPILL_ROWS,
    ChangelogLog,
    Commit,
    LogRecord,
    Place,
    Position,
    Replay,
    Span,
    claim_mark,
    encode_position,
    merged,
)
from moodstream.schemas.errors import Fenced, StateLost
from moodstream.schemas.instants import from_ms, iso
from moodstream.state.layout import Layout
from moodstream.state.partition import PartitionState, Wanted
from moodstream.state.progress import Progress
from moodstream.state.rows import AGENT, NO_MAKER, from_before, maker_of, split_row_key

log = structlog.get_logger(__name__)

SLICE_ROWS: Final = 5_000
"""Rows of one script call while restoring: Redis serves nobody else meanwhile."""
_LOOK_BACK: Final = 10_000
"""Records at the end of a log in which its last position is looked for first."""


class Phase(Enum):
    """Where an ownership stands."""

    ASSIGNED = "assigned"
    CLAIMING = "claiming"
    RESTORING = "restoring"
    READY = "ready"
    UPGRADING = "upgrading"
    CLOSED = "closed"


_ALLOWED: Final = {
    Phase.ASSIGNED: {Phase.CLAIMING, Phase.CLOSED},
    Phase.CLAIMING: {Phase.RESTORING, Phase.CLOSED},
    Phase.RESTORING: {Phase.READY, Phase.CLOSED},
    Phase.READY: {Phase.UPGRADING, Phase.CLOSED},
    Phase.UPGRADING: {Phase.READY, Phase.CLOSED},
    Phase.CLOSED: set(),
}


class Ownership:
    """One worker's hold on one partition, from assignment to loss. Used once: a new assignment is a new ownership."""

    def __init__(
        self,
        partition: int,
        layout: Layout,
        changelog: ChangelogLog,
        state: PartitionState,
        worker: str,
        check_log: Callable[[bytes], Awaitable[None]] | None = None,
    ) -> None:
        """Make an ownership that has nothing yet.

        `check_log` is told the name of the log before anything is claimed, and may refuse.
        """
        self.partition = partition
        self.layout = layout
        self.token = secrets.token_hex(8).encode()
        self.phase = Phase.ASSIGNED
        self.position = Position()
        """What Redis holds: confirmed."""
        self.progress: Progress | None = None
        """How far the restore, or the upgrade, is, once it has begun."""
        self.declared: bytes | None = None
        """The fold (`maker_of`) by which all rows of the partition are known to be made."""
        self._restored: set[bytes] = set()
        """The folds that made the rows which came back from the log."""
        self._whole = False
        """Whether all rows came back from the log."""
        self._changelog = changelog
        self._state = state
        self._worker = worker
        self._check_log = check_log
        self._mark = b""
        """What this owner's records carry, once it has claimed."""
        self._at = b""
        """Changelog position in Redis, as last confirmed: the text that Redis holds."""
        self._next = 0
        """Changelog offset that the next append should be given."""

    # -- claim and restore

    async def acquire(self) -> None:
        """Claim the partition in its log and in Redis, and bring Redis up to the log.

        The claim in the log comes first: behind it no older owner's record counts, so what lies before is all there is.
        Raises `Fenced` when a younger claim holds the partition, `StateLost` when log and Redis do not fit together.
        """
        self._enter(Phase.CLAIMING)
        incarnation = await self._incarnation()
        if self._check_log is not None:
            await self._check_log(incarnation)
        claim = json.dumps({"worker": self._worker}).encode()
        (span,) = await self._changelog.append(self.partition, self.token, [(OWNER_KEY, claim)])
        fence, self._next = span.base, span.base + 1
        self._mark = claim_mark(fence, self.token)
        meta = await self._state.acquire(self.token, fence, incarnation, self._worker)
        self._enter(Phase.RESTORING)
        self._at = meta.get("changelog", b"")
        self.position = _position_of(meta)
        self.declared = bytes.fromhex(meta["fold"].decode()) if "fold" in meta else None
        self._whole = not self._at
        if meta.get("incarnation", incarnation) != incarnation:
            await self._republish()
        else:
            await self._check_age(int(meta.get("written", 0)), fence)
            await self._restore(meta.get("writer", b""), fence)
        await self._confirm({}, {"state": "ready", "incarnation": incarnation, **asdict(self.position)})
        self._enter(Phase.READY)

    async def _incarnation(self) -> bytes:
        known = await self._changelog.incarnation(self.partition)
        if known is None:
            record = (INCARNATION_PREFIX + secrets.token_hex(8).encode(), b"1")
            await self._changelog.append(self.partition, self.token, [record])
            known = await self._changelog.incarnation(self.partition)
        if known is None:
            raise StateLost(f"partition {self.partition} of the changelog lost its first record")
        return known

    async def _check_age(self, written: int, fence: int) -> None:
        """Refuse rows that are older (`written`, ms; 0: not known) than the log remembers what was deleted since."""
        start = _offset(self._at)
        if not start or not written or _now_ms() - written <= self._changelog.remembers_ms:
            return
        kept = 0
        async for records in self._changelog.read(self.partition, start, fence):
            kept += len(records)
        if kept < fence - start:
            raise StateLost(
                f"the rows of partition {self.partition} in Redis are of {iso(from_ms(written))}: what was deleted "
                f"since, perhaps because somebody asked for it, the changelog may have forgotten",
                hint=f"Delete the keys {self.layout.tag.decode()}* in Redis; the worker then restores them all.",
                partition=self.partition,
            )

    async def _restore(self, writer: bytes, fence: int) -> None:
        """Apply what the log holds beyond Redis, then write again what does not count there, and a position.

        A position always: that of a stale writer may be the last one in the log, and compaction keeps the last.
        """
        start = _offset(self._at)
        replay = Replay(writer, await self._closed(start, fence))
        progress = self.progress = Progress(start, fence + 1)
        async for records in self._read(start, fence + 1):
            commit = merged(replay.feed(records))
            if commit is not None:
                await self._apply_commit(commit, replay)
            progress.moved(records[-1].offset + 1, len(records))
            if progress.is_time():
                log.info("restoring", partition=self.partition, **progress.facts())
        log.info("restored", partition=self.partition, **progress.facts())
        if replay.loose:
            log.warning("rewriting loose rows", partition=self.partition, rows=len(replay.loose))
            if not start and not replay.closed:
                raise StateLost("the changelog holds rows, but no position that counts", partition=self.partition)
        await self._append(await self._current(replay.loose), self.position)

    async def _closed(self, start: int, fence: int) -> int:
        """The offset behind the last position before the fence, looked for from the end on; 0 where few rows follow.

        A chunk that its writer has not closed may be as large as an agent that was erased: no part of it may count.
        """
        width = _LOOK_BACK
        while fence - start >= 2 * SPILL_ROWS:
            first = max(start, fence - width)
            replay, closed = Replay(), 0
            async for records in self._changelog.read(self.partition, first, fence):
                closed = max((commit.end for commit in replay.feed(records)), default=closed)
            if closed or first == start:
                return closed
            width *= 8
        return 0

    async def _apply_commit(self, commit: Commit, replay: Replay) -> None:
        """Write a commit to Redis in slices; only the last one moves the position."""
        self._restored.update(maker_of(row) for row in commit.rows.values() if row)
        self._restored.discard(NO_MAKER)
        rows = iter(commit.rows.items())
        left = len(commit.rows)
        here = _offset(self._at)
        while left > SLICE_ROWS:
            await self._apply(dict(islice(rows, SLICE_ROWS)), here, {})
            left -= SLICE_ROWS
        last = dict(rows)
        if commit.position is None:
            await self._apply(last, here, {})
            return
        # Not past a stale record: should this worker die before it has written the true row again, the next one
        # must see that record too.
        end, writer = min((Place(commit.end, commit.writer), *replay.foreign.values()))
        self.position = commit.position
        await self._apply(last, end, {"writer": writer, **asdict(commit.position)})

    async def _republish(self) -> None:
        """Redis belongs to another log, one that is gone: its rows win, and begin this log's history."""
        log.warning("changelog is new: writing the rows of Redis to it", partition=self.partition)
        rows: dict[bytes, bytes | None] = {}
        async for some in self._state.scan():
            rows.update((key, from_before(row)) for key, row in some.items())
        # Agent rows last: a scan, by the next owner if this one dies, leaves out what is newer than its agent's row.
        rows = dict(sorted(rows.items(), key=lambda item: split_row_key(item[0])[1] == AGENT))
        self.position = Position()
        await self._append(rows, self.position)
        items = iter(rows.items())
        for _ in range(0, len(rows), SLICE_ROWS):
            await self._apply(dict(islice(items, SLICE_ROWS)), _offset(self._at), {})

    # -- the folds that made the rows

    @property
    def makers(self) -> set[bytes] | None:
        """The folds that may have made rows of this partition; None where only a look at all of them tells."""
        if self._whole:
            return self._restored
        return None if self.declared is None else {self.declared, *self._restored}

    def begin_upgrade(self) -> None:
        """Let nothing be consumed until older rows are replaced; they stay readable."""
        self._enter(Phase.UPGRADING)

    async def end_upgrade(self, maker: bytes) -> None:
        """Note that this fold made all rows of the partition, and go on."""
        if self.declared != maker:
            await self._confirm({}, {"fold": maker.hex()})
            self.declared = maker
        if self.phase is Phase.UPGRADING:
            self._enter(Phase.READY)

    def heads(self) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
        """All agents of the partition, some at a time: key, and the row `agent`."""
        return self._state.heads()

    async def whole(self, keys: Sequence[bytes]) -> dict[bytes, dict[bytes, bytes]]:
        """All that there is of these agents, as it stands: rows by row key, by agent key."""
        return await self._state.whole(keys)

    # -- load, append, flush

    async def load(self, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        """Read hashes of this partition; refused when another worker holds it or Redis lost what it had."""
        return await self._state.load(self.token, self._at, wanted)

    async def pages(self, key: bytes) -> AsyncIterator[Mapping[bytes, bytes]]:
        """Read all of a hash of this partition, some fields at a time, perhaps twice; refused as `load` is.

        To another server, such as a replica that was promoted, a cursor means something else. So fields are counted,
        and read again if any lack: nobody else writes meanwhile.
        """
        seen, cursor, size = set[bytes](), 0, 1
        while cursor or len(seen) < size:
            cursor, fields, size = await self._state.page(self.token, self._at, key, cursor)
            seen.update(fields)
            yield fields

    async def append(self, rows: Mapping[bytes, bytes | None], position: Position) -> None:
        """Append a chunk's rows and its position to the changelog; return when the broker has them."""
        self._require_ready()
        await self._append(rows, position)

    async def flush(self, rows: Mapping[bytes, bytes | None], position: Position) -> None:
        """Make appended rows and positions visible in Redis, in one step."""
        self._require_ready()
        await self._confirm(rows, asdict(position))
        self.position = position

    def close(self) -> None:
        """End it: the partition is gone, or the worker stops. Nothing is written any more."""
        if self.phase is not Phase.CLOSED:
            self._enter(Phase.CLOSED)

    # -- the parts

    def _require_ready(self) -> None:
        if self.phase not in (Phase.READY, Phase.UPGRADING):
            raise Fenced(f"partition {self.partition} is {self.phase.value}")

    def _enter(self, phase: Phase) -> None:
        if phase not in _ALLOWED[self.phase]:
            raise Fenced(f"partition {self.partition} cannot go from {self.phase.value} to {phase.value}")
        log.info("partition", partition=self.partition, phase=phase.value, before=self.phase.value)
        self.phase = phase

    async def _append(self, rows: Mapping[bytes, bytes | None], position: Position) -> None:
        """Append; where somebody else's records came between, write the true rows of their keys again."""
        todo: Mapping[bytes, bytes | None] = rows
        while True:
            records = [*todo.items(), (POSITION_KEY, encode_position(position))]
            spans = await self._changelog.append(self.partition, self._mark, records)
            expected, self._next = self._next, spans[-1].base + spans[-1].length
            if _contiguous(spans, expected):
                return
            strange = await self._foreign(expected, self._next)
            if not strange:
                return
            log.warning("stale writer", partition=self.partition, rows=len(strange))
            others = await self._current(strange - rows.keys())
            todo = {key: rows[key] if key in rows else others[key] for key in strange}

    async def _foreign(self, start: int, end: int) -> set[bytes]:
        keys: set[bytes] = set()
        async for records in self._read(start, end):
            keys.update(self._foreign_keys(records))
        return keys

    async def _read(self, start: int, end: int) -> AsyncIterator[list[LogRecord]]:
        """Read the log up to a record of this owner's own, the last before `end`: so it is known to be all."""
        last = -1
        async for records in self._changelog.read(self.partition, start, end):
            last = records[-1].offset
            yield records
        if last != end - 1:
            raise StateLost(f"the changelog gave records up to {last}, not {end - 1}", partition=self.partition)

    def _foreign_keys(self, records: Iterable[LogRecord]) -> Iterable[bytes]:
        for record in records:
            if record.token == self._mark:
                continue
            if record.key == OWNER_KEY:
                raise Fenced(f"partition {self.partition} was claimed by another worker at {record.offset}")
            if record.key != POSITION_KEY:
                yield record.key

    async def _current(self, keys: Iterable[bytes]) -> dict[bytes, bytes | None]:
        """The rows as Redis holds them, under the fence; None for one that does not exist."""
        found: dict[bytes, bytes | None] = {}
        todo = sorted(keys)
        for i in range(0, len(todo), SLICE_ROWS):
            part = todo[i : i + SLICE_ROWS]
            places = [self.layout.place(key) for key in part]
            values = await self.load([Wanted(key, [field]) for key, field in places])
            found.update((key, value[0]) for key, value in zip(part, values, strict=True))
        return found

    async def _confirm(self, rows: Mapping[bytes, bytes | None], meta: Mapping[str, object]) -> None:
        await self._apply(rows, self._next, {"writer": self._mark, **meta})

    async def _apply(self, rows: Mapping[bytes, bytes | None], end: int, meta: Mapping[str, object]) -> None:
        """Write to Redis and move the position to `end`. The text changes each time, so none of them can get lost."""
        after = _moved(self._at, end)
        await self._state.apply(self.token, self._at, after, rows, {"written": _now_ms(), **meta})
        self._at = after


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _contiguous(spans: Sequence[Span], start: int) -> bool:
    for span in spans:
        if span.base != start:
            return False
        start += span.length
    return True


def _offset(at: bytes) -> int:
    """The offset in the text of a changelog position: `offset`, or `offset+step`; zero in none."""
    return int(at.partition(b"+")[0] or 0)


def _moved(at: bytes, end: int) -> bytes:
    """The text of a position, different from the one before also where the offset is the same."""
    if end != _offset(at):
        return b"%d" % end
    return b"%d+%d" % (end, int(at.partition(b"+")[2] or 0) + 1)


def _position_of(meta: Mapping[str, bytes]) -> Position:
    empty = Position()
    return replace(empty, **{name: int(meta.get(name, 0)) for name in asdict(empty)})
