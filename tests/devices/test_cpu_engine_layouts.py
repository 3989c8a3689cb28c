"""The pointwise engine's loops: sizes, strides, ranges, in-place, large outputs, and the loop body's code."""
from __future__ import annotations

import random
import re
from math import prod

import numpy as np
import pytest

from reftorch.devices.cpu.engine import kernel
from reftorch.devices.cpu.geometry import plan_geometry
from reftorch.devices.cpu.native import host
from reftorch.numerics.arith import fma
from reftorch.numerics.codes import decode, encode

TYPES = ("float32", "float64", "bfloat16", "float16", "complex128", "int8", "int64", "bool")
CANARY = 85


def add(a, b):
    return a + b


def fused(a, b, c):
    return fma(a, b, c)


def unfused(a, b, c):
    return a * b + c


def array(t, n, rng):
    """n values of type t whose sums are exact, so that NumPy's result is the only right one."""
    values = rng.integers(0, 2 if t == "bool" else 50, n)
    return encode(t, values.astype("f4")) if t == "bfloat16" else values.astype(t)


def total(t, a, b):
    if t == "bfloat16":
        return encode(t, decode(t, a) + decode(t, b))
    return a + b


def adder(t):
    return kernel(add, [t] * 2, t, "float32" if t in ("bfloat16", "float16") else t)


def apply(k, out, *inputs):
    arrays = [out, *(np.broadcast_to(x, out.shape) for x in inputs)]
    launch = k.launcher(out.shape, [[s // a.itemsize for s in a.strides] for a in arrays])
    launch(*(a.ctypes.data for a in arrays))


@pytest.mark.parametrize("t", TYPES)
def test_every_size_contiguous_and_in_place(t):
    rng = np.random.default_rng(1)
    for n in [*range(71), 255, 1000, 32767, 32768, 32769, 70001]:
        a, b = array(t, n, rng), array(t, n, rng)
        buffer = np.full(n + 2, CANARY, a.dtype)
        apply(adder(t), buffer[1:-1], a, b)
        want = total(t, a, b)
        assert (buffer[1:-1] == want).all() and buffer[0] == buffer[-1] == buffer.dtype.type(CANARY), n
        apply(adder(t), a, a, b)  # the output is the first input
        assert (a == want).all(), n
        want = total(t, b, b)
        apply(adder(t), b, b, b)  # and both
        assert (b == want).all(), n


def test_one_element_without_dimensions():
    a, out = np.array(2.5, "f4"), np.zeros((), "f4")
    apply(adder("float32"), out, a, a)
    assert out == 5


def strided(rng, shape, dtype):
    """An array of this shape, its dimensions in random order, with gaps, inside a buffer of canaries."""
    order = rng.sample(range(len(shape)), len(shape))
    padded = [shape[d] * rng.choice((1, 1, 2)) + rng.choice((0, 0, 3)) for d in order]
    buffer = np.full(prod(padded) + 8, CANARY, dtype)
    start = rng.randrange(8)
    view = buffer[start:start + prod(padded)].reshape(padded)
    cut = []
    for d, n in zip(order, padded):
        step = n // shape[d] if shape[d] and n % shape[d] == 0 else 1
        cut.append(slice(0, shape[d] * step, step))
    return buffer, view[(*cut, ...)].transpose(np.argsort(order))


@pytest.mark.parametrize("t", TYPES)
def test_random_layouts(t):
    rng, values = random.Random(t), np.random.default_rng(2)
    for case in range(120):
        shape = tuple(rng.choice((0, 1, 1, 2, 3, 5, 17, 40)) for _ in range(rng.randrange(5)))
        dtype = array(t, 1, values).dtype
        buffer, out = strided(rng, shape, dtype)
        inputs = []
        for _ in range(2):
            small = tuple(1 if rng.random() < 0.25 else n for n in shape)  # broadcast along some dimensions
            _, x = strided(rng, small, dtype)
            x[...] = array(t, prod(small), values).reshape(small)
            inputs.append(x)
        want = total(t, *(np.broadcast_to(x, shape) for x in inputs))
        touched = buffer.copy()
        touched_view = np.lib.stride_tricks.as_strided(
            touched[(out.ctypes.data - buffer.ctypes.data) // buffer.itemsize:], shape, out.strides)
        touched_view[...] = want
        apply(adder(t), out, *inputs)
        assert (buffer == touched).all(), (case, shape, out.strides, [x.strides for x in inputs])


@pytest.mark.parametrize("t", ["float32", "complex128", "int8"])
def test_broadcast_operands_of_long_and_short_rows(t):
    rng = np.random.default_rng(4)
    column, number = array(t, 5, rng).reshape(5, 1), array(t, 1, rng)
    for n in (1, 15, 16, 17, 511, 512, 513, 1024, 2000):
        a, row = array(t, 5 * n, rng).reshape(5, n), array(t, n, rng)
        for x, y in ((a, column), (column, a), (a, number), (number, row), (row, column), (column, column)):
            out = np.empty((5, n), a.dtype)
            apply(adder(t), out, x, y)
            assert (out == x + y).all(), n


def test_a_range_is_computed_in_any_pieces():
    rng, values = random.Random(3), np.random.default_rng(3)
    for shape in ((1000,), (7, 33), (3, 4, 5, 6), (50, 2)):
        x, y = (values.standard_normal(shape[::-1]).T for _ in range(2))
        for inputs in ((x, y), (np.ascontiguousarray(x), y), (np.broadcast_to(x[..., :1], shape), y.copy())):
            operands = out, *inputs = np.empty(shape), *inputs
            geometry, numel = plan_geometry(shape, [[s // 8 for s in a.strides] for a in operands], [8] * 3)
            cuts = sorted(rng.choices(range(numel + 1), k=5))
            pieces = list(zip([0, *cuts], [*cuts, numel]))
            rng.shuffle(pieces)
            for begin, end in pieces:
                adder("float64").call(geometry.ctypes.data, begin, end, *(a.ctypes.data for a in operands))
            assert (out == inputs[0] + inputs[1]).all()


def test_outputs_that_are_streamed_past_the_caches():
    n = (32 << 20) // 4 + 1234
    a, b, buffer = np.arange(n, dtype="f4"), np.ones(n, "f4"), np.full(n + 64, CANARY, "f4")
    for start in (0, 1, 15, 16):
        out = buffer[start:start + n]
        apply(adder("float32"), out, a, b)
        assert (out == a + 1).all()
        out[:] = CANARY
        assert (buffer == CANARY).all()
    geometry, _ = plan_geometry((n,), [(1,)] * 3, [4] * 3)
    for begin, end in ((0, 1), (3, 3), (5, 11), (100, 700), (n - 2, n)):  # less than a line, or a tile
        addresses = (buffer.ctypes.data + 4, a.ctypes.data, b.ctypes.data)
        adder("float32").call(geometry.ctypes.data, begin, end, *addresses)
        assert (buffer[1 + begin:1 + end] == a[begin:end] + 1).all()
        buffer[1 + begin:1 + end] = CANARY
        assert (buffer == CANARY).all()
    apply(adder("float32"), a, a, b)
    assert a[0] == 1 and a[-1] == n  # float32 is exact up to 2**24


def test_plan_geometry_merges_and_orders():
    def plan(size, *strides, itemsizes=None):
        return plan_geometry(size, strides, itemsizes or [4] * len(strides))[0].tolist()

    assert plan((2, 3, 4), (12, 4, 1), (12, 4, 1)) == [1, 24, 4, 4]  # contiguous
    assert plan((4, 3, 2), (1, 4, 12), (1, 4, 12)) == [1, 24, 4, 4]  # contiguous in another order
    assert plan((2, 1, 4), (4, 99, 1), (0, 7, 1)) == [2, 4, 2, 4, 16, 4, 0]  # broadcast rows
    assert plan((2, 4), (4, 1), (0, 0)) == [1, 8, 4, 0]  # one number for all
    assert plan((5, 2), (3, 1), (2, 1), itemsizes=[2, 8]) == [2, 2, 5, 2, 6, 8, 16]  # a gap in the output
    assert plan((), ()) == [1, 1, 4]
    assert plan((3, 0), (1, 1), (5, 5)) == [1, 0, 4, 4]
    with pytest.raises(RuntimeError, match="64 dimensions"):
        plan((2,) * 65, tuple(3**d for d in range(65)))
    assert plan((2,) * 30, tuple(3**d for d in range(30)))[0] == 30


# --- the arithmetic of the loop body ---

@pytest.mark.parametrize("t", ["float32", "float64"])
def test_fma_is_fused_and_a_product_plus_a_sum_is_not_in_body_and_tail(t):
    eps = np.finfo(t).eps
    a, b, c = (np.full(79, x, t) for x in (1 + eps, 1 - eps, -1))  # the exact product is 1 - eps**2
    for n in range(1, 80):
        out = np.empty(n, t)
        apply(kernel(fused, [t] * 3, t, t), out, a[:n], b[:n], c[:n])
        assert (out == -eps**2).all()
        apply(kernel(unfused, [t] * 3, t, t), out, a[:n], b[:n], c[:n])
        assert (out == 0).all()
        apply(kernel(fused, [t] * 3, t, t), np.empty((n, 2), t)[:, 0], a[:n], b[:n], c[:n])  # strided


def test_subnormals_are_not_flushed():
    for t in ("float32", "float64", "float16", "bfloat16"):
        tiny = {"float16": 2.0**-24, "bfloat16": 2.0**-133}.get(t) or np.nextafter(np.dtype(t).type(0), 1)
        a = encode(t, np.full(50, tiny, "f4")) if t == "bfloat16" else np.full(50, tiny, t)
        out = np.empty_like(a)
        apply(adder(t), out, a, a)
        assert (out == total(t, a, a)).all() and (out != 0).all()


@pytest.mark.parametrize("t", ["float32", "bfloat16", "float64"])
def test_the_vectorised_loop_has_packed_fma(t):
    if "+fma," not in host()[1] + ",":
        pytest.skip("this processor has no FMA instruction")
    compute, width = ("float64", "d") if t == "float64" else ("float32", "s")
    asm = kernel(fused, [t] * 3, t, compute).asm()
    assert re.search(rf"vfmadd\w*p{width}\s.*%[yz]mm", asm)
    assert "NRT_" not in asm and "numba" not in asm.lower()
    loose = kernel(unfused, [t] * 3, t, compute).asm()
    assert re.search(rf"vmulp{width}\s.*%[yz]mm", loose) and "vfmadd" not in loose
