"""What a formula may say, what its numbers and R mean, and what is refused."""
from __future__ import annotations

import numpy as np
import pytest

from reftorch.devices.cpu.elements import ELEMENTS
from reftorch.devices.cpu.engine import FormulaError, kernel
from reftorch.numerics.arith import select
from reftorch.numerics.codes import decode, encode

NUMPY = {t: np.dtype("uint16" if t == "bfloat16" else t) for t in ELEMENTS}
COMPUTE = {t: "float32" if e.is_narrow_float else t for t, e in ELEMENTS.items()}


def run(k, out, *inputs, scalars=()):
    launch = k.launcher(out.shape, [[1]] * (1 + len(inputs)))
    launch(out.ctypes.data, *(x.ctypes.data for x in inputs), *scalars)
    return out


def normal(t, count=200, seed=1):
    """Random numbers of a floating type, in memory."""
    x = np.random.default_rng(seed).standard_normal(count)
    return encode(t, x) if t == "bfloat16" else x.astype(t)


def add(a, b):
    return a + b


GAMMA = 0.1


def helper(x):
    return x * GAMMA + 1


def weak(a):
    return helper(a) * 2 - (a - 0.3)


@pytest.mark.parametrize("t", ["float32", "float64"])
def test_python_numbers_take_the_type_of_the_operand(t):
    a = normal(t)
    want = (a * GAMMA + 1) * 2 - (a - 0.3)  # NumPy 2's rule
    assert want.dtype == t and (run(kernel(weak, [t], t, t), np.empty_like(a), a) == want).all()


PHI, TWO = 1.618, 2


def mixed(a, b):
    return (a > b) * (a * (PHI * TWO)) + select(a < 0, 1, -1) * select(b > 1, a, TWO)


def test_bools_and_numbers_mix_as_in_numpy():
    a, b = normal("float32", seed=1), normal("float32", seed=2)
    sign = np.where(a < 0, np.float32(1), np.float32(-1))
    want = (a > b) * (a * (PHI * TWO)) + sign * np.where(b > 1, a, TWO)

    def strong(a, b):  # select of two numbers is an int64: the formula must say what it means
        return (a > b) * (a * (PHI * TWO)) + select(a < 0, a - a + 1, -1) * select(b > 1, a, TWO)

    with pytest.raises(FormulaError, match="float32, int64: convert them first"):
        kernel(mixed, ["float32"] * 2, "float32", "float32")
    got = run(kernel(strong, ["float32"] * 2, "float32", "float32"), np.empty_like(a), a, b)
    assert (got == want).all()


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
    a, x, compute = normal(t), np.arange(200) % 3 == 0, COMPUTE[t]
    wide = decode(t, a) if t == "bfloat16" else a.astype(compute)
    rounded = wide * np.dtype(compute).type(0.1)
    rounded = (decode(t, encode(t, rounded)) if t == "bfloat16" else rounded.astype(t).astype(compute))
    want = np.where(x, rounded + np.dtype(compute).type(1), wide)
    want = encode(t, want) if t == "bfloat16" else want.astype(t)
    k = kernel(scaled, [t, "bool"], t, [compute, "bool"], [compute])
    assert (run(k, np.empty_like(a), a, x, scalars=(0.1,)) == want).all()


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
