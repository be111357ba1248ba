"""What was promised beforehand, held against the numbers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from evidence.plan import Share
from evidence.series import DATA
from evidence.streams import GAPS

Found = dict[str, Any]

DIRECTION, STEP, POWER, NOTICE, PERMUTED, AGAIN = 0.05, 1.0, 0.8, 1.0, 0.06, 0.01
STEP_SIZE: Final = 1.5
WITHIN: Final = 16


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise: what, where the limit is, what was measured, and where."""

    text: str
    limit: float
    measured: Share
    where: str
    at_least: bool = False
    unit: str = "%"

    @property
    def met(self) -> bool:
        """Whether the measured value itself is inside the limit; chance is no excuse."""
        return self.measured.value >= self.limit if self.at_least else self.measured.value <= self.limit

    @property
    def verdict(self) -> str:
        """Met or missed, and whether chance could have decided it (two standard errors)."""
        near = abs(self.measured.value - self.limit) < 2.0 * self.measured.error
        return ("met" if self.met else "missed") + (", within the error" if near else "")

    def as_json(self) -> Found:
        """Return it for machines."""
        return {
            "promise": self.text,
            "limit": self.limit,
            "at_least": self.at_least,
            "value": self.measured.value,
            "error": self.measured.error,
            "where": self.where,
            "met": self.met,
            "verdict": self.verdict,
        }


Named = tuple[Share, str]


def worst(shares: Iterable[Named]) -> Named:
    """Return the greatest one."""
    return max(shares, key=lambda one: one[0].value)


def promises(found: Found) -> list[Promise]:
    """Hold a run against all promises that it has numbers for."""
    made = [*on_white_noise(found), *on_notices(found), power(found), told_once(found)]
    if "people" in found:
        made += [permuted(found, who) for who in ("people", "pairs")]
        made += [exactness(found), unflagged(found), same_order(found)]
    return made


def on_white_noise(found: Found) -> Iterator[Promise]:
    """False directions and false steps, for normal values and for the worst kind that a signal can have."""
    looks = list(one_look(found))
    text = "a direction in at most 5 % of looks at values without one"
    yield Promise(f"{text}: normal values", DIRECTION, *worst(each for each, kind in looks if kind == "normal"))
    yield Promise(f"{text}: the worst kind of values", DIRECTION, *worst(each for each, _ in looks))
    text = "less than 1 false change point in 1,000 observations, a look at each"
    onsets = list(in_streams(found, "step_onsets", "observations", 1_000.0))
    for what, kinds in (("normal values", ("normal",)), ("the worst kind of values", tuple(DATA))):
        measured = worst(each for each, kind in onsets if kind in kinds)
        yield Promise(f"{text}: {what}", STEP, *measured, unit="per 1,000")


def one_look(found: Found) -> Iterator[tuple[Named, str]]:
    """Give the share of false directions by kind of data, of single looks and in streams."""
    for row in found["single"]:
        if DATA[row["data"]].promised:
            share = Share.of(row["direction"], row["looks"])
            yield (share, f"{DATA[row['data']].label}, n = {row['n']}"), row["data"]
    yield from in_streams(found, "labels", "looks", 1.0)


def in_streams(found: Found, count: str, of: str, per: float) -> Iterator[tuple[Named, str]]:
    """Give a rate of all streams of kinds that the promises are for."""
    for row in found["streams"]:
        data = DATA[row["data"]]
        if data.promised:
            where = f"{data.label}, streams, gap {row['gap_hours']:g} h"
            yield (Share.among(row[count], row[of], per), where), row["data"]


def on_notices(found: Found) -> Iterator[Promise]:
    """False notices of a direction, by how far observations lie apart, and for the worst kind of values."""
    text = "at most 1 false notice of a direction in 1,000 looks"
    onsets = list(in_streams(found, "notices", "looks", 1_000.0))
    for gap in GAPS:
        here = worst(each for each, kind in onsets if kind == "normal" and each[1].endswith(f" {gap:g} h"))
        yield Promise(f"{text}: normal values, gap {gap:g} h", NOTICE, *here, unit="per 1,000")
    yield Promise(f"{text}: the worst of all", NOTICE, *worst(each for each, _ in onsets), unit="per 1,000")


def power(found: Found) -> Promise:
    """How often a step is seen soon."""
    row = next(row for row in found["steps"] if row["step"] == STEP_SIZE)
    text = f"a step of {STEP_SIZE:g} standard deviations after 64 steady values is seen within {WITHIN} observations"
    share = Share.of(row[f"step{WITHIN}"], row["series"])
    return Promise(text, POWER, share, "normal values", at_least=True)


def told_once(found: Found) -> Promise:
    """How often one step is announced as two; false alarms meanwhile may add up to the limit."""
    text = "a step is announced once: at most 1 % are announced again within 32 observations"
    shares = (
        (Share.of(row["again"], row["announced"]), f"{row['step']:g} standard deviations") for row in found["steps"]
    )
    return Promise(text, AGAIN, *worst(shares))


def permuted(found: Found, who: str) -> Promise:
    """Directions among real values in an order made by chance: the worst signal does not count, the sum does."""
    null = found["people"][who]["permuted"]
    count, looks = (sum(of[key] for one in null for of in one.values()) for key in ("direction", "looks"))
    text = f"at most 6 % of {who} of the chat log have a direction when their values are permuted"
    return Promise(text, PERMUTED, Share.of(count, looks), f"{len(null)} permutations, all signals")


def exactness(found: Found) -> Promise:
    """Moods that differ where nothing was more than an hour late."""
    rows = [found["moods"][name]["ours"] for name in ("in order", "twice", "shuffled", "backlog")]
    off = sum((1.0 - row["exact"]) * row["readings"] for row in rows)
    share = Share.of(off, sum(row["readings"] for row in rows))
    return Promise(
        "no mood differs because events came twice, up to 1 h late in another order, or in a backlog",
        0.0,
        Share(share.value, 0.0),
        "chat log",
    )


def unflagged(found: Found) -> Promise:
    """Moods that are wrong and do not say so, in whatever way events came."""
    rows = [row["ours"] for row in found["moods"].values()]
    silent = sum(row["silent"] * row["readings"] for row in rows)
    share = Share(silent / sum(row["readings"] for row in rows), 0.0)
    return Promise(
        "no mood differs, however late events came, without being flagged approximate", 0.0, share, "chat log"
    )


def same_order(found: Found) -> Promise:
    """Recalls that an influence of 0 changes."""
    rows = found["recall"].values()
    share = sum(row["unlike"] for row in rows) / max(sum(2 * row["questions"] for row in rows), 1)
    return Promise("an influence of 0 never changes the order of a recall", 0.0, Share(share, 0.0), "chat log")
