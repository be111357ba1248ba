"""Looks at the trends of many rows at once: what `statistics.summary` says, for a fraction of its cost per signal.

A worker looks at every row that a chunk of events has touched. `summary` would build some fifty small arrays for each
of their signals; here all series (row, signal) lie side by side in arrays of 64 columns and are computed together.

A shorter series is filled up on the left with the time of its oldest turn. So the newest turn is in the last column
for all, and the filling only adds gaps of 0; where it would count in a sum, it is multiplied by 0 first.

Sums are added up in another order than in `inference`, so p and slope may differ in the last digits. Where such digits
could decide about a step, `inference.change_point` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, lgamma
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moodstream.affect.inference import SLOPE_MINIMUM, change_point
from moodstream.affect.params import PARAMS
from moodstream.affect.signals import SIGNALS
from moodstream.affect.statistics import HALF_LIFE_HOURS, KINDS
from moodstream.affect.trend_row import BITS, HEAD_BYTES, MASK_AT, VALUES_AT, TrendRow
from moodstream.schemas.errors import InvalidQuery

__all__ = ["Looks", "look_all"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# The rules of `statistics` and `inference`; a test holds them equal.
WINDOW_HALF_LIVES: Final = 4
MS_PER_HOUR: Final = 3_600_000.0
CHANGE_MARGIN: Final = 8
CHANGE_THRESHOLD: Final = 4.25
RARE_EXPECTED: Final = 2
LARGEST_RHO: Final = 0.9
NO_RESIDUAL: Final = 1e-12

_WIDTH: Final = PARAMS.observations_kept
_ROWS = 64  # looked at together: their arrays fit into the cache of a core, twice as many are slower by a quarter
_CLOSE = 1e-9  # relative; rounding moves what is compared by less than 1e-12
_SMALL_P = 1e-3
_HEAD_WORDS = 8
_ALIGN = b"\0"  # before a report's head of 31 bytes: its values then start at a multiple of 4
_TIME_LOW, _KEY_HIGH = 24, 8  # the time has 24 bits in the first word and 24 in the second, before 8 of the key
_NEVER = -1

_BIT = (1 << np.arange(len(SIGNALS), dtype=np.uint8))[:, None]
_MASKS = np.arange(1 << len(SIGNALS), dtype=np.uint8)
_HAS = ((_MASKS & _BIT) != 0).astype(np.int64)  # (signal, mask)
_WORDS = _HEAD_WORDS + _HAS.sum(axis=0)  # of a report, by mask
_WORD_OF = _HEAD_WORDS + _HAS.cumsum(axis=0) - _HAS  # of a signal's value in a report, by (signal, mask)
_BOOLEAN = np.array([KINDS[signal] == "boolean" for signal in SIGNALS])
_COUNT = np.array([KINDS[signal] == "count" for signal in SIGNALS])
_NUMBER = np.arange(len(SIGNALS))[:, None]
_EACH = np.zeros((len(SIGNALS), 1))
_OLDER = np.arange(1 - _WIDTH, 1)  # plus n: values up to and with a column
_BACK = np.arange(-_WIDTH, 0)  # the columns, as places before the end of a series
_INSIDE = np.tri(_WIDTH + 1, _WIDTH, -1)[:, ::-1].copy()  # 1.0 in the last n columns, by n


@dataclass(frozen=True, slots=True)
class Looks:
    """What is seen of R rows: arrays of shape (R, 7), signals in the order of `SIGNALS`. Never NaN or infinite.

    `observations` counts the turns not older than four half-lives before the newest; `testable` says that they are 10
    or more, not all at one time. If not, `p` is 1 and `slope` (per hour, transformed units) 0. `median_gap_hours` is 0
    below 10 observations. `change_ms` is the time of the first turn after a step, `newest_ms` that of the newest turn;
    both are -1 if there is none.
    """

    observations: Integers
    p: Floats
    slope: Floats
    testable: Flags
    median_gap_hours: Floats
    change_ms: Integers
    newest_ms: Integers

    def seen(self, p: float) -> list[bool]:
        """Row by row, whether any signal has a smaller p, or a step."""
        found: Flags = (self.p < p) | (self.change_ms >= 0)
        rows: list[bool] = found.max(axis=1, initial=False).tolist()
        return rows


def look_all(rows: Sequence[TrendRow], half_life_hours: float = HALF_LIFE_HOURS) -> Looks:
    """Look at all signals of all rows; of each it says what `summary` says. InvalidQuery for a half-life <= 0."""
    if not (half_life_hours > 0 and isfinite(half_life_hours)):
        raise InvalidQuery("the half-life must be a positive number of hours", parameter="half_life")
    looks = _nothing(len(rows))
    for mask, places in _alike(rows).items():
        for start in range(0, len(places), _ROWS):
            some = places[start : start + _ROWS]
            look = _look_regular if mask else _look
            look([rows[place] for place in some], np.array(some), half_life_hours, looks)
    return looks


def _alike(rows: Sequence[TrendRow]) -> dict[int, list[int]]:
    """Places of the rows by the one mask that all reports of a row have; 0: of those whose reports differ."""
    found: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        body = row.regular()
        found.setdefault(body[HEAD_BYTES + MASK_AT] if body else 0, []).append(place)
    return found


def _nothing(rows: int) -> Looks:
    shape = rows, len(SIGNALS)
    return Looks(
        observations=np.zeros(shape, np.int64),
        p=np.ones(shape),
        slope=np.zeros(shape),
        testable=np.zeros(shape, np.bool_),
        median_gap_hours=np.zeros(shape),
        change_ms=np.full(shape, _NEVER, np.int64),
        newest_ms=np.full(shape, _NEVER, np.int64),
    )


def _look(rows: Sequence[TrendRow], places: Integers, half_life: float, looks: Looks) -> None:
    """Note what is seen of some rows, in the looks at `places`. Only series that are long enough cost."""
    flat = _flatten(_read(rows))
    seen = (flat.end > flat.first).nonzero()[0]
    signal, row = np.divmod(seen, len(rows))
    block = _block(flat, seen, signal, half_life)
    _note(block, places[row], half_life, looks)


def _look_regular(rows: Sequence[TrendRow], places: Integers, half_life: float, looks: Looks) -> None:
    """Do what `_look` does, for rows whose reports all have one mask: their series share their times."""
    bodies = [row.pack() for row in rows]
    signals = np.array(BITS[bodies[0][HEAD_BYTES + MASK_AT]])
    block = _regular_block(bodies, signals, half_life)
    _note(block, places.repeat(len(signals)), half_life, looks)


def _note(block: _Block, row: Integers, half_life: float, looks: Looks) -> None:
    """Note what is seen of the series of a block; `row` says in whose looks."""
    signal = block.signal
    looks.observations[row, signal] = block.n
    looks.newest_ms[row, signal] = block.each(block.times[:, -1])
    enough = (block.n >= SLOPE_MINIMUM).nonzero()[0]
    if not len(enough):
        return
    if len(enough) == len(row):
        _test(block, half_life, (row, signal), looks)
    else:
        _test(block.take(enough), half_life, (row[enough], signal[enough]), looks)


def _test(block: _Block, half_life: float, place: tuple[Integers, Integers], looks: Looks) -> None:
    """Note what is seen of series that are long enough; `place` says where."""
    hours = block.times - block.times[:, -1:]
    hours /= MS_PER_HOUR
    z = _centred(block)
    looks.testable[place] = block.each(hours[:, 0] < 0.0)
    looks.median_gap_hours[place] = block.each(_median_gap(hours, block.n[:: block.share]))
    looks.slope[place], looks.p[place] = _slopes(hours, z, block, half_life)
    looks.change_ms[place] = _changes(z, block)


# --- From rows to series


class _Reports(NamedTuple):
    """The reports of all rows in the order of (row, time, key); those of row r are `bounds[r]` to `bounds[r + 1]`."""

    times: Integers
    masks: NDArray[np.uint8]
    starts: Integers
    words: NDArray[np.float32]
    bounds: Integers


class _Flat(NamedTuple):
    """Times (whole ms) and values of all series, one after the other, oldest first; series s is `first[s]` to `end[s]`.

    Series are numbered by signal, then by row.
    """

    times: Floats
    values: NDArray[np.float32]
    first: Integers
    end: Integers


class _Block(NamedTuple):
    """Series: times in ms, values, 1.0 where a column counts, how many do, the signal.

    Each `share` series after each other have the same times: there is one row of `times` and `inside` for them.
    """

    times: Floats
    y: Floats
    inside: Floats
    n: Integers
    signal: Integers
    share: int = 1

    def each(self, shared: NDArray[Any]) -> NDArray[Any]:
        """Give what series share to each of them."""
        return shared if self.share == 1 else shared.repeat(self.share, axis=0)

    def take(self, at: Integers) -> _Block:
        shared = at // self.share
        return _Block(self.times[shared], self.y[at], self.inside[shared], self.n[at], self.signal[at])


def _read(rows: Sequence[TrendRow]) -> _Reports:
    """Read the bytes of all reports at once, as words of 4 bytes: 8 of head, then the values."""
    stored: list[bytes] = []
    bounds = [0]
    for row in rows:
        stored += row.reports()
        bounds.append(len(stored))
    masks = np.frombuffer(bytes([data[MASK_AT] for data in stored]), np.uint8)
    sizes = _WORDS[masks]
    starts = sizes.cumsum() - sizes
    words = np.frombuffer(b"".join([_ALIGN, _ALIGN.join(stored)]) if stored else b"", ">u4").astype(np.uint32)
    times = (words[starts].astype(np.int64) << _TIME_LOW) + (words[starts + 1] >> _KEY_HIGH)
    return _Reports(times, masks, starts, words.view(np.float32), np.array(bounds, np.int64))


def _flatten(reports: _Reports) -> _Flat:
    """Pick the values of each signal; they keep the order of the reports."""
    stands = (reports.masks & _BIT) != 0  # (signal, report)
    words = _WORD_OF.take(reports.masks, axis=1)
    words += reports.starts
    cuts = _NUMBER * len(reports.masks) + reports.bounds
    bounds = stands.ravel().nonzero()[0].searchsorted(cuts)
    return _Flat(
        (reports.times + _EACH)[stands],
        reports.words[words[stands]],
        bounds[:, :-1].ravel(),
        bounds[:, 1:].ravel(),
    )


def _block(flat: _Flat, series: Integers, signal: Integers, half_life: float) -> _Block:
    """Lay out what counts of some series: the newest 64 turns that are not older than four half-lives."""
    first, end = flat.first[series, None], flat.end[series, None]
    place = np.maximum(end + _BACK, first)
    times = flat.times[place]
    n = _window(times, (end - first)[:, 0], half_life)
    return _Block(times, flat.values[place].astype(np.float64), _INSIDE[n], n, signal)


def _regular_block(bodies: Sequence[bytes], signals: Integers, half_life: float) -> _Block:
    """Lay out, as `_block` does, the series of rows whose reports all know these signals."""
    size = VALUES_AT + 4 * len(signals)
    count = np.array([len(body) // size for body in bodies])
    stored = np.frombuffer(b"".join([body[HEAD_BYTES:] for body in bodies]), np.uint8).reshape(-1, size)
    aligned = np.zeros((len(stored), len(_ALIGN) + size), np.uint8)
    aligned[:, len(_ALIGN) :] = stored
    words = aligned.view(">u4")
    flat = ((words[:, 0].astype(np.int64) << _TIME_LOW) + (words[:, 1] >> _KEY_HIGH)).astype(np.float64)
    values = words[:, _HEAD_WORDS:].astype(np.uint32).view(np.float32)
    end = count.cumsum()[:, None]
    place = np.maximum(end + _BACK, end - count[:, None])
    times = flat[place]
    n = _window(times, count, half_life)
    y = values[place].transpose(0, 2, 1).astype(np.float64, order="C").reshape(-1, _WIDTH)
    return _Block(times, y, _INSIDE[n], n.repeat(len(signals)), np.tile(signals, len(bodies)), len(signals))


def _window(times: Floats, count: Integers, half_life: float) -> Integers:
    """Return how many turns count: those not older than four half-lives. The times before them are made like theirs."""
    counts = times - times[:, -1:] >= -WINDOW_HALF_LIVES * half_life * MS_PER_HOUR
    n: Integers = np.minimum(counts.sum(axis=1), count)
    np.maximum(times, times[np.arange(len(n)), _WIDTH - n][:, None], out=times)
    return n


# --- Slopes


def _median_gap(hours: Floats, n: Integers) -> Floats:
    """Return the medians of n - 1 gaps: the last ones once sorted, as the filling has gaps of 0."""
    gaps = hours[:, 1:] - hours[:, :-1]
    gaps.sort(axis=1)
    each, last = np.arange(len(n)), gaps.shape[1] - 1
    return np.asarray((gaps[each, last - (n - 2) // 2] + gaps[each, last - (n - 1) // 2]) / 2.0)


def _centred(block: _Block) -> Floats:
    """Return values minus their mean, 0 outside; all 0 where all values are equal.

    Squares and products of 32-bit floats and times neither overflow nor vanish, so no unit is needed.
    """
    z = block.y - block.y[:, -1:]
    inside = block.each(block.inside)
    z -= (_dot(z, inside) / block.n)[:, None]
    z *= inside
    return z


def _slopes(hours: Floats, z: Floats, block: _Block, half_life: float) -> tuple[Floats, Floats]:
    """Return slopes per hour and p, as `slope_test`; where time has no extent or y no variance they are 0 and 1."""
    w = np.exp2(hours / half_life)
    w *= block.inside
    away = hours - (_dot(w, hours) / _dot(w, block.inside))[:, None]
    c = w
    c *= away
    spread, cc, c = block.each(_or_one(_dot(c, away))), block.each(_or_one(_dot(c, c))), block.each(c)
    cz = _dot(c, z)
    share = np.minimum(cz * cz / (cc * _or_one(_dot(z, z))), 1.0)
    c *= (cz / cc)[:, None]
    return cz / spread, _p(share, _careful(np.subtract(z, c, out=c), 2.0 / block.n), block.n)


def _p(share: Floats, careful: Floats, n: Integers) -> Floats:
    """Return p of correlations, `share` = r², with n - 2 degrees of freedom: as `two_sided_p`."""
    rest, signal, nu = 1.0 - share, share * careful, n - 2
    x, y = rest / (rest + signal), signal / (rest + signal)
    p = 1.0 - _within(x, y, nu)
    small = (p < _SMALL_P).nonzero()[0]  # few of its digits are right there
    if len(small):
        p[small] = _beyond(x[small], y[small], nu[small])
        p[rest < NO_RESIDUAL] = 0.0
    return p


def _within(x: Floats, y: Floats, nu: Integers) -> Floats:
    """Return A(t | nu) = 1 - p for x = cos² a = nu / (nu + t²), y = sin² a = 1 - x; errors are some 1e-15.

    The finite sums of Abramowitz and Stegun (1964), 26.7.3 for odd and 26.7.4 for even nu.
    """
    terms = (x[:, None] * _RATIOS[nu]).cumprod(axis=1)
    cosine, sine = np.sqrt(x), np.sqrt(y)
    even = sine * (1.0 + terms.sum(axis=1))
    odd = (np.arctan2(sine, cosine) + cosine * even) * (2.0 / np.pi)
    return np.asarray(np.where(nu % 2 == 1, odd, even))


def _beyond(x: Floats, y: Floats, nu: Integers) -> Floats:
    """Return small p: the continued fraction of `student` from its far end; so deep, it is exact below p = .001."""
    steps, value = _FRACTION[nu], np.ones(len(x))
    for at in range(steps.shape[1] - 1, -1, -1):
        value = 1.0 + steps[:, at] * x / value
    return np.asarray(_FRONT[nu] * x ** (nu / 2) * np.sqrt(y) / value)


_NU = np.arange(_WIDTH - 1)[:, None]


def _ratios() -> Floats:
    """Return the ratios of neighbouring terms in the sums of `_within`, but for cos² a, by nu; 0 after the last."""
    k, odd = np.arange(1, _WIDTH // 2), _NU % 2
    return np.where(2 * k + odd <= _NU - 2, (2 * k - 1 + odd) / (2 * k + odd), 0.0)


def _fraction(depth: int) -> Floats:
    """Return the first numerators of the continued fraction (DLMF 8.17.22 for b = 1/2), but for x, by nu."""
    a, m = np.maximum(_NU, 1) / 2, np.arange(depth // 2)
    odd = -(a + m) * (a + 0.5 + m) / ((a + 2 * m) * (a + 2 * m + 1))
    even = (m + 1) * (0.5 - m - 1) / ((a + 2 * m + 1) * (a + 2 * m + 2))
    return np.stack((odd, even), axis=2).reshape(len(_NU), depth)


_RATIOS = _ratios()
_FRACTION = _fraction(24)
_FRONT = np.array([exp(lgamma(a + 0.5) - lgamma(a + 1.0) - lgamma(0.5)) for a in np.arange(_WIDTH - 1) / 2])


# --- Steps


def _changes(z: Floats, block: _Block) -> Integers:
    """Return the times of the first turns after a step, -1 where there is none, as `change_point`."""
    changes = np.full(len(z), _NEVER, np.int64)
    sums = z.cumsum(axis=1)
    between = sums * sums
    between *= _SPLITS[block.n]
    _restrict(between, block)
    best, total = between.argmax(axis=1), _dot(z, z)
    top = between[np.arange(len(z)), best]
    q = top / (_or_one(np.maximum(total - top, NO_RESIDUAL * total)) / (block.n - 2))
    likely = (q > CHANGE_THRESHOLD**2 * (1.0 - _CLOSE)).nonzero()[0]  # few: the careful factor is below 1
    if len(likely):
        part = block.take(likely)
        column = _steps(z[likely], sums[likely], between[likely], q[likely], part)
        changes[likely] = np.where(column < 0, _NEVER, part.times[np.arange(len(likely)), column])
    return changes


def _restrict(between: Floats, block: _Block) -> None:
    """Forget the splits of rare answers that do not expect two of them on both sides."""
    ones = _dot((block.y != 0.0).astype(np.float64), block.each(block.inside))
    rare, least = np.minimum(ones, block.n - ones), RARE_EXPECTED * block.n
    applies = _BOOLEAN[block.signal] | (_COUNT[block.signal] & (2 * ones < block.n))
    some = (applies & (CHANGE_MARGIN * rare < least)).nonzero()[0]
    if not len(some):
        return
    n = block.n[some, None]
    k = _OLDER + n
    between[some] *= np.minimum(k, n - k) * rare[some, None] >= least[some, None]


def _steps(z: Floats, sums: Floats, between: Floats, q: Floats, block: _Block) -> Integers:
    """Return the columns of the first values after a step, -1 where the best split is none."""
    each, best = np.arange(len(z)), between.argmax(axis=1)
    top, k = between[each, best], best + 1 - (_WIDTH - block.n)
    before, after = sums[each, best], sums[:, -1] - sums[each, best]
    means = np.where(np.arange(_WIDTH) <= best[:, None], (before / k)[:, None], (after / (block.n - k))[:, None])
    strength = q * _careful((z - means) * block.inside, 1.0 / block.n) / CHANGE_THRESHOLD**2
    line = _line(z, block.n) / top
    column = np.where((strength > 1.0) & (line < 1.0), best + 1, -1)
    rivals = np.count_nonzero(between > top[:, None] * (1.0 - _CLOSE), axis=1) > 1
    for at in np.flatnonzero(rivals | (abs(strength - 1.0) < _CLOSE) | (abs(line - 1.0) < _CLOSE)).tolist():
        first = _WIDTH - int(block.n[at])
        index = change_point(block.y[at, first:], KINDS[SIGNALS[block.signal[at]]])
        column[at] = -1 if index is None else first + index
    return column


def _line(z: Floats, n: Integers) -> Floats:
    """Return the sums of squares that straight lines over the index explain."""
    i = np.arange(1 - _WIDTH, 1) + ((n - 1) / 2)[:, None]
    return _dot(i, z) ** 2 / (n * (n * n - 1) / 12)


def _splits() -> Floats:
    """Return n / (k (n - k)) by n and column, the k-th value being the last of the older side; 0 if none may be."""
    n = np.arange(_WIDTH + 1)[:, None]
    k = np.arange(1 - _WIDTH, 1) + n
    allowed = (k >= CHANGE_MARGIN) & (n - k >= CHANGE_MARGIN)
    return np.where(allowed, n / np.where(allowed, k * (n - k), 1), 0.0)


_SPLITS = _splits()


# --- For both


def _careful(e: Floats, bias: Floats) -> Floats:
    """Return (1 - rho) / (1 + rho), as `inference` does for one series."""
    lag = _dot(e[:, 1:], e[:, :-1]) / _or_one(_dot(e, e))
    rho = np.minimum(np.maximum(lag + bias, 0.0), LARGEST_RHO)
    return np.asarray((1.0 - rho) / (1.0 + rho))


def _dot(a: Floats, b: Floats) -> Floats:
    """Return the dot products of the series of two blocks."""
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _or_one(a: Floats) -> Floats:
    """Return divisors: where one is 0, so is what it divides."""
    return np.where(a == 0.0, 1.0, a)
