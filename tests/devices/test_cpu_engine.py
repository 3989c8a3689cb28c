"""The pointwise engine: what kernels compute equals the NumPy reading of their formulas, for every type."""
from __future__ import annotations

import numpy as np
import pytest

from reftorch.devices.cpu.elements import ELEMENTS
from reftorch.devices.cpu.engine import FormulaError, kernel
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


# --- constants, scalars, helpers, R ---

GAMMA = 0.1


def helper(x):
    return x * GAMMA + 1


def weak(a):
    return helper(a) * 2 - (a - 0.3)


@pytest.mark.parametrize("t", FLOATS)
def test_python_numbers_take_the_type_of_the_operand(t):
    a = samples(t, 64)
    with np.errstate(all="ignore"):
        want = (a * GAMMA + 1) * 2 - (a - 0.3)  # NumPy 2's rule
    assert_same(t, run(kernel(weak, [t], t, t), np.empty_like(a), a), want)


PHI, TWO = 1.618, 2


def mixed(a, b):
    return (a > b) * (a * (PHI * TWO)) + select(a < 0, 1, -1) * select(b > 1, a, TWO)


def test_bools_and_numbers_mix_as_in_numpy():
    a, b = (np.random.default_rng(i).standard_normal(200).astype("f4") for i in (1, 2))
    sign = np.where(a < 0, np.float32(1), np.float32(-1))
    want = (a > b) * (a * (PHI * TWO)) + sign * np.where(b > 1, a, TWO)

    def strong(a, b):  # select of two numbers is an int64: the formula must say what it means
        return (a > b) * (a * (PHI * TWO)) + select(a < 0, a - a + 1, -1) * select(b > 1, a, TWO)

    with pytest.raises(FormulaError, match="float32, int64: convert them first"):
        kernel(mixed, ["float32"] * 2, "float32", "float32")
    got = run(kernel(strong, ["float32"] * 2, "float32", "float32"), np.empty_like(a), a, b)
    assert_same("float32", got, want.astype("f4"))


def sign(a):
    return select(a > 0, 1, select(a < 0, -1, 0))


def test_a_result_of_another_type_is_converted_at_the_store():
    a = np.array([-3.5, 0.0, 7.0, np.nan] * 8, "f4")
    for out in ("int8", "float32", "float64", "complex64"):
        got = run(kernel(sign, ["float32"], out, "float32"), np.empty(32, out), a)
        assert got.tolist() == [-1, 0, 1, 0] * 8


def scaled(a, x, R, alpha):
    return select(x, R(a * alpha) + 1, a)


@pytest.mark.parametrize("t", ["bfloat16", "float16", "float32", "float64"])
def test_a_number_argument_a_bool_operand_and_the_rounding_r(t):
    a, x, compute = samples(t, 500), samples("bool", 500), COMPUTE[t]
    wide = widen(t, a)
    with np.errstate(all="ignore"):
        alpha = np.dtype(compute).type(0.1)
        rounded = widen(t, narrow(t, wide * alpha))
        want = narrow(t, np.where(x, rounded + np.dtype(compute).type(1), wide))
    k = kernel(scaled, [t, "bool"], t, [compute, "bool"], [compute])
    assert_same(t, run(k, np.empty_like(a), a, x, scalars=(0.1,)), want)


def same(x):
    return x


@pytest.mark.parametrize("t", list(ELEMENTS))
def test_fill(t):
    value, scalar = {"bool": (True, t), "complex": (1.5 - 2j, t), "float": (1.5, COMPUTE[t])}.get(
        ELEMENTS[t].kind, (3, t))
    out = np.zeros(100, NUMPY[t])
    run(kernel(same, (), t, (), [scalar]), out[10:90], scalars=(value,))
    want = np.zeros(100, NUMPY[t])
    want[10:90] = encode(t, np.float32(value)) if t == "bfloat16" else value
    assert (out == want).all()


# --- what does not work ---

def branch(a):
    return a if a > 0 else -a


def unknown(a):
    return a ** 2


def half(a):
    return a * 0.5


@pytest.mark.parametrize("formula, types, compute, text", [
    (branch, ["float32"], "float32", "write select"),
    (unknown, ["float32"], "float32", "has no pow"),
    (half, ["int32"], "int32", "does not fit int32"),
    (add, ["bfloat16"] * 2, "bfloat16", "not defined for bfloat16"),
    (add, ["float32", "float32"], ["float32", "float64"], "convert them first"),
    (add, ["float32"], "float32", "takes 2 operands, 1 were given"),
    (same, ["float128"], "float128", "no element type 'float128'"),
])
def test_what_does_not_compile_is_an_error_with_formula_and_types(formula, types, compute, text):
    with pytest.raises(FormulaError, match=text) as caught:
        kernel(formula, types, types[0], compute)
    assert f"formula {formula.__name__} (" in str(caught.value) and types[0] in str(caught.value)


def shift(a, n):
    return a + n


def test_bad_arguments_of_a_call_propagate():
    x = np.arange(8, dtype="i8")
    k = kernel(shift, ["int64"], "int64", "int64", ["int64"])
    launch = k.launcher((8,), [(1,), (1,)])
    for bad, error in ((1.5, TypeError), ("1", TypeError), (2**70, OverflowError), (None, TypeError)):
        with pytest.raises(error):
            launch(x.ctypes.data, x.ctypes.data, bad)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        launch(x.ctypes.data, x.ctypes.data)
    with pytest.raises(TypeError, match="takes 6 arguments"):
        k.call(0, 0, 0)
    with pytest.raises(TypeError):
        launch(x, x, 1)
    assert (x == np.arange(8)).all()
    launch(x.ctypes.data, x.ctypes.data, -1)  # -1 is also how the C API says that it failed
    assert (x == np.arange(8) - 1).all()
