"""The tests of contract §5 as the simulations ran them: numpy, no guards. For series that need none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


def slope_test(t: Series, y: Series, half_life: float) -> tuple[float, float, float]:
    """Slope per hour, its standard error, and the statistic, Student with n - 2. Sorted, in hours."""
    w = np.exp2((t - t[-1]) / half_life)
    tm = (w * t).sum() / w.sum()
    c, z = w * (t - tm), y - y.mean()
    cc, zz, cz = (c * c).sum(), (z * z).sum(), (c * z).sum()
    slope, r2 = cz / (c * (t - tm)).sum(), cz * cz / (cc * zz)
    e = z - c * cz / cc
    rho = np.clip((e[1:] * e[:-1]).sum() / (e * e).sum() + 2 / len(t), 0, 0.9)
    stat = np.sign(cz) * np.sqrt(r2 * (len(t) - 2) / (1 - r2) * (1 - rho) / (1 + rho))
    return float(slope), float(abs(slope / stat)), float(stat)


def change_point(y: Series, rare: int | None = None, m: int = 8, threshold: float = 4.25) -> int | None:
    """Index of the first value after the change. `rare`: the number of rare answers, where they restrict splits."""
    n, z = len(y), y - y.mean()
    k = np.arange(m, n - m + 1)
    if rare is not None:
        k = np.array([split for split in k if min(split, n - split) * rare / n >= 2 - 1e-9], dtype=int)
        if not len(k):
            return None
    ss, s = (z * z).sum(), np.cumsum(z)[k - 1]
    between = s * s * n / (k * (n - k))
    q = between / ((ss - between) / (n - 2))
    j = int(q.argmax())
    at = int(k[j])
    e = np.concatenate([z[:at] - z[:at].mean(), z[at:] - z[at:].mean()])
    rho = np.clip((e[1:] * e[:-1]).sum() / (e * e).sum() + 1 / n, 0, 0.9)
    i = np.arange(n) - (n - 1) / 2
    line = (i * z).sum() ** 2 / (i * i).sum()
    found = np.sqrt(q[j] * (1 - rho) / (1 + rho)) > threshold and between[j] > line
    return at if found else None
