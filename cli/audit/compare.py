"""Compare rows: with what the oracle expects, or Redis with the changelog where the log begins too late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from moodstream.cli.audit.sources import Rows
from moodstream.cli.oracle.layout import BEFORE_THIS_LOG, HEADER, MARK, MARKERS, Kind, marker_key

_BEFORE = -1


@dataclass(slots=True)
class Difference:
    """One row that is not as it should be. None stands for a row that is not there."""

    key: bytes
    expected: bytes | None
    found: bytes | None
    places: list[str] = field(default_factory=list)
    """Where it was found so: `redis`, `changelog`, or `redis, not changelog` when only these two could be compared."""


def offset_of(row: bytes | None) -> int:
    """The offset in a row's header; -1 for no row, one too short to have a header, and one from before this log."""
    if row is None or len(row) < HEADER.size:
        return _BEFORE
    offset: int = HEADER.unpack_from(row)[4]
    return _BEFORE if offset == BEFORE_THIS_LOG else offset


def is_notice(key: bytes) -> bool:
    """Notices depend on when somebody looked: audit leaves them out."""
    return key.endswith(b"\x00notice")


def without_notices(rows: Rows) -> Rows:
    """The rows that are pure functions of the log."""
    return {key: row for key, row in rows.items() if not is_notice(key)}


def version_of(key: bytes, rows: Rows) -> int:
    """Version of an agent: the offset of its agent row, or where it was erased of its marker row; -1 without both."""
    return max(offset_of(rows.get(key + b"\x00agent")), offset_of(marker_of(key, rows)))


def marker_of(key: bytes, rows: Rows) -> bytes | None:
    """The marker row of an agent; of one whose key is not known, that of its marker row stands for it."""
    return rows.get(key if key.startswith(MARKERS) else marker_key(key))


def erased_at(marker: bytes | None) -> list[int]:
    """Offsets of the erasures in a marker row; none where it cannot be read."""
    if marker is None:
        return []
    body = marker[HEADER.size :]
    marks = body[2 : 2 + MARK.size * int.from_bytes(body[:2], "big")]
    return [offset for _, _, offset, _ in MARK.iter_unpack(marks)] if len(marks) % MARK.size == 0 else []


def from_before(key: bytes, rows: Rows, log_start: int) -> bool:
    """Whether some row holds events that this log does not have (any more)."""
    if any(offset < log_start for offset in erased_at(marker_of(key, rows))):
        return True
    before = BEFORE_THIS_LOG.to_bytes(8, "big", signed=True)
    agent = rows.get(key + b"\x00agent", b"")
    first = agent[HEADER.size : HEADER.size + 8]
    if len(first) == len(before) and 0 <= int.from_bytes(first, "big", signed=True) < log_start:
        return True
    return first == before or any(row[HEADER.size - 8 : HEADER.size] == before for row in rows.values())


def kind_of(key: bytes) -> str:
    """Kind of a row by its key, in lower case; `unknown` for a suffix that has none."""
    word = key.partition(b"\x00")[2].partition(b"/")[0].decode("ascii", errors="replace")
    return word if word.upper() in Kind.__members__ else "unknown"


def against_oracle(expected: Rows, found: Rows, place: str) -> list[Difference]:
    """Every row that differs, is missing, or should not be there."""
    return [
        Difference(key, expected.get(key), found.get(key), [place])
        for key in sorted(expected.keys() | found.keys())
        if expected.get(key) != found.get(key)
    ]


def against_changelog(redis: Rows, changelog: Rows, redis_version: int, changelog_version: int) -> list[Difference]:
    """Rows that differ although neither side can have been changed since the other was read.

    A row newer than the other side's version of the agent was changed in between and says nothing.
    """
    differing = against_oracle(changelog, redis, "redis, not changelog")
    if redis_version == changelog_version:
        return differing
    return [
        one
        for one in differing
        if offset_of(one.found) <= changelog_version and offset_of(one.expected) <= redis_version
    ]


def merged(differences: Iterable[Difference]) -> list[Difference]:
    """One entry for a row that is wrong in the same way in both places."""
    seen: dict[tuple[bytes, bytes | None, bytes | None], Difference] = {}
    for one in differences:
        same = seen.setdefault((one.key, one.expected, one.found), one)
        if same is not one:
            same.places += one.places
    return list(seen.values())
