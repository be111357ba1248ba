"""The trend fold (docs/rows.md): per signal and turn the newest report wins, the newest 64 turns stay.

A row is a function of the set of reports: their order, lateness and repetition leave no trace. So `observe` only lets
reports compete; what is beyond the newest 64 turns is dropped when the row is packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from struct import Struct

from moodstream.affect.params import PARAMS
from moodstream.affect.signals import SIGNALS, SIGNS, UNKNOWN, Values, sign_of, turn_key, values_of

__all__ = [
    "SIGNALS",
    "SIGNS",
    "UNKNOWN",
    "Report",
    "TrendRow",
    "Values",
    "observe",
    "sign_of",
    "turn_key",
    "values_of",
]

Report = tuple[int, bytes]
"""Time in ms, and the report's bytes as stored: time, key, event, mask, values. Sorts by (time, key, event)."""

_KEPT = PARAMS.observations_kept
_BITS = [tuple(bit for bit in range(len(SIGNALS)) if mask >> bit & 1) for mask in range(1 << len(SIGNALS))]
_HEAD = Struct(">H")
_FLOATS = [Struct(f">{count}f") for count in range(len(SIGNALS) + 1)]
_KEY_AT, _EVENT_AT, _MASK_AT = 6, 18, 30
_VALUES_AT = _MASK_AT + 1
_OUTCOME = 1 << SIGNALS.index("outcome_success")
_SIZES = [_VALUES_AT + 4 * len(bits) for bits in _BITS]


class TrendRow:
    """The reports of an agent, or of a pair. Each signal of a turn stands in one report at most.

    A row is read as the sorted list that it is stored as, and a turn that is new waits beside it. Only when a report
    meets others of its turn are all turns told apart (`turns`): that costs as much as the rest together.
    """

    __slots__ = ("_body", "_new", "_sorted", "_turns")

    def __init__(self, turns: dict[bytes, list[Report]] | None = None) -> None:
        self._turns = turns
        self._body = b""
        """What was read or packed last; `_sorted` has its reports, `_new` those of turns that are not in it, by key."""
        self._sorted: list[bytes] = []
        self._new: dict[bytes, bytes] = {}

    @property
    def empty(self) -> bool:
        """True when nothing was observed: such a row is not written."""
        return not self.count

    @property
    def count(self) -> int:
        """Reports in the row: as many as turns, or more."""
        if self._turns is None:
            return len(self._sorted) + len(self._new)
        return sum(map(len, self._turns.values()))

    @property
    def turns(self) -> dict[bytes, list[Report]]:
        """The reports by turn; what is changed in it is changed in the row."""
        if self._turns is None:
            self._turns = {}
            for data in (*self._sorted, *self._new.values()):
                self._turns.setdefault(data[_KEY_AT:_EVENT_AT], []).append((_time_of(data), data))
            self._body, self._sorted, self._new = b"", [], {}
        return self._turns

    @classmethod
    def unpack(cls, body: bytes | None) -> TrendRow:
        """Read a row's body; a row that is not there (None) is an empty one. struct.error or IndexError if broken."""
        row = cls()
        if body is None:
            return row
        row._sorted = _split(body)
        row._body = body
        return row

    def pack(self) -> bytes:
        """Drop what is beyond the newest 64 turns of each signal, and return the row's body."""
        if self._turns is None and not self._new and self._body:
            return self._body
        reports = self._trimmed()
        body = b"".join([_HEAD.pack(len(reports)), *reports])
        if self._turns is None:
            self._body, self._sorted, self._new = body, reports, {}
        return body

    def reports(self) -> list[bytes]:
        """Return the reports as they are stored, oldest first: sorted by (time, key, event)."""
        if self._turns is None:
            return sorted([*self._sorted, *self._new.values()]) if self._new else list(self._sorted)
        return sorted([data for _, data in chain.from_iterable(self._turns.values())])

    def observations(self, signal: str) -> list[tuple[int, float]]:
        """Return (time in ms, transformed value) of the newest 64 turns with this signal, oldest first."""
        bit = SIGNALS.index(signal)
        below = (1 << bit) - 1
        standing = [data for data in self.reports() if data[_MASK_AT] >> bit & 1][-_KEPT:]
        read = _FLOATS[1].unpack_from
        return [(_time_of(b), read(b, _VALUES_AT + 4 * len(_BITS[b[_MASK_AT] & below]))[0]) for b in standing]

    def newest(self, signal: str) -> int | None:
        """Return the time in ms of the newest report with this signal, None if there is none."""
        mask = 1 << SIGNALS.index(signal)
        return next((_time_of(data) for data in reversed(self.reports()) if data[_MASK_AT] & mask), None)

    def enter(self, report: Report) -> None:
        """Let a report compete with those of its turn."""
        key = report[1][_KEY_AT:_EVENT_AT]
        if self._turns is None and key not in self._new and key not in self._body:  # found by chance costs time only
            self._new[key] = report[1]
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

    def _trimmed(self) -> list[bytes]:
        """Return the reports in order, after those signals that are in more than 64 turns have lost their oldest."""
        reports = self.reports()
        if len(reports) <= _KEPT:
            return reports
        for at, lost in _beyond(reports):
            reports[at] = self._reduce(reports[at], lost)
        return list(filter(None, reports))

    def _reduce(self, data: bytes, lost: int) -> bytes:
        """Take signals from a report of this row; one that has none left goes, and its turn with the last one."""
        reduced = _without(data, lost)
        if self._turns is not None:
            t, key = _time_of(data), data[_KEY_AT:_EVENT_AT]
            of_turn = self._turns[key]
            of_turn.remove((t, data))
            if reduced:
                of_turn.append((t, reduced))
            elif not of_turn:
                del self._turns[key]
        return reduced


def _is_outcome(reports: Sequence[Report]) -> bool:
    """Whether these reports of a turn are of an outcome: then they know nothing else."""
    return bool(reports[0][1][_MASK_AT] & _OUTCOME)


def observe(row: TrendRow, key: bytes, event: bytes, t: int, values: Sequence[float | None]) -> None:
    """Fold one report into the row, in place: `event` is H(event id), `t` its time in ms, `values` of `values_of`."""
    report = report_of(key, event, t, values)
    if report is not None:
        enter(row, report)


def report_of(key: bytes, event: bytes, t: int, values: Sequence[float | None]) -> Report | None:
    """Make a report, which may enter several rows; None if it knows no signal."""
    mask = 0
    known = []
    for bit, value in enumerate(values):
        if value is not None:
            mask |= 1 << bit
            known.append(value)
    if not mask:
        return None
    head = t.to_bytes(_KEY_AT, "big")
    return t, b"%b%b%b%c%b" % (head, key, event, mask, _FLOATS[len(known)].pack(*known))


def enter(row: TrendRow, report: Report) -> None:
    """Let a report compete with those of its turn, in place."""
    row.enter(report)


def _compete(of_turn: list[Report], new: Report) -> list[Report]:
    """Return the reports of a turn after a new one came: of two with the same signal the greater (time, event) wins."""
    t, data = new
    standing, lost = [], 0
    for old_t, old in of_turn:
        common = old[_MASK_AT] & data[_MASK_AT]
        if common and (t, data[_EVENT_AT:_MASK_AT]) > (old_t, old[_EVENT_AT:_MASK_AT]):
            standing.append((old_t, _without(old, common)))
        else:
            standing.append((old_t, old))
            lost |= common
    standing.append((t, _without(data, lost)))
    return [report for report in standing if report[1]]


def _without(data: bytes, lost: int) -> bytes:
    """Return a report's bytes without some of its signals; empty if none is left."""
    mask = data[_MASK_AT]
    if not mask & lost:
        return data
    left = [n for n, bit in enumerate(_BITS[mask]) if not lost >> bit & 1]
    if not left:
        return b""
    values = [data[_VALUES_AT + 4 * n : _VALUES_AT + 4 * n + 4] for n in left]
    return b"".join([data[:_MASK_AT], bytes((mask & ~lost,)), *values])


def _split(body: bytes) -> list[bytes]:
    """Return the reports of a row's body. struct.error or IndexError if it is broken."""
    (count,) = _HEAD.unpack_from(body)
    at, end = _HEAD.size, len(body)
    reports = []
    for _ in range(count):
        start, at = at, at + _SIZES[body[at + _MASK_AT]]
        reports.append(body[start:at])
    if at != end:
        raise IndexError(f"a trend row has {end} bytes, its reports {at}")
    return reports


def _beyond(reports: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield (place, mask of lost signals) for the oldest reports, until each signal is in 64 of them at most."""
    total = [-_KEPT] * len(SIGNALS)
    masks = bytes([data[_MASK_AT] for data in reports])
    for mask in set(masks):
        count = masks.count(mask)
        for bit in _BITS[mask]:
            total[bit] += count
    over = sum(1 << bit for bit, count in enumerate(total) if count > 0)
    for at, data in enumerate(reports):
        if not over:
            return
        lost = data[_MASK_AT] & over
        for bit in _BITS[lost]:
            total[bit] -= 1
            if not total[bit]:
                over ^= 1 << bit
        if lost:
            yield at, lost


def _time_of(data: bytes) -> int:
    return int.from_bytes(data[:_KEY_AT], "big")
