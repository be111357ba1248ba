"""The trend row in memory, and its bytes (docs/rows.md, `trends` and `pair`).

A row stays the bytes that it is stored as. What comes new waits beside them and is joined to them when the row is
packed: where all reports know the same signals, which is the rule, by cutting and joining bytes. Only when a report
meets others of its turn are all turns told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from struct import Struct

from moodstream.affect.params import PARAMS
from moodstream.affect.signals import SIGNALS

Report = tuple[int, bytes]
"""Time in ms, and the report's bytes as stored: time, key, event, mask, values. Sorts by (time, key, event)."""

KEY_AT, EVENT_AT, MASK_AT = 6, 18, 30
"""Where a report's bytes have key, event and mask; before them is the time, after them the values."""
VALUES_AT = MASK_AT + 1
BITS = [tuple(bit for bit in range(len(SIGNALS)) if mask >> bit & 1) for mask in range(1 << len(SIGNALS))]
"""The bits of the signals that a report with this mask knows."""
HEAD_BYTES = 2

_KEPT = PARAMS.observations_kept
_HEAD = Struct(">H")
_FLOAT = Struct(">f")
_OUTCOME = 1 << SIGNALS.index("outcome_success")
_SIZES = [VALUES_AT + 4 * len(bits) for bits in BITS]


class TrendRow:
    """The reports of an agent, or of a pair. Each signal of a turn stands in one report at most."""

    __slots__ = ("_body", "_new", "_stride", "_turns")

    def __init__(self, turns: dict[bytes, list[Report]] | None = None) -> None:
        self._body = b""
        self._stride = 0
        """Size of each report in the body, where all of them know the same signals; else 0."""
        self._new: dict[bytes, bytes] = {}
        """Reports of turns that are not in the body, by the turn's key."""
        self._turns = turns

    @property
    def empty(self) -> bool:
        """True when nothing was observed: such a row is not written."""
        return not self.count

    @property
    def count(self) -> int:
        """Reports in the row: as many as turns, or more."""
        if self._turns is None:
            return int.from_bytes(self._body[:HEAD_BYTES], "big") + len(self._new)
        return sum(map(len, self._turns.values()))

    @property
    def turns(self) -> dict[bytes, list[Report]]:
        """The reports by turn, until the row is packed; what is changed in it is changed in the row."""
        if self._turns is None:
            self._turns = {}
            for data in (*_split(self._body, self._stride), *self._new.values()):
                self._turns.setdefault(data[KEY_AT:EVENT_AT], []).append((time_of(data), data))
            self._new = {}
        return self._turns

    @property
    def body(self) -> bytes:
        """What was read or packed last, whatever has come since."""
        return self._body

    def regular(self) -> bytes:
        """Pack the row and give its body, if all its reports know the same signals; else, or for a late turn, b""."""
        if self._turns is None and (self._stride or not self._body):
            body = self.pack()
            if self._stride:
                return body
        return b""

    @classmethod
    def unpack(cls, body: bytes | None) -> TrendRow:
        """Read a row's body; a row that is not there (None) is an empty one. struct.error or IndexError if broken."""
        row = cls()
        if body is not None:
            row._body, row._stride = body, _stride_of(body)
            if not row._stride:
                _split(body, 0)
        return row

    def pack(self) -> bytes:
        """Drop what is beyond the newest 64 turns of each signal, and return the row's body."""
        if self._turns is not None:
            self._put(_trimmed(self.reports()))
        elif self._new:
            new = sorted(self._new.values())
            if not self._append(new):
                self._put(_trimmed(self.reports()))
            self._new = {}
        elif not self._body:
            self._put([])
        return self._body

    def _put(self, reports: Sequence[bytes]) -> None:
        self._body = b"".join([_HEAD.pack(len(reports)), *reports])
        self._stride, self._turns = _stride_of(self._body), None

    def _append(self, new: Sequence[bytes]) -> bool:
        """Join later reports to a body whose reports know the same signals; False where that is not so."""
        body, first = self._body, new[0]
        size, mask, count = len(first), first[MASK_AT], int.from_bytes(body[:HEAD_BYTES], "big")
        if count and (self._stride != size or body[HEAD_BYTES + MASK_AT] != mask or first < body[-size:]):
            return False
        if any(data[MASK_AT] != mask for data in new):
            return False
        new = new[-_KEPT:]
        left = min(count, _KEPT - len(new))
        self._body = b"".join([_HEAD.pack(left + len(new)), body[HEAD_BYTES + (count - left) * size :], *new])
        self._stride = size
        return True

    def reports(self) -> list[bytes]:
        """Return the reports as they are stored, oldest first: sorted by (time, key, event)."""
        if self._turns is not None:
            return sorted([data for _, data in chain.from_iterable(self._turns.values())])
        stored = _split(self._body, self._stride)
        return sorted([*stored, *self._new.values()]) if self._new else stored

    def observations(self, signal: str) -> list[tuple[int, float]]:
        """Return (time in ms, transformed value) of the newest 64 turns with this signal, oldest first."""
        bit = SIGNALS.index(signal)
        below = (1 << bit) - 1
        standing = [data for data in self.reports() if data[MASK_AT] >> bit & 1][-_KEPT:]
        read = _FLOAT.unpack_from
        return [(time_of(b), read(b, VALUES_AT + 4 * len(BITS[b[MASK_AT] & below]))[0]) for b in standing]

    def newest(self, signal: str) -> int | None:
        """Return the time in ms of the newest report with this signal, None if there is none."""
        mask = 1 << SIGNALS.index(signal)
        return next((time_of(data) for data in reversed(self.reports()) if data[MASK_AT] & mask), None)

    def enter(self, report: Report) -> None:
        """Let a report compete with those of its turn."""
        data = report[1]
        key = data[KEY_AT:EVENT_AT]
        if self._turns is None and key not in self._new and key not in self._body:  # found by chance costs time only
            self._new[key] = data
            return
        of_turn = self.turns.get(key)
        self.turns[key] = [report] if of_turn is None else _compete(of_turn, report)

    def trim(self) -> None:
        """Drop what is beyond the newest 64 turns of each signal, as `pack` does."""
        self.pack()

    def until(self, ms: int) -> TrendRow:
        """The row without reports after a time (ms). What they have pushed out of the row stays unknown."""
        turns = {key: [each for each in reports if each[0] <= ms] for key, reports in self.turns.items()}
        return TrendRow({key: reports for key, reports in turns.items() if reports})

    def outcomes(self) -> TrendRow:
        """The reports of outcomes alone."""
        return TrendRow({key: reports for key, reports in self.turns.items() if _is_outcome(reports)})

    def engagements(self) -> TrendRow:
        """The reports of engagement alone."""
        return TrendRow({key: reports for key, reports in self.turns.items() if not _is_outcome(reports)})

    def join(self, other: TrendRow) -> None:
        """Take over the reports of a row that has other turns than this one."""
        self.turns.update((key, list(reports)) for key, reports in other.turns.items())


def time_of(data: bytes) -> int:
    """The time of a report's bytes, in ms."""
    return int.from_bytes(data[:KEY_AT], "big")


def _is_outcome(reports: Sequence[Report]) -> bool:
    """Whether these reports of a turn are of an outcome: then they know nothing else."""
    return bool(reports[0][1][MASK_AT] & _OUTCOME)


def _compete(of_turn: list[Report], new: Report) -> list[Report]:
    """Return the reports of a turn after a new one came: of two with the same signal the greater (time, event) wins."""
    t, data = new
    standing, lost = [], 0
    for old_t, old in of_turn:
        common = old[MASK_AT] & data[MASK_AT]
        if common and (t, data[EVENT_AT:MASK_AT]) > (old_t, old[EVENT_AT:MASK_AT]):
            standing.append((old_t, _without(old, common)))
        else:
            standing.append((old_t, old))
            lost |= common
    standing.append((t, _without(data, lost)))
    return [report for report in standing if report[1]]


def _without(data: bytes, lost: int) -> bytes:
    """Return a report's bytes without some of its signals; empty if none is left."""
    mask = data[MASK_AT]
    if not mask & lost:
        return data
    left = [n for n, bit in enumerate(BITS[mask]) if not lost >> bit & 1]
    if not left:
        return b""
    values = [data[VALUES_AT + 4 * n : VALUES_AT + 4 * n + 4] for n in left]
    return b"".join([data[:MASK_AT], bytes((mask & ~lost,)), *values])


def _stride_of(body: bytes) -> int:
    """The size of each report of a body if all know the same signals, else 0; also 0 for a body without reports."""
    (count,) = _HEAD.unpack_from(body)
    if not count:
        return 0
    mask = body[HEAD_BYTES + MASK_AT]
    size = _SIZES[mask]
    is_regular = len(body) == HEAD_BYTES + count * size and body[HEAD_BYTES + MASK_AT :: size].count(mask) == count
    return size if is_regular else 0


def _split(body: bytes, stride: int) -> list[bytes]:
    """Return the reports of a row's body. struct.error or IndexError if it is broken."""
    end = len(body)
    if stride:
        return [body[at : at + stride] for at in range(HEAD_BYTES, end, stride)]
    at, reports = HEAD_BYTES, []
    for _ in range(_HEAD.unpack_from(body)[0] if body else 0):
        start, at = at, at + _SIZES[body[at + MASK_AT]]
        reports.append(body[start:at])
    if body and at != end:
        raise IndexError(f"a trend row has {end} bytes, its reports {at}")
    return reports


def _trimmed(reports: list[bytes]) -> list[bytes]:
    """Return the reports, after those signals that are in more than 64 turns have lost their oldest."""
    if len(reports) <= _KEPT:
        return reports
    for at, lost in _beyond(reports):
        reports[at] = _without(reports[at], lost)
    return list(filter(None, reports))


def _beyond(reports: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield (place, mask of lost signals) for the oldest reports, until each signal is in 64 of them at most."""
    total = [-_KEPT] * len(SIGNALS)
    masks = bytes([data[MASK_AT] for data in reports])
    for mask in set(masks):
        count = masks.count(mask)
        for bit in BITS[mask]:
            total[bit] += count
    over = sum(1 << bit for bit, count in enumerate(total) if count > 0)
    for at, data in enumerate(reports):
        if not over:
            return
        lost = data[MASK_AT] & over
        for bit in BITS[lost]:
            total[bit] -= 1
            if not total[bit]:
                over ^= 1 << bit
        if lost:
            yield at, lost
