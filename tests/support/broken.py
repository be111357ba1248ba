"""The protocol with one rule left out: for tests that must see the difference."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict

import pytest

from moodstream.schemas.changelog import Commit, LogRecord, Position, Replay
from moodstream.state.ownership import Ownership, Phase
from moodstream.state.partition import Wanted
from support.fakes import FakePartition
from support.stepping import Changes, Event, Worker


class UnfencedLoads(FakePartition):
    """Reads without a look at the fence."""

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        await self.gate("load")
        return [self._values(one) for one in wanted]


class LoadsOfAnyPosition(FakePartition):
    """Reads under the token alone."""

    async def load(self, token: bytes, at: bytes, wanted: Sequence[Wanted]) -> list[list[bytes | None]]:
        return await super().load(token, self.store.meta.get("changelog", b""), wanted)


class FlushesFirst(Worker):
    """Makes a chunk visible before the log has it."""

    async def write(self, rows: Changes, position: Position) -> None:
        await self.ownership.flush(rows, position)
        await self.ownership.append(rows, position)


class CommitsFirst(Worker):
    """Commits a chunk before Redis has it, and trusts what was committed, as consumers do by default."""

    def begin(self) -> int:
        return self.world.committed

    async def write(self, rows: Changes, position: Position) -> None:
        await self.commit(position.source)
        await super().write(rows, position)


class PassesGaps(Worker):
    """Takes whatever is delivered for what comes next."""

    async def deliver(self, start: int, events: Sequence[Event]) -> None:
        known = self.ownership.position.source
        if start + len(events) > known:
            await self._process(max(start, known), events[max(known - start, 0) :])
        await self.commit(start + len(events))


class FoldsAgain(Worker):
    """Does not look at what the state includes already."""

    async def deliver(self, start: int, events: Sequence[Event]) -> None:
        await self._process(start, events)
        await self.commit(start + len(events))


class RestoresPastHoles(Ownership):
    """Goes on behind a part of the log that it was not given, as a recovery may that is interrupted."""

    async def _read(self, start: int, end: int) -> AsyncIterator[list[LogRecord]]:
        number = 0
        async for records in super()._read(start, end):
            number += 1
            if number != 3:
                yield records


class AppendsNothing(Ownership):
    """Writes chunks to Redis alone."""

    async def append(self, rows: Mapping[bytes, bytes | None], position: Position) -> None:
        self._require_ready()


class RestoresWithHoles(Ownership):
    """Moves the position before the rows are written."""

    async def _apply_commit(self, commit: Commit, replay: Replay) -> None:
        if commit.position is not None:
            meta = {"writer": commit.writer, **asdict(commit.position)}
            await self._apply({}, commit.end, meta)
        await super()._apply_commit(commit, replay)


class RestoresBlindly(Ownership):
    """Several calls at one offset leave the same text."""

    async def _apply(self, rows: Mapping[bytes, bytes | None], end: int, meta: Mapping[str, object]) -> None:
        after = b"%d" % end
        await self._state.apply(self.token, self._at, after, rows, meta)
        self._at = after


class CountsItsEpochs(Ownership):
    """Takes the next number for its token, which begins again when Redis is lost."""

    async def acquire(self) -> None:
        assert isinstance(self._state, FakePartition)
        self.token = b"%d" % (int(self._state.store.meta.get("epoch", b"0")) + 1)
        await super().acquire()


class TrustsShortReads(Ownership):
    """Takes what the log gives for all there is."""

    async def _read(self, start: int, end: int) -> AsyncIterator[list[LogRecord]]:
        async for records in self._changelog.read(self.partition, start, end):
            yield records


class LeavesLooseRows(Ownership):
    """Writes nothing again when it takes a partition."""

    async def _append(self, rows: Mapping[bytes, bytes | None], position: Position) -> None:
        await super()._append({} if self.phase is Phase.RESTORING else rows, position)


class LeavesStaleRows(Ownership):
    """Does not look at what came between its records."""

    async def _foreign(self, start: int, end: int) -> set[bytes]:
        return set()


class LeavesStalePositions(Ownership):
    """Closes a log only where rows are loose."""

    async def _append(self, rows: Mapping[bytes, bytes | None], position: Position) -> None:
        if rows or self.phase is not Phase.RESTORING:
            await super()._append(rows, position)


def forget_at_the_position(patch: pytest.MonkeyPatch) -> None:
    """A key whose row is closed is taken for well, whatever lies between row and position."""
    close = Replay._close

    def forgetful(self: Replay, record: LogRecord) -> Commit:
        commit = close(self, record)
        for key in commit.rows:
            self.foreign.pop(key, None)
        return commit

    patch.setattr(Replay, "_close", forgetful)


def know_no_marks(patch: pytest.MonkeyPatch) -> None:
    """Only a claim makes an owner."""
    patch.setattr(Replay, "_counts", lambda self, mark: not self.writer or mark == self.writer)
