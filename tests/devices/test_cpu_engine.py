"""The pointwise engine: what kernels compute equals the NumPy reading of their formulas, for every type."""
from __future__ import annotations

import numpy as np
import pytest

from reftorch.devices.cpu.elements import ELEMENTS
from reftorch.devices.cpu.engine import kernel
from reftorch.numerics.arith import PRIMITIVES, absolute, fma, select, sqrt
from reftorch.numerics.codes import decode, encode, round_to

FLOATS, INTEGERS = ("float32", "float64"), [t for t, e in ELEMENTS.items() if e.kind in ("int", "uint")]
COMPLEX = ("complex64", "complex128")
# What a number means in memory and in a register of the engine.
NUMPY = {t: np.dtype("uint16" if t == "bfloat16" else t) for t in ELEMENTS}
COMPUTE = {t: "float32" if e.is_narrow_float else t for t, e in ELEMENTS.items()}


def run(k, out, *inputs, scalars=()):
    """Apply a kernel to NumPy arrays of any strides; inputs are broadcast."""
    arrays = [out, *(np.broadcast_to(x, out.shape) for x in inputs)]
    strides = [[s // a.itemsize for s in a.strides] for a in arrays]
    k.launcher(out.shape, strides)(*(a.ctypes.data for a in arrays), *scalars)
    return out


@np.errstate(over="ignore")
def samples(t, count, seed=0):
    """Values of type `t` in memory: special ones first, then random ones of every size."""
    rng, e = np.random.default_rng(seed), ELEMENTS[t]
    if e.kind == "bool":
        return rng.random(count) < 0.5
    if e.kind in ("int", "uint"):
        info = np.iinfo(NUMPY[t])
        edges = np.array([0, 1, 2, info.max, info.min, info.max // 2, info.min + 1], NUMPY[t])
        values = rng.integers(info.min, info.max, count, NUMPY[t], endpoint=True)
        values[::3] %= 7
    elif e.kind == "complex":
        z = np.empty(count, t)
        z.real, z.imag = samples(e.part.name, count, seed), samples(e.part.name, count, seed + 1)
        return z
    else:
        edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 1e-45, -1e-45, 5e-324, 3.4e38])
        values = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)
        values = round_to(t, values) if t == "bfloat16" else values
        edges, values = narrow(t, edges), narrow(t, values)
    values[:count // 2] = np.resize(rng.permutation(np.resize(edges, count)), count // 2)
    return values


def widen(t, x):
    """Memory values as the engine's compute values."""
    return decode(t, x) if t == "bfloat16" else x.astype(COMPUTE[t])


def narrow(t, x):
    return encode(t, x) if t == "bfloat16" else x.astype(NUMPY[t])


def assert_same(t, got, want):
    """Equal bits, but any NaN for a NaN."""
    assert got.dtype == want.dtype
    if t == "bfloat16":
        got, want = decode(t, got), decode(t, want)
    if ELEMENTS[t].kind == "complex":
        got, want = (np.ascontiguousarray(z).view(z.real.dtype) for z in (got, want))
    if got.dtype.kind == "f":
        wrong = ~((np.isnan(got) & np.isnan(want)) | ((got == want) & (np.signbit(got) == np.signbit(want))))
    else:
        wrong = got != want
    assert not wrong.any(), (np.flatnonzero(wrong)[:5], got[wrong][:5], want[wrong][:5])


# --- every operation, every type ---

def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def div(a, b):
    return a / b


def neg(a):
    return -a


def less(a, b):
    return a < b


def differ(a, b):
    return a != b


def logic(a, b):
    return (a & b) | ~(a ^ b)


def cube_minus_one(a):
    return a * a * a - 1


def larger(a, b):
    return select((a != a) | (a > b), a, b)


def muladd(a, b, c):
    return fma(a, b, c)


CASES = [(f, t, t) for f in (add, mul, differ) for t in ELEMENTS]
CASES += [(f, t, t) for f in (sub, neg, cube_minus_one) for t in ELEMENTS if t != "bool"]
CASES += [(f, t, t) for f in (less, larger) for t in ELEMENTS if t not in COMPLEX]
CASES += [(muladd, t, t) for t in ELEMENTS if t not in ("bool", *COMPLEX)]
CASES += [(logic, t, t) for t in ("bool", *INTEGERS)]
CASES += [(div, t, t) for t, e in ELEMENTS.items() if e.kind == "float"]


@pytest.mark.parametrize("formula, t, out", CASES, ids=lambda x: getattr(x, "__name__", x))
@np.errstate(all="ignore")
def test_operators(formula, t, out):
    out = "bool" if formula in (less, differ) else out
    inputs = [samples(t, 301, seed) for seed in range(formula.__code__.co_argcount)]
    operands = [widen(t, x) for x in inputs]
    if ELEMENTS[t].kind == "complex" and formula in (mul, cube_minus_one):
        want = formula(*(_Unfused(x) for x in operands)).z
    else:
        want = formula(*operands)
    got = run(kernel(formula, [t] * len(inputs), out, COMPUTE[t]), np.empty(301, NUMPY[out]), *inputs)
    assert_same(out, got, want if out == "bool" else narrow(t, want))


class _Unfused:
    """Complex arithmetic by its textbook formula: NumPy's own product uses fma on some machines."""

    def __init__(self, z):
        self.z = z

    def __mul__(self, other):
        (a, b), (c, d) = (self.z.real, self.z.imag), (other.z.real, other.z.imag)
        product = np.empty_like(self.z)
        product.real, product.imag = a * c - b * d, a * d + b * c
        return _Unfused(product)

    def __add__(self, other):
        return _Unfused(self.z + other.z)

    def __sub__(self, number):
        return _Unfused(self.z - self.z.dtype.type(number))


@np.errstate(all="ignore")
def test_complex_division_is_smiths():
    for t in COMPLEX:
        a, b = samples(t, 3000, 5), samples(t, 3000, 6)
        assert_same(t, run(kernel(div, [t] * 2, t, t), np.empty_like(a), a, b), a / b)


def _primitive_cases():
    cases = []
    for name, function in PRIMITIVES.items():
        arity = {"fma": 3, "select": 3, "copysign": 2, "fmod": 2, "truncdiv": 2, "floordiv": 2}.get(
            name, 2 if name.startswith("nextafter") else 1)
        types = ["float32"] if name.startswith("nextafter_") else [*FLOATS]
        if name in ("select", "absolute", "isnan", "floor", "trunc", "fmod", "truncdiv", "floordiv"):
            types = ([] if "div" in name else types) + INTEGERS
        for t in types:
            cases.append(pytest.param(name, function, arity, t, id=f"{name}-{t}"))
    return cases


@pytest.mark.parametrize("name, function, arity, t", _primitive_cases())
@np.errstate(all="ignore")
def test_every_primitive_is_lowered_and_equals_arith(name, function, arity, t):
    inputs = [samples(t, 1501, seed) for seed in range(arity)]
    types, out = [t] * arity, t
    if name == "select":
        types[0], inputs[0] = "bool", samples("bool", 1501)
    if name.startswith("nextafter_"):
        inputs = [round_to(name[10:], x) for x in inputs]
    if name in ("isnan", "signbit"):
        out = "bool"
    formulas = (lambda a: function(a), lambda a, b: function(a, b), lambda a, b, c: function(a, b, c))
    formula = formulas[arity - 1]
    want = function(*inputs)
    assert_same(out, run(kernel(formula, types, out, types), np.empty_like(want), *inputs), want)


def modulus(a):
    return absolute(a)


def root(a):
    return sqrt(a)


@np.errstate(all="ignore")
def test_complex_modulus_and_root_are_the_c_librarys():
    for t in COMPLEX:
        z, part = samples(t, 500), ELEMENTS[t].part.name
        want = np.hypot(z.real, z.imag)
        assert_same(part, run(kernel(modulus, [t], part, t), np.empty_like(want), z), want)
        assert_same(t, run(kernel(root, [t], t, t), np.empty_like(z), z), np.sqrt(z))
