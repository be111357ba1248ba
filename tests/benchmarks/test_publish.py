"""What `publish` makes of its rounds."""

from __future__ import annotations

import publish
from publish import Run


def test_ratios_are_of_the_same_round() -> None:
    rounds = [
        [Run("bare", None, bare, 30.0, 0.1), Run("Bus", "bare", ours, 60.0, 0.2)]
        for bare, ours in ((10_000.0, 5_000.0), (2_000.0, 1_500.0), (30_000.0, 30_000.0))
    ]
    found = publish.outcome(rounds)
    assert found.ratios == {"Bus": 0.75}
    assert found.tables[0].rows == [["bare", 10_000, 30.0, 0.1, None], ["Bus", 5_000, 60.0, 0.2, 0.75]]
