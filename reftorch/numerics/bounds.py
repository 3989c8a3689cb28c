r"""Error bounds with their derivations, for operators whose rounding no specification pins down.

Notation, after N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed. (SIAM 2002): u is the
unit roundoff, eta the smallest positive number, fl(x op y) = (x op y)(1 + d) + e with |d| <= u,
|e| <= eta / 2 and d * e = 0 (e is 0 for sums). theta_n stands for any product of n factors (1 + d)^{+-1},
less 1, and |theta_n| <= gamma_n = n u / (1 - n u). Contracting a product and a sum to an fma removes a
rounding, so a bound that allows both roundings holds with and without contraction.

Every bound is a float64 array, absolute, normwise (|computed - exact| in the complex plane) and rounded up.
 It holds while no intermediate overflows; where the bound is infinite or NaN it says nothing.
`format_name` names the format of the real and imaginary parts, or of the summands.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reftorch.numerics.formats import FORMATS

Bound = NDArray[np.float64]


def gamma(n: int, eps: float | Fraction) -> float:
    """Higham's gamma_n = n u / (1 - n u), u = eps / 2: the relative error of n roundings. Rounded up.

    eps: the distance from 1 to the next number, as `torch.finfo.eps`. Raises ValueError from n u >= 1 on.
    """
    nu = n * Fraction(eps) / 2
    if nu >= 1:
        raise ValueError(f"gamma is not defined for {n} roundings with eps {float(eps)}: n * eps / 2 >= 1")
    return float(np.nextafter(float(nu / (1 - nu)), np.inf)) if n else 0.0


def complex_mul(x: Any, y: Any, format_name: str) -> Bound:
    """Bound for x * y by (ac - bd) + (ad + bc)i, whichever products are contracted.

    Each of the two terms of a part goes through at most two roundings, so the part is off by at most
    gamma_2 (|ac| + |bd|), and |ac| + |bd| <= |x||y| by Cauchy-Schwarz; likewise the other part. Together
    sqrt(2) gamma_2 |x||y|. Two products a part may underflow, by eta / 2 each: sqrt(2) eta, less than 4 eta
    with the rounding of the sum.
    """
    with np.errstate(all="ignore"):
        return _up(np.sqrt(2) * _gamma(2, format_name) * _abs(x) * _abs(y) + 4 * _eta(format_name))


def complex_div(x: Any, y: Any, format_name: str) -> Bound:
    """Bound for x / y by Smith's method as c10 writes it; infinite for a divisor below twice min_normal.

    Let y = c + di, |c| >= |d|. r = d / c, s = 1 / (c + d r), parts (a + b r) s and (b - a r) s.
    Divisor: c and d r = d^2 / c have one sign, so c + d r comes out with a factor 1 + theta_3 (d r has two
    roundings, the sum one). Where r or d r underflows it moves by at most (|d| + 1) eta / 2, relative to
    |c| >= min_normal less than 2u, for which two more are counted. s has theta_6.
    Parts: each term of a + b r has theta_3, the last product adds one: theta_10 on every term. A part is off
    by at most gamma_10 (|a| + |b r|) |s| = gamma_10 (|a||c| + |b||d|) / |y|^2 <= gamma_10 |x / y|, both
    together by sqrt(2) times that.
    Underflow in the numerator gives (|b| + 1) |s| eta / 2, of s itself (|a| + |b|) eta / 2, of the last
    product eta / 2. As |s| = |c| / |y|^2 <= 1 / |y|, that is less than eta ((|x| + 1) / |y| + 2 |x| + 2) for
    both parts together.
    The textbook formula (ac + bd) / (c^2 + d^2) needs theta_5 only and stays within this bound while none of
    its products underflows.
    """
    with np.errstate(all="ignore"):
        size, divisor = _abs(x), _abs(y)
        underflow = _eta(format_name) * ((size + 1) / divisor + 2 * size + 2)
        bound = np.sqrt(2) * _gamma(10, format_name) * (size / divisor) + underflow
        return _up(np.where(divisor >= 2 * float(FORMATS[format_name].min_normal), bound, np.inf))


def complex_abs(x: Any, format_name: str) -> Bound:
    """Bound for |x| by a scaled square root, or by a hypot that is off by at most two units.

    m sqrt(1 + (n / m)^2), m >= n the sizes of the parts: the quotient squared has theta_3, the sum of two
    positive terms theta_4, its square root theta_2 (half of it, as sqrt(1 + t) is within t / 2 of 1, plus
    second-order terms that gamma_n absorbs), and the root and the last product round once each: theta_4.
    Two units in the last place are 4u. The unscaled sqrt(a^2 + b^2) has theta_2 while no square underflows.
    """
    with np.errstate(all="ignore"):
        return _up(_gamma(4, format_name) * _abs(x) + 2 * _eta(format_name))


def complex_sqrt(x: Any, format_name: str) -> Bound:
    """Bound for the principal root by t = sqrt((|x| + |a|) / 2), other part b / (2 t).

    |x| has theta_4 (see `complex_abs`), adding |a| >= 0 makes theta_5, halving is exact, the square root
    halves that to less than theta_3 and rounds once; one more is counted for a root that is one unit off
    (MKL's is): theta_5. The quotient adds one, theta_6. Each part has that relative error, and so has the
    whole. Scaling by powers of two is exact, underflow of a part at most eta / 2.
    """
    with np.errstate(all="ignore"):
        return _up(_gamma(6, format_name) * np.sqrt(_abs(x)) + 2 * _eta(format_name))


def complex_rsqrt(x: Any, format_name: str) -> Bound:
    """Bound for 1 / sqrt(x): a root (1 + e) sqrt(x) with |e| <= gamma_6, then a reciprocal.

    1 / (1 + e) is within e / (1 - e) of 1, and the division's bound holds for the root as computed, of which
    |1 / root| <= (1 + e / (1 - e)) |1 / sqrt(x)|. Roots of normal numbers are far from underflow.
    """
    with np.errstate(all="ignore"):
        root = np.sqrt(_abs(x))
        carried = _gamma(6, format_name)
        carried /= 1 - carried
        return _up(carried / root + (1 + carried) * complex_div(1.0, root, format_name))


class Bounded:
    """A complex array evaluated in double precision, and how far a subject may be from it.

    A formula over + - * / run on `Bounded` operands gives the value and the bound of the whole formula, for
    any contraction. Each operation adds to the errors it inherits its own bound twice: once for the subject
    in `format_name`, once for the evaluation in double precision here. Numbers and arrays among the operands
    count as exact, so pass them as the subject holds them: 0.1 rounded to its dtype. The error says nothing
    where it is infinite or NaN.

    >>> s, a, b = (Bounded(np.array([z]), "float32") for z in (1 + 1j, 2 - 1j, 3j))
    >>> (s + 0.5 * a / b).error < 1e-5
    array([ True])
    """

    __array_ufunc__ = None  # so that an array on the left leaves the operation to this class

    def __init__(self, value: Any, format_name: str, error: Any = 0.0) -> None:
        self.value = np.asarray(value, np.complex128)
        self.error = np.broadcast_to(np.asarray(error, np.float64), self.value.shape)
        self.format_name = format_name

    def _result(self, value: Any, inherited: Any, own: Callable[[str], Any]) -> Bounded:
        error = inherited + own(self.format_name) + own("float64")
        return Bounded(value, self.format_name, _up(error))

    def _lift(self, other: Any) -> Bounded:
        return other if isinstance(other, Bounded) else Bounded(other, self.format_name)

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.format_name, self.error)

    def __add__(self, other: Any) -> Bounded:
        with np.errstate(all="ignore"):
            other = self._lift(other)
            value, inherited = self.value + other.value, self.error + other.error
            size = np.abs(value) + 2 * inherited
            return self._result(value, inherited, lambda name: _gamma(1, name) * size)

    def __sub__(self, other: Any) -> Bounded:
        return self + -self._lift(other)

    def __mul__(self, other: Any) -> Bounded:
        with np.errstate(all="ignore"):
            other = self._lift(other)
            x, y = np.abs(self.value), np.abs(other.value)
            inherited = x * other.error + y * self.error + self.error * other.error
            x, y = x + self.error, y + other.error
            return self._result(self.value * other.value, inherited, lambda name: complex_mul(x, y, name))

    def __truediv__(self, other: Any) -> Bounded:
        with np.errstate(all="ignore"):
            other = self._lift(other)
            x, y = np.abs(self.value), np.abs(other.value)
            least = np.maximum(y - other.error, 0.0)  # 0 makes the bound infinite or NaN, as it should
            inherited = (x * other.error + y * self.error) / (y * least)
            x = x + self.error
            return self._result(self.value / other.value, inherited, lambda name: complex_div(x, least, name))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Bounded:
        return self._lift(other) - self

    def __rtruediv__(self, other: Any) -> Bounded:
        return self._lift(other) / self


def total(x: Any, axis: int | tuple[int, ...] | None, format_name: str, stores: int = 1) -> Bound:
    """Bound for the sum of real numbers over `axis`, in any order and association.

    Whatever the tree of additions, no term passes more than n - 1 of them: gamma_{n-1} sum |x_i|. float16 and
    bfloat16 are summed in float32; the total, and each partial total that is stored in between, is rounded to
    the format, `stores` times in all: (1 + gamma_{n-1}) (1 + gamma'_stores) - 1 times sum |x_i|, gamma' with
    the unit roundoff of the format. Nothing underflows: every partial sum is a multiple of eta.
    A complex sum is off by at most the bound of its real parts plus the bound of its imaginary parts.
    """
    magnitudes = np.abs(np.asarray(x, np.float64))
    size = magnitudes.sum(axis=axis)
    n = magnitudes.size // max(1, size.size)
    narrow = FORMATS[format_name].bits == 16
    adding = _gamma(max(0, n - 1), "float32" if narrow else format_name)
    storing = _gamma(stores, format_name) if narrow else 0.0
    # The float64 sum above may itself be low by gamma_{n-1} for float64.
    size = size * (1 + 2 * _gamma(max(0, n - 1), "float64"))
    return _up((adding + storing + adding * storing) * size)


def _gamma(n: int, format_name: str) -> float:
    return gamma(n, FORMATS[format_name].eps)


def _eta(format_name: str) -> float:
    return float(FORMATS[format_name].min_subnormal)


def _abs(x: Any) -> Bound:
    return np.abs(np.asarray(x, np.complex128))


def _up(bound: Any) -> Bound:
    """Cover the few float64 roundings, and the underflow, of evaluating a bound."""
    return np.nextafter(np.asarray(bound, np.float64) * (1 + 2.0**-40), np.inf)
