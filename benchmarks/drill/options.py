"""The options of the command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drill.kinds import KINDS
from drill.plan import plans
from drill.planted import PLANTS

SHORT_SEED = 1


@dataclass(frozen=True)
class Options:
    """What is to be run."""

    rounds: int
    seed: int
    faults: tuple[str, ...]
    workers: int
    rate: float
    keep: Path
    only: int | None = None
    """The one round to run."""
    resume: Path | None = None
    plant: str | None = None
    json: bool = False
    stop_early: bool = False
    """End with the first round that fails."""

    @property
    def identity(self) -> dict[str, object]:
        """What rounds that are added up must have in common."""
        faults = list(self.faults)
        return {"seed": self.seed, "faults": faults, "workers": self.workers, "rate": self.rate, "plant": self.plant}

    def repeat(self, number: int) -> str:
        """The command that runs one round again."""
        words = ["scripts/drill", f"--seed {self.seed}", f"--only {number}"]
        words += [f"--faults {','.join(self.faults)}"] if self.faults != tuple(KINDS) else []
        words += [f"--workers {self.workers} --rate {self.rate:g}"]
        words += [f"--plant {self.plant}"] if self.plant else []
        return " ".join(words)


def parsed(arguments: Sequence[str]) -> Options:
    """Read the options; exits with code 2 where they make no sense."""
    parser = _parser()
    given = parser.parse_args(arguments)
    faults = tuple(given.faults.split(",")) if given.faults else tuple(KINDS)
    unknown = [name for name in faults if name not in KINDS]
    if unknown:
        parser.error(f"no such fault: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    seed = SHORT_SEED if given.short else given.seed
    rounds = rounds_for_all(seed, faults) if given.short else given.rounds
    return Options(
        rounds,
        seed,
        faults,
        given.workers,
        given.rate,
        given.keep,
        given.only,
        given.resume,
        given.plant,
        given.json,
        given.stop_early,
    )


def rounds_for_all(seed: int, faults: Sequence[str]) -> int:
    """How many rounds it takes until each of these faults has come."""
    left = set(faults)
    for plan in plans(seed, faults):
        left -= set(plan.kinds)
        if not left:
            return plan.number + 1
    raise AssertionError  # plans are endless


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/drill", description="Break everything under load, and compare every row with the log at the end."
    )
    add = parser.add_argument
    add("--rounds", type=_positive, default=10, help="rounds in all, those of --resume included (default 10)")
    add("--seed", type=int, default=1, help="what the faults are drawn from")
    add("--faults", metavar="A,B", help=f"only these kinds: {', '.join(KINDS)}")
    add("--only", type=int, metavar="N", help="run this round of the seed and no other")
    add("--short", action="store_true", help="as many rounds of a fixed seed as it takes to see each kind")
    add("--workers", type=_positive, default=2)
    add("--rate", type=float, default=200.0, help="events a second (default 200)")
    add("--resume", type=Path, metavar="FILE", help="keep results in this file, and go on where it ends")
    add("--keep", type=Path, metavar="DIR", default=Path(".cache/drill"), help="where logs of failed rounds are kept")
    add("--plant", choices=PLANTS, help="break the protocol on purpose: the drill has to find it")
    add("--stop-early", action="store_true", help="end with the first round that fails")
    add("--json", action="store_true", help="end with one object as the last line")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value
