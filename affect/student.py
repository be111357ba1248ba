"""Student's t distribution without scipy: the two-sided p-value, by a continued fraction.

    p = I_x(n/2, 1/2),  x = n / (n + t²),  n degrees of freedom

I is the regularised incomplete beta function. Source: NIST Digital Library of Mathematical Functions, 8.17.22
(continued fraction) and 8.17.4 (symmetry); evaluated by Lentz's method as modified by Thompson and Barnett (1986).
"""

from __future__ import annotations

from math import exp, lgamma, log

_TINY = 1e-300
_ENOUGH = 1e-15
_STEPS = 300


def two_sided_p(t: float, nu: float) -> float:
    """Return the chance that |t| is at least this large with `nu` > 0 degrees of freedom, in [0, 1]."""
    if t == 0.0:
        return 1.0
    # As ratios, so that the square of a huge t does not overflow.
    ratio = abs(t) / nu**0.5
    x, y = _shares(ratio)
    if x == 0.0:
        return 0.0
    return min(max(_incomplete_beta(nu / 2, 0.5, x, y), 0.0), 1.0)


def _shares(ratio: float) -> tuple[float, float]:
    """Return (1, r²) / (1 + r²)."""
    if ratio > 1.0:
        inverse = (1.0 / ratio) ** 2
        return inverse / (1.0 + inverse), 1.0 / (1.0 + inverse)
    square = ratio * ratio
    return 1.0 / (1.0 + square), square / (1.0 + square)


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b) for 0 < x < 1 and y = 1 - x; `y` is given, as 1 - x would lose digits near 1."""
    if y == 0.0:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, y) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < _ENOUGH:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
