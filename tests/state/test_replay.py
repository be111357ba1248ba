"""Which records of a changelog count, against a plain model; and that no legal compaction changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moodstream.schemas import changelog
from moodstream.schemas.changelog import (
    INCARNATION_PREFIX,
    OWNER_KEY,
    POSITION_KEY,
    Commit,
    LogRecord,
    Position,
    Replay,
    apply_commits,
    claim_mark,
    decode_position,
    encode_position,
    merged,
)
from support.fakes import Log, compacted
from support.stepping import Changes, Rows, apply_changes

KEYS = (b"k1", b"k2", b"k3", b"k4", b"k5")


class Writers:
    """Writes a changelog as owners, stale writers and crashes would, and knows what must come out of it.

    `rows` and `position` are the model: they change when an owner closes a chunk, and by nothing else.
    """

    def __init__(self) -> None:
        self.log = Log()
        self.rows: Rows = {}
        self.position = Position()
        self.marks: list[bytes] = []
        self.serial = 0
        self.log.put(b"", [(INCARNATION_PREFIX + b"i", b"1")])

    def claim(self, heals: bool = True) -> None:
        """A new owner: it writes loose rows again before it goes on, or dies first."""
        token = b"%016d" % len(self.marks)
        span = self.log.put(token, [(OWNER_KEY, b"{}")])
        self.marks.append(claim_mark(span.base, token))
        if heals:
            self.heal()

    def heal(self) -> None:
        """The true rows of all loose keys, and the position."""
        self.write({key: self.rows.get(key) for key in sorted(self.loose())}, self.position)

    def loose(self) -> set[bytes]:
        """Keys whose last record is not their owner's, or not closed."""
        owner, loose = b"", dict[bytes, bool]()
        for record in self.log.history:
            if record.key == OWNER_KEY:
                owner = claim_mark(record.offset, record.token)
            elif record.key == POSITION_KEY and record.token == owner:
                loose = {key: True for key, stale in loose.items() if stale}
            elif record.key in KEYS:
                loose[record.key] = record.token != owner
        return set(loose)

    def write(self, rows: Changes, position: Position, mark: bytes | None = None) -> None:
        """Rows and a position by the owner, or by another mark."""
        records = [*rows.items(), (POSITION_KEY, encode_position(position))]
        self.log.put(mark or self.marks[-1], records)

    def chunk(self, changes: Changes, dies_after: int | None, between: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """A chunk of the owner. It may die after some records; stale rows may come to lie before its last record."""
        position = replace(self.position, source=self.position.source + 1)
        records = [*changes.items(), (POSITION_KEY, encode_position(position))]
        if dies_after is not None and dies_after < len(records):
            self.log.put(self.marks[-1], records[:dies_after])
            self.claim()
            return
        self.log.put(self.marks[-1], records[:-1])
        for mark, key in between:
            self.log.put(mark, [(key, b"stale")])
        self.log.put(self.marks[-1], records[-1:])
        apply_changes(self.rows, changes)
        self.position = position
        if between:
            self.heal()

    def fresh(self) -> bytes:
        """A value that was never there before."""
        self.serial += 1
        return b"v%d" % self.serial


CHANGES = st.dictionaries(st.sampled_from(KEYS), st.booleans(), max_size=4)


@st.composite
def histories(draw: st.DrawFn) -> Writers:
    """A history of a partition, in the end closed by an owner that heals what is loose."""
    writers = Writers()
    writers.claim()
    for _ in range(draw(st.integers(0, 14))):
        _act(draw, writers, draw(st.sampled_from(["chunk", "chunk", "chunk", "crash", "claim", "stale", "torn"])))
    writers.claim()
    return writers


def _act(draw: st.DrawFn, writers: Writers, what: str) -> None:
    changes: Changes = {key: writers.fresh() if lives else None for key, lives in draw(CHANGES).items()}
    if what == "claim":
        writers.claim(heals=draw(st.booleans()))
    elif what == "stale":
        _stale(draw, writers, changes)
    else:
        writers.chunk(changes, draw(st.integers(0, 5)) if what == "crash" else None, _between(draw, writers, what))


def _stale(draw: st.DrawFn, writers: Writers, changes: Changes) -> None:
    """Late records of an earlier owner, perhaps a whole chunk, perhaps found and healed by the live owner at once."""
    mark = draw(st.sampled_from(writers.marks[:-1] or [b"0:nobody"]))
    if draw(st.booleans()):
        writers.write(changes, Position(source=999), mark)
    elif changes:
        writers.log.put(mark, list(changes.items()))
    if draw(st.booleans()):
        writers.heal()


def _between(draw: st.DrawFn, writers: Writers, what: str) -> list[tuple[bytes, bytes]]:
    if what != "torn" or len(writers.marks) < 2:
        return []
    return draw(st.lists(st.tuples(st.sampled_from(writers.marks[:-1]), st.sampled_from(KEYS)), min_size=1, max_size=3))


def restore(records: Sequence[LogRecord], rows: Rows | None = None, writer: bytes = b"", step: int = 7) -> Rows:
    """Rows that a replay gives, fed some records at a time; what is loose at the end counts as it was."""
    replay, found = Replay(writer), dict(rows or {})
    for start in range(0, len(records), step):
        apply_commits(replay.feed(records[start : start + step]), found)
    assert not replay.loose, "the history ends closed"
    return found


def last_position(records: Sequence[LogRecord]) -> Position | None:
    return next((one.position for one in reversed(Replay().feed(records)) if one.position), None)


@given(histories(), st.integers(1, 9))
def test_a_replay_gives_the_rows_and_the_position_of_the_model(writers: Writers, step: int) -> None:
    assert restore(writers.log.records, step=step) == writers.rows
    assert last_position(writers.log.records) == writers.position


@given(histories(), st.data())
def test_any_compaction_gives_the_same_rows(writers: Writers, data: st.DataObject) -> None:
    records = _compact(writers, data)
    assert restore(records) == writers.rows
    assert last_position(records) == writers.position


@given(histories(), st.data())
def test_old_tombstones_may_go(writers: Writers, data: st.DataObject) -> None:
    """The cleaner also drops deletions, once it has dropped what they delete."""
    end = writers.log.end
    clean = compacted(writers.log.records, end, end)
    gone = data.draw(st.integers(0, end), "tombstones gone below")
    left = [one for one in clean if one.value is not None or one.offset >= gone]
    assert restore(left) == writers.rows


@given(histories(), st.data())
def test_a_replay_goes_on_from_any_commit(writers: Writers, data: st.DataObject) -> None:
    """Redis was left at some commit; the log beyond, and the claims in it, may have been compacted since."""
    replay, rows = Replay(), dict[bytes, bytes]()
    moments: list[tuple[Rows, int, bytes]] = [({}, 0, b"")]
    for record in writers.log.records:
        for commit in replay.feed([record]):
            apply_commits([commit], rows)
            if not replay.foreign:
                moments.append((dict(rows), commit.end, commit.writer))
    before, start, writer = data.draw(st.sampled_from(moments), "redis")
    records = [one for one in _compact(writers, data) if one.offset >= start]
    assert restore(records, before, writer) == writers.rows


def _compact(writers: Writers, data: st.DataObject) -> list[LogRecord]:
    """Two runs of the cleaner, whenever they came; the second was perhaps interrupted between two segments."""
    ends = st.integers(0, writers.log.end)
    first, clean = sorted((data.draw(ends, "cleaned to"), data.draw(ends, "then to")))
    upto = data.draw(st.integers(0, clean), "rewritten up to")
    return compacted(compacted(writers.log.records, first, first), upto, clean)


@given(histories(), st.integers(1, 9), st.integers(1, 4))
def test_commits_merged_leave_the_same_state(writers: Writers, step: int, together: int) -> None:
    replay, commits, rows, position = Replay(), list[Commit](), Rows(), Position()
    for start in range(0, len(writers.log.records), step):
        commits += replay.feed(writers.log.records[start : start + step])
    assert merged([]) is None
    for start in range(0, len(commits), together):
        some = commits[start : start + together]
        commit = merged(some)
        assert commit is not None
        apply_commits([commit], rows)
        position = commit.position or position
        assert (commit.end, commit.writer) == (some[-1].end, some[-1].writer)
    assert (rows, position) == (writers.rows, writers.position)


def test_rows_given_early_do_not_take_the_position_from_a_merged_commit() -> None:
    first = Commit({b"k": b"1", b"l": b"1"}, Position(source=1), 5, b"1:a")
    early = Commit({b"k": b"2"}, None, -1, b"1:a")
    assert merged([first, early]) == Commit({b"k": b"2", b"l": b"1"}, Position(source=1), 5, b"1:a")
    assert merged([early, early]) == early


# -- one thing at a time

A, B = b"1:a", b"5:b"
POSITION = (POSITION_KEY, encode_position(Position(source=3)))


def log(*entries: tuple[bytes, bytes, bytes | None]) -> list[LogRecord]:
    """Records by (mark, key, value), at offsets from zero."""
    return [LogRecord(offset, key, value, mark) for offset, (mark, key, value) in enumerate(entries)]


def claim(token: bytes) -> tuple[bytes, bytes, bytes]:
    return token, OWNER_KEY, b"{}"


def test_rows_count_only_when_a_position_closes_them() -> None:
    replay = Replay()
    assert not replay.feed(log((b"", INCARNATION_PREFIX, b"1"), claim(b"a"), (A, b"k", b"v")))
    assert replay.loose == {b"k"}
    (commit,) = replay.feed([LogRecord(3, *POSITION, A)])
    assert commit == changelog.Commit({b"k": b"v"}, Position(source=3), 4, A)
    assert replay.closed
    assert not replay.loose


def test_a_record_of_a_stale_writer_is_loose_until_it_is_written_over() -> None:
    replay = Replay(B)
    commits = replay.feed(log((A, b"k", b"stale"), (A, *POSITION), (B, *POSITION)))
    assert [commit.rows for commit in commits] == [{}]
    assert replay.loose == {b"k"}
    replay.feed(log((B, b"k", b"true"), (B, *POSITION)))
    assert not replay.loose


def test_a_stale_record_between_a_row_and_its_position_stays_loose() -> None:
    """The row counts, but compaction would keep the stale record, which is the later one."""
    replay = Replay(B)
    (commit,) = replay.feed(log((B, b"k", b"true"), (A, b"k", b"stale"), (B, *POSITION)))
    assert commit.rows == {b"k": b"true"}
    assert replay.loose == {b"k"}


def test_a_writer_whose_claim_was_compacted_away_is_told_from_a_stale_one() -> None:
    (commit,) = Replay(A).feed(log((B, b"k", b"b"), (A, b"k", b"a"), (B, *POSITION)))
    assert (commit.rows, commit.writer) == ({b"k": b"b"}, B)


@pytest.mark.parametrize("mark", [b"", b"1", b"1:c", b"0:b"])
def test_other_marks_do_not_count(mark: bytes) -> None:
    replay = Replay(A)
    assert not replay.feed(log((mark, b"k", b"v"), (mark, *POSITION)))
    assert replay.loose == {b"k"}


def test_a_long_log_with_a_single_position_is_given_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded, the newest rows are kept back, and nothing is given twice."""
    monkeypatch.setattr(changelog, "SPILL_ROWS", 4)
    entries = [(A, b"k%d" % (i % 11), b"%d" % i) for i in range(30)]
    commits = Replay(A, closed=31).feed(log(*entries, (A, *POSITION)))
    assert len(commits) > 2
    assert [commit.position for commit in commits] == [None] * (len(commits) - 1) + [Position(source=3)]
    assert all(len(commit.rows) <= 8 for commit in commits)
    rows: Rows = {}
    apply_commits(commits, rows)
    assert rows == {b"k%d" % (i % 11): b"%d" % i for i in range(30)}


def test_positions_survive_their_encoding() -> None:
    position = Position(1, 2, 3, 4, 5, 6, 7, 8)
    assert decode_position(encode_position(position)) == position
    assert position.read == 3 + 4 + 5 + 6
    assert decode_position(None) == Position()
