"""Run every benchmark, keep what it finds, and write docs/benchmarks.md from it.

What has a result of this commit is not run again, so a run that was cut off goes on where it ended. Ends with 1 when a
benchmark failed or the time was not enough for all. Run it by `scripts/bench all`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from bench.outcome import environment
from bench.page import generated, replaced
from bench.places import say
from bench.suite import PLAN, Planned, Results, Suite

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/benchmarks.md"


def main() -> None:
    """Read the options, run, write the page."""
    options = parsed(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # so that the benchmark under way ends too
    results = Results(options.results)
    suite = Suite(results, environment()["commit"], options.minutes * 60)
    if not options.write:
        suite.run(options.only, again=options.again)
    write(PAGE, results)
    told(suite)
    sys.exit(int(bool(suite.failed or suite.missing)))


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="scripts/bench all", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / ".cache/bench/results", help="where results are kept")
    parser.add_argument("--minutes", type=float, default=75, help="after which no other benchmark is begun")
    parser.add_argument("--only", type=chosen, default=PLAN, metavar="A,B", help="only these benchmarks")
    parser.add_argument("--again", action="store_true", help="also what has a result of this commit")
    parser.add_argument("--write", action="store_true", help="run nothing, write the page from the results there are")
    return parser.parse_args(arguments)


def chosen(names: str) -> list[Planned]:
    """Read names with commas in between; the order stays that of the plan."""
    wanted = set(names.split(","))
    if unknown := wanted - {one.name for one in PLAN}:
        raise argparse.ArgumentTypeError(f"no such benchmark: {', '.join(sorted(unknown))}")
    return [one for one in PLAN if one.name in wanted]


def write(page: Path, results: Results) -> None:
    """Write the generated part of the page anew; the rest stays."""
    found = [(one, results.load(one.name)) for one in PLAN]
    measured = [(one, result) for one, result in found if result is not None]
    missing = [one.name for one, result in found if result is None]
    page.write_text(replaced(page.read_text(), generated(measured, missing)))
    say(f"{page.name} has the results of {len(measured)} benchmarks")


def told(suite: Suite) -> None:
    """Say what has no result, and why."""
    if suite.failed:
        say(f"failed: {', '.join(suite.failed)}")
    if suite.missing:
        say(f"not begun, for the time was up: {', '.join(suite.missing)}; run it again to go on")


if __name__ == "__main__":
    main()
