"""Every bound against exact results, for each way of computing that its derivation admits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from reftorch.numerics.arith import fma
from reftorch.numerics.bounds import (
    Bounded,
    complex_abs,
    complex_div,
    complex_mul,
    complex_rsqrt,
    complex_sqrt,
    gamma,
    total,
)
from reftorch.numerics.codes import decode, encode, round_to
from reftorch.numerics.exact import to_fractions
from reftorch.numerics.formats import FORMATS

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="not run: torch is not installed")

FLOATS = ["float32", "float64"]
COMPLEX = {"float32": np.complex64, "float64": np.complex128}


def operands(name, n=1500, seed=0):
    """Pairs of complex numbers: ordinary, of all sizes, on the axes, subnormal over tiny, cancelling."""
    rng = np.random.default_rng(seed)

    def normal(spread):
        parts = rng.standard_normal((2, n)) * 2.0 ** rng.integers(-spread, spread + 1, (2, n))
        return (parts[0] + 1j * parts[1]).astype(COMPLEX[name])

    wide = 120 if name == "float32" else 1000
    axis = normal(3)
    axis.real[::2], axis.imag[1::2] = 0, 0
    x, y = normal(0), normal(0)
    cancelling = (y.conj() * (x / y.conj()).real).astype(COMPLEX[name])  # close to a real multiple of conj(y)
    pairs = [
        (x, y),
        (normal(20), normal(20)),
        (normal(wide), normal(wide)),
        (axis, normal(3)),
        (cancelling, y),
    ]
    spec = FORMATS[name]
    tiny = (normal(0) * 40 * float(spec.min_subnormal)).astype(COMPLEX[name])
    pairs += [
        (normal(3), axis),
        (axis, axis[::-1]),
        (tiny, (y * 64 * float(spec.min_normal)).astype(y.dtype)),
    ]
    return tuple(np.concatenate(z) for z in zip(*pairs, strict=True))


def exact_parts(x):
    return to_fractions(x.real), to_fractions(x.imag)


def assert_within(computed, exact_real, exact_imag, bound):
    """|computed - exact| <= bound, decided in exact arithmetic; says how much of the bound was used."""
    real, imag = exact_parts(computed)
    used = 0.0
    for r, i, er, ei, b in zip(real, imag, exact_real, exact_imag, bound.tolist(), strict=True):
        if b == np.inf:
            continue
        squared = (r - er) ** 2 + (i - ei) ** 2
        assert squared <= Fraction(b) ** 2, (float(r), float(i), float(er), float(ei), b)
        used = max(used, float(squared / Fraction(b) ** 2) ** 0.5)
    return used


def multiplications(x, y):
    """x * y without contraction, and with either product of each part contracted."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    yield a * c - b * d, a * d + b * c
    yield fma(a, c, -(b * d)), fma(a, d, b * c)
    yield fma(-b, d, a * c), fma(b, c, a * d)
    if torch is not None:
        z = (torch.from_numpy(x) * torch.from_numpy(y)).numpy()
        yield z.real, z.imag


def divisions(x, y):
    """c10's Smith division without and with contraction, NumPy's, and torch's."""
    larger = np.abs(y.real) >= np.abs(y.imag)
    c, d = np.where(larger, y.real, y.imag), np.where(larger, y.imag, y.real)
    a, b = np.where(larger, x.real, x.imag), np.where(larger, x.imag, x.real)
    r = d / c
    # Swapping the parts of both numbers turns the quotient into its conjugate.
    s = 1 / (c + d * r)
    yield (a + b * r) * s, np.where(larger, 1, -1) * ((b - a * r) * s)
    s = 1 / fma(d, r, c)
    yield fma(b, r, a) * s, np.where(larger, 1, -1) * (fma(-a, r, b) * s)
    z = x / y
    yield z.real, z.imag
    if torch is not None:
        z = (torch.from_numpy(x) / torch.from_numpy(y)).numpy()
        yield z.real, z.imag


def check(ways, exact_real, exact_imag, bound, dtype):
    used = []
    for real, imag in ways:
        z = np.empty(real.shape, dtype)
        z.real, z.imag = real, imag
        finite = np.isfinite(z)
        assert finite.mean() > 0.7
        used.append(assert_within(z[finite], exact_real[finite], exact_imag[finite], bound[finite]))
    return used


@pytest.mark.parametrize("name", FLOATS)
@np.errstate(all="ignore")
def test_complex_mul(name):
    x, y = operands(name)
    (a, b), (c, d) = exact_parts(x), exact_parts(y)
    used = check(multiplications(x, y), a * c - b * d, a * d + b * c, complex_mul(x, y, name), COMPLEX[name])
    assert max(used) > 0.5  # the bound is no exaggeration


@pytest.mark.parametrize("name", FLOATS)
@np.errstate(all="ignore")
def test_complex_div(name):
    x, y = operands(name, seed=1)
    assert complex_div(1.0, 1.5 * float(FORMATS[name].min_normal), name) == np.inf
    (a, b), (c, d) = exact_parts(x), exact_parts(y)
    square = c * c + d * d
    exact_real, exact_imag = (a * c + b * d) / square, (b * c - a * d) / square
    bound = complex_div(x, y, name)
    used = check(divisions(x, y), exact_real, exact_imag, bound, COMPLEX[name])
    assert max(used) > 0.15


@pytest.mark.parametrize("name", FLOATS)
@np.errstate(all="ignore")
def test_complex_abs(name):
    x, _ = operands(name, seed=2)
    ways = [np.abs(x)]
    m, n = np.maximum(np.abs(x.real), np.abs(x.imag)), np.minimum(np.abs(x.real), np.abs(x.imag))
    ways.append(m * np.sqrt(1 + (n / m) ** 2))
    if torch is not None:
        ways.append(torch.from_numpy(x).abs().numpy())
    a, b = exact_parts(x)
    for computed in ways:
        for r, square, e in zip(computed.tolist(), a * a + b * b, complex_abs(x, name).tolist(), strict=True):
            if np.isfinite([r, e]).all():
                low, high = Fraction(r) - Fraction(e), Fraction(r) + Fraction(e)
                assert max(low, 0) ** 2 <= square <= high**2


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", ["sqrt", "rsqrt"])
@np.errstate(all="ignore")
def test_complex_roots(name, function):
    x, _ = operands(name, n=150, seed=3)
    root = np.sqrt(x)
    ways = [root if function == "sqrt" else 1 / root]
    if torch is not None:
        ways.append(getattr(torch, function)(torch.from_numpy(x)).numpy())
    bound = {"sqrt": complex_sqrt, "rsqrt": complex_rsqrt}[function](x, name)
    with mpmath.workprec(300):
        exact = [mpmath.sqrt(mpmath.mpc(z)) for z in x.tolist()]
        if function == "rsqrt":
            exact = [1 / z for z in exact]
        for computed in ways:
            for z, true, e in zip(computed.tolist(), exact, bound.tolist(), strict=True):
                assert abs(mpmath.mpc(z) - true) <= e


@pytest.mark.parametrize("name", FLOATS)
def test_a_few_more_roundings_break_the_bounds(name):
    """What the bounds are for: a result that is wrong in its last digits is caught."""
    x, y = operands(name, n=200, seed=4)
    x, y = x[:400], y[:400]
    off = 1 + 24 * FORMATS[name].unit_roundoff
    (a, b), (c, d) = exact_parts(x), exact_parts(y)
    square = c * c + d * d
    for bound, real, imag in (
        (complex_mul(x, y, name), a * c - b * d, a * d + b * c),
        (complex_div(x, y, name), (a * c + b * d) / square, (b * c - a * d) / square),
    ):
        for r, i, e in zip(real, imag, bound.tolist(), strict=True):
            assert ((off - 1) * r) ** 2 + ((off - 1) * i) ** 2 > Fraction(e) ** 2


FORMULAS = {
    "addcmul": lambda s, a, b: s + (0.375 * a) * b,
    "addcdiv": lambda s, a, b: s + (0.375 * a) / b,
    "lerp": lambda s, a, b: s + b * (a - s),
    "quotients": lambda s, a, b: (1 - s) / (a * a - 2 / b),
    # (s + a) - s is inexact where s is much larger than a: an error that each operation has to hand on.
    "inexact factor": lambda s, a, b: b * ((s + a) - s),
    "other inexact factor": lambda s, a, b: ((s + a) - s) * b,
    "inexact dividend": lambda s, a, b: ((s + a) - s) / b,
    "inexact divisor": lambda s, a, b: b / ((s + a) - s),
}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_bounded_covers_a_whole_formula(name, formula):
    function = FORMULAS[formula]
    s, a = operands(name, n=300, seed=5)
    s, a = s[:600], a[:600]
    b = np.roll(a, 1)
    with np.errstate(all="ignore"):
        computed = function(s, a, b)
    bounded = function(*(Bounded(z, name) for z in (s, a, b)))
    says = np.isfinite(bounded.error)  # nothing where a divisor may be zero
    assert says.mean() > 0.75
    assert_within(computed[says], *exact_parts(bounded.value[says]), bounded.error[says])


def test_gamma():
    assert gamma(0, 2.0**-23) == 0
    assert gamma(1, 2.0**-23) >= Fraction(1, 2**24) / (1 - Fraction(1, 2**24))
    exact = Fraction(3, 2**53 - 3)
    assert exact <= gamma(3, Fraction(1, 2**52)) <= exact * (1 + Fraction(1, 2**51))
    with pytest.raises(ValueError, match="gamma is not defined for 16777216 roundings"):
        gamma(1 << 24, 2.0**-23)


SHAPES = [
    ((1000,), None),
    ((1, 5), 0),
    ((40, 50), 0),
    ((40, 50), 1),
    ((9, 8, 7), (0, 2)),
    ((0, 3), 0),
    ((), None),
]


@needs_torch
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_total_bounds_torch_sum(name, shape, axis):
    wide = "float64" if name == "float64" else "float32"
    x = np.asarray(round_to(name, np.asarray(np.random.default_rng(6).standard_normal(shape), wide)))
    summed = torch.from_numpy(x).to(getattr(torch, name)).sum(axis).double().numpy()
    check_sum(summed, x, axis, total(x, axis, name))


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
def test_total_bounds_every_order_and_is_not_loose(name):
    rng = np.random.default_rng(8)
    wide = np.float64 if name == "float64" else np.float32
    x = np.abs(round_to(name, rng.standard_normal((200, 64)).astype(wide)))
    used = []
    for order in (np.arange(200), np.argsort(-np.abs(x).sum(1)), rng.permutation(200)):
        running = np.zeros(64, wide)
        for row in x[order]:
            running = running + row
        used.append(check_sum(decode(name, encode(name, running)), x, 0, total(x, 0, name)))
    assert max(used) > (0.5 if name in ("float16", "bfloat16") else 0.01)  # rounding errors of sums cancel
    with pytest.raises(AssertionError):
        check_sum(running * (1 + 400 * wide(FORMATS[name].eps)), x, 0, total(x, 0, name))


def check_sum(summed, x, axis, bound):
    exact = np.asarray(to_fractions(x).sum(axis=axis), object)
    assert bound.shape == exact.shape == np.shape(summed)
    used = 0.0
    for s, e, b in zip(np.ravel(summed).tolist(), exact.ravel(), bound.ravel().tolist(), strict=True):
        error = abs(Fraction(s) - e)
        assert error <= Fraction(b)
        used = max(used, float(error / Fraction(b)))
    return used
