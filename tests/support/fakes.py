"""A changelog and a partition's state that live in memory, and can be hurt at the edge of every call.

`Log` and `Store` are what survives: the broker's and Redis's side. `FakeChangelog` and `FakePartition` are one worker's
clients of them; each awaits its gate before and after each effect. A gate may raise, interfere, or take its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from moodstream.schemas.changelog import INCARNATION_PREFIX, LogRecord, Span
from moodstream.schemas.errors import Fenced, StateLost
from moodstream.state.layout import Layout
from moodstream.state.partition import Page, Wanted
from moodstream.state.rows import AGENT, row_key, split_row_key

PAGE = 3
"""Fields of a hash in one page."""

Gate = Callable[[str], Awaitable[None]]
"""Passed before and after each effect, with its name: `append`, `append.done`, ..."""


async def open_gate(point: str) -> None:
    """Let everything pass."""


class Faults:
    """A gate that does what it was told at the n-th passage of a point, once."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self._plan: dict[tuple[str, int], Callable[[], object]] = {}

    def at(self, point: str, action: Callable[[], object], nth: int = 1) -> None:
        """Plan a call, which may raise, at the n-th passage from now on; `any` counts all points together."""
        self._plan[point, self.passed[point] + nth] = action

    def drop(self) -> bool:
        """Forget what has not happened yet; whether there was anything."""
        left, self._plan = bool(self._plan), {}
        return left

    async def __call__(self, point: str) -> None:
        for name in (point, "any"):
            self.passed[name] += 1
            action = self._plan.pop((name, self.passed[name]), None)
            if action is not None:
                action()


@dataclass
class Log:
    """One partition of the changelog: what the broker has."""

    records: list[LogRecord] = field(default_factory=list)
    end: int = 0
    history: list[LogRecord] = field(default_factory=list)
    """All that was ever appended, whatever compaction has done since."""
    visible: int | None = None
    """Where reads end though there is more: a leader that is new does not yet know what the old one had confirmed."""

    def put(self, token: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> Span:
        """Append one batch."""
        new = [LogRecord(self.end + i, key, value, token) for i, (key, value) in enumerate(records)]
        self.records += new
        self.history += new
        self.end += len(new)
        return Span(self.end - len(new), len(new))

    def cut(self, end: int) -> None:
        """Lose what a broker had confirmed and not kept."""
        self.records = [record for record in self.records if record.offset < end]
        self.history = [record for record in self.history if record.offset < end]
        self.end = end

    def compact(self, upto: int, clean: int) -> None:
        """Compact as Kafka may: below `upto`, drop what has a later record of its key below `clean`."""
        self.records = compacted(self.records, upto, clean)


def compacted(records: Sequence[LogRecord], upto: int, clean: int) -> list[LogRecord]:
    """Records that a cleaner leaves which knows the keys up to `clean` and has rewritten the segments up to `upto`."""
    last = {record.key: record.offset for record in records if record.offset < clean}
    return [one for one in records if one.offset >= min(upto, clean) or last[one.key] == one.offset]


class FakeChangelog:
    """A worker's client of one `Log`: a `ChangelogLog`. Appends in batches, between which others may append."""

    remembers_ms = 2**62

    def __init__(self, log: Log, gate: Gate = open_gate, batch: int = 1_000_000) -> None:
        self.log = log
        self.gate = gate
        self.batch = batch

    async def append(self, partition: int, token: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> list[Span]:
        spans = []
        for start in range(0, len(records), self.batch):
            await self.gate("append.batch" if start else "append")
            spans.append(self.log.put(token, records[start : start + self.batch]))
        await self.gate("append.done")
        return spans

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[LogRecord]]:
        await self.gate("read")
        stop = end if self.log.visible is None else min(end, self.log.visible)
        found = [record for record in self.log.records if start <= record.offset < stop]
        for i in range(0, len(found), self.batch):
            await self.gate("read.batch")
            yield found[i : i + self.batch]

    async def incarnation(self, partition: int) -> bytes | None:
        await self.gate("incarnation")
        if not self.log.records:
            return None
        first = self.log.records[0]
        if not first.key.startswith(INCARNATION_PREFIX):
            raise StateLost("the log does not begin with its name")
        return first.key[len(INCARNATION_PREFIX) :]


@dataclass
class Store:
    """One partition's keys: what Redis has."""

    meta: dict[str, bytes] = field(default_factory=dict)
    rows: dict[bytes, bytes] = field(default_factory=dict)

    def copy(self) -> Store:
        """What a replica or a backup has now."""
        return replace(self, meta=dict(self.meta), rows=dict(self.rows))

    def become(self, other: Store) -> None:
        """Be what that one was: a fail-over, a restored backup, or, with an empty one, a loss."""
        self.meta, self.rows = dict(other.meta), dict(other.rows)


class FakePartition:
    """A worker's client of one `Store`: a `PartitionState` that answers as the scripts do."""

    def __init__(self, store: Store, layout: Layout, gate: Gate = open_gate) -> None:
        self.store = store
        self.layout = layout
        self.gate = gate
        self.reverse = False
        """Whether cursors go the other way: another server has been put in place."""

    async def acquire(self, token: bytes, fence: int, incarnation: bytes, worker: str) -> dict[str, bytes]:
        await self.gate("acquire")
        meta = self.store.meta
        if meta.get("incarnation") == incarnation:
            self._check_claim(fence)
        before = dict(meta)
        meta |= {"epoch": token, "fence": b"%d" % fence, "worker": worker.encode()}
        if (before.get("changelog"), before.get("incarnation")) != (b"%d" % fence, incarnation):
            meta["state"] = b"restoring"
        await self.gate("acquire.done")
        return before

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        await self.gate("load")
        self._check_epoch(token)
        if self.store.meta.get("changelog", b"") != at:
            raise StateLost("DIVERGED")
        found = [self._values(one) for one in wanted]
        await self.gate("load.done")
        return found

    async def page(self, token: bytes, at: bytes, key: bytes, cursor: int) -> Page:
        await self.gate("page")
        self._check_epoch(token)
        if self.store.meta.get("changelog", b"") != at:
            raise StateLost("DIVERGED")
        fields = sorted(self._fields(key).items(), reverse=self.reverse)
        following = cursor + PAGE
        return Page(following if following < len(fields) else 0, dict(fields[cursor:following]), len(fields))

    async def apply(
        self,
        token: bytes,
        before: bytes,
        after: bytes,
        rows: Mapping[bytes, bytes | None],
        meta: Mapping[str, object],
    ) -> None:
        await self.gate("apply")
        self._apply(token, before, after, rows, meta)
        await self.gate("apply.done")

    async def scan(self) -> AsyncIterator[Mapping[bytes, bytes]]:
        await self.gate("scan")
        for key, row in sorted(self.store.rows.items()):
            yield {key: row}

    async def heads(self) -> AsyncIterator[list[tuple[bytes, bytes | None]]]:
        await self.gate("heads")
        for key in sorted({split_row_key(key)[0] for key in self.store.rows} - {b""}):
            yield [(key, self.store.rows.get(row_key(key, AGENT)))]

    async def whole(self, keys: Sequence[bytes]) -> dict[bytes, dict[bytes, bytes]]:
        await self.gate("whole")
        rows = self.store.rows.items()
        return {key: {name: row for name, row in rows if split_row_key(name)[0] == key} for key in keys}

    def _check_claim(self, fence: int) -> None:
        meta = self.store.meta
        if int(meta.get("fence", b"-1")) > fence:
            raise Fenced("claim is older")
        if meta.get("state") == b"ahead" or int(meta.get("changelog", b"0").partition(b"+")[0] or 0) > fence:
            meta["state"] = b"ahead"
            raise StateLost("DIVERGED")

    def _check_epoch(self, token: bytes) -> None:
        if self.store.meta.get("epoch") != token:
            raise Fenced("epoch")

    def _values(self, wanted: Wanted) -> list[bytes | None]:
        found = self._fields(wanted.key)
        return [found.get(name) for name in wanted.fields]

    def _fields(self, key: bytes) -> dict[bytes, bytes]:
        """What the hash of a key holds."""
        places = ((*self.layout.place(row_key), row) for row_key, row in self.store.rows.items())
        return {name: row for place, name, row in places if place == key}

    def _apply(
        self,
        token: bytes,
        before: bytes,
        after: bytes,
        rows: Mapping[bytes, bytes | None],
        meta: Mapping[str, object],
    ) -> None:
        self._check_epoch(token)
        at = self.store.meta.get("changelog", b"")
        if at != before:
            if at == after:
                return
            raise StateLost("DIVERGED")
        for key, row in rows.items():
            if row is None:
                self.store.rows.pop(key, None)
            else:
                self.store.rows[key] = row
        self.store.meta |= {name: _bytes(value) for name, value in meta.items()}
        self.store.meta["changelog"] = after


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
