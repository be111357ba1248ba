"""What `up` waits for beyond `/readyz`: the worker of this run."""

import pytest

from moodstream.cli.readiness import unfinished
from moodstream.state.workers import WorkerReport

SINCE = 1_700_000_000.0


def said(at: float, *phases: str) -> WorkerReport:
    return WorkerReport("worker", at, None, {str(number): phase for number, phase in enumerate(phases)})


@pytest.mark.parametrize(
    ("reports", "missing"),
    [
        ([], "the worker has taken 0 of 2 partitions"),
        ([said(SINCE - 0.1, "ready", "ready")], "the worker has taken 0 of 2 partitions"),
        ([said(SINCE + 1, "ready", "restoring")], "the worker has taken 1 of 2 partitions"),
        ([said(SINCE - 5, "ready", "ready"), said(SINCE, "ready", "ready")], None),
    ],
)
def test_the_worker_of_an_earlier_run_does_not_count(reports: list[WorkerReport], missing: str | None) -> None:
    assert unfinished(reports, SINCE, 2) == missing
