"""Many agents side by side by the trend of one signal: how strong each is, and how much of it chance would give.

Of a hundred agents without any trend, five have a direction at p < 5 %. So whoever ranks agents has to know how many
of those at the top would be there anyway: that is q, the share of false ones among all that are at least as clear.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_STRENGTH", "false_shares", "strengths"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_STRENGTH: Final = 16.0


def strengths(p: Floats, slope: Floats, sign: Integers) -> Floats:
    """Return the evidence for a trend: log10(1 / p), at most 16; positive where it is for the better.

    1.3 stands for p = 5 %, 3 for p = .1 %. 0 where the slope is 0, or where neither more nor less is better (sign 0).
    """
    evidence = np.minimum(-np.log10(np.maximum(p, 1e-300)), LARGEST_STRENGTH)
    return np.asarray(evidence * np.sign(slope) * np.sign(sign) + 0.0)


def false_shares(p: Floats) -> Floats:
    """Return q per test: the share of false ones among all tests with at most its p, at most, as is to be expected.

    Benjamini and Hochberg (1995): q of the k-th smallest of m is the least of p · m / k from there on; holds for tests
    that are independent, or hang together positively.
    """
    m = len(p)
    order = np.argsort(p, kind="stable")
    each = p[order] * (m / np.arange(1, m + 1))
    q = np.empty(m)
    q[order] = np.minimum(np.minimum.accumulate(each[::-1])[::-1], 1.0)
    return q
