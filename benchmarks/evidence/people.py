"""Trends of real people: how many have one, and how many would have one if order meant nothing?"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evidence.jobs import rng_of
from evidence.rows import WINDOW, row_of
from evidence.series import Floats
from evidence.single import looks_at
from evidence.talk import chat, lived
from moodstream.affect.inference import SLOPE_MINIMUM
from moodstream.affect.signals import SIGNALS, values_of
from moodstream.affect.statistics import LABEL_P
from moodstream.affect.trends import TrendRow, report_of
from moodstream.agents.agent_rows import is_pair
from moodstream.cli.chat_events import CHANNEL
from moodstream.schemas.events import Action, Engagement, InputEvent
from moodstream.schemas.instants import to_us
from moodstream.schemas.profile import DEFAULT_PROFILE
from moodstream.state.rows import TRENDS, pair_suffix

DAY_MS = 86_400_000
_EVENT = bytes(12)


class Lived(NamedTuple):
    """One signal of one person or pair: times in ms and stored values, oldest first."""

    signal: str
    times: NDArray[np.int64]
    values: Floats


def trends(path: Path, limit: int | None, seed: int, permutations: int) -> dict[str, object]:
    """Count directions and steps by signal among people and pairs, as they are and with values permuted in time.

    `outcomes` permutes something else: which message had which outcome. It keeps the clock, so whatever it finds is
    made by the time at which outcomes become known.
    """
    rows = trend_rows(path, limit)
    found: dict[str, object] = {"messages": chat(path, limit).messages, "authors": len(chat(path, limit).events)}
    for who, of_kind in rows.items():
        series = [one for row in of_kind for one in long_enough(row)]
        null = [counted(permuted(rng_of(seed, "people", who, at), series)) for at in range(permutations)]
        found[who] = {"real": counted(series), "permuted": null}
    return found


class Outcome(NamedTuple):
    """What became known of one message: when it was sent, how long after that it was known, and the value."""

    sent: int
    waited: int
    value: float


def clock(path: Path, limit: int | None, seed: int, permutations: int) -> dict[str, object]:
    """Count directions among people with outcomes permuted among their messages, and with one delay for all of them."""
    outcomes = [
        (signal, known)
        for events in chat(path, limit).events.values()
        for signal, known in outcomes_of(events).items()
        if len(known) >= SLOPE_MINIMUM
    ]
    null = []
    for at in range(permutations):
        rng = rng_of(seed, "clock", at)
        null.append(counted([reported(signal, other_outcomes(rng, known)) for signal, known in outcomes]))
    even = [reported(signal, one_delay(known)) for signal, known in outcomes]
    evenly = [counted(permuted(rng_of(seed, "even", at), even)) for at in range(permutations)]
    return {"outcomes": null, "even": counted(even), "even_permuted": evenly}


def outcomes_of(events: list[InputEvent]) -> dict[str, list[Outcome]]:
    """Return what became known of one person's messages, by signal, in the order of the messages."""
    sent = {event.turn_id: to_ms(event) for event in events if isinstance(event, Action)}
    found: dict[str, list[Outcome]] = {}
    for event in events:
        if isinstance(event, Engagement) and event.turn_id in sent:
            at = sent[event.turn_id]
            for signal, value in zip(SIGNALS, values_of(event, DEFAULT_PROFILE.rules), strict=True):
                if value is not None:
                    found.setdefault(signal, []).append(Outcome(at, to_ms(event) - at, value))
    return {signal: sorted(known) for signal, known in found.items()}


def other_outcomes(rng: np.random.Generator, known: list[Outcome]) -> list[Outcome]:
    """Give each message the delay and the value of another one."""
    order = rng.permutation(len(known)).tolist()
    return [known[other]._replace(sent=one.sent) for one, other in zip(known, order, strict=True)]


def one_delay(known: list[Outcome]) -> list[Outcome]:
    """Let everything become known a day after the message."""
    return [one._replace(waited=DAY_MS) for one in known]


def reported(signal: str, known: list[Outcome]) -> Lived:
    """Return the series that a row has of some outcomes: by the time at which they were reported, the newest 64."""
    series = sorted((one.sent + one.waited, one.value) for one in known)[-WINDOW:]
    times, values = zip(*series, strict=True)
    return Lived(signal, np.array(times), np.array(values))


def to_ms(event: InputEvent) -> int:
    """Return when an event happened, in ms."""
    return to_us(event.occurred_at) // 1000


def trend_rows(path: Path, limit: int | None) -> dict[str, list[TrendRow]]:
    """Fold the log; what nobody in particular answered (the channel) is no pair."""
    rows: dict[str, list[TrendRow]] = {"people": [], "pairs": []}
    channel = pair_suffix(CHANNEL)
    for name, events in chat(path, limit).events.items():
        for suffix, row in lived(name, events).trends.items():
            if suffix == TRENDS:
                rows["people"].append(row)
            elif is_pair(suffix) and suffix != channel:
                rows["pairs"].append(row)
    return rows


def long_enough(row: TrendRow) -> list[Lived]:
    """Return the signals that have turns enough to say anything."""
    found = []
    for signal in SIGNALS:
        observed = row.observations(signal)
        if len(observed) >= SLOPE_MINIMUM:
            times, values = zip(*observed, strict=True)
            found.append(Lived(signal, np.array(times), np.array(values)))
    return found


def permuted(rng: np.random.Generator, series: list[Lived]) -> list[Lived]:
    """Keep times and values of each series, but let chance say which value came when."""
    return [one._replace(values=rng.permutation(one.values)) for one in series]


def counted(series: list[Lived]) -> dict[str, dict[str, int]]:
    """Look at every series by itself; counts by signal."""
    looks = looks_at([alone(one) for one in series])
    counts = {signal: {"looks": 0, "direction": 0, "step": 0} for signal in SIGNALS}
    for at, one in enumerate(series):
        bit, count = SIGNALS.index(one.signal), counts[one.signal]
        if looks.testable[at, bit]:
            count["looks"] += 1
            count["direction"] += int(looks.p[at, bit] < LABEL_P)
            count["step"] += int(looks.change_ms[at, bit] >= 0)
    return {signal: count for signal, count in counts.items() if count["looks"]}


def alone(one: Lived) -> TrendRow:
    """Make a row of one signal: each value is a turn of its own."""
    bit = SIGNALS.index(one.signal)
    before, after = (None,) * bit, (None,) * (len(SIGNALS) - bit - 1)
    reports = [
        report_of(turn.to_bytes(12, "big"), _EVENT, t, (*before, value, *after))
        for turn, (t, value) in enumerate(zip(one.times.tolist(), one.values.tolist(), strict=True))
    ]
    return row_of([report for report in reports if report is not None])
