"""The same calls on PyTorch and on reftorch, compared bit for bit.

A test file lists calls, `{"alpha": lambda ns, x, y: ns.add(x, y, alpha=0.3)}`, where ns is torch or reftorch, and gives
them to the makers of tests below. Nothing here knows a tolerance: what is not defined bit for bit has to lie within the
bounds that reftorch.numerics.bounds derives.
"""
from __future__ import annotations

import functools
import inspect
import itertools
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import reftorch
from reftorch.core.dtype import DTYPES
from reftorch.core.tensor import from_host
from reftorch.dispatch.operator import REGISTRY
from reftorch.numerics.bounds import Bounded
from reftorch.numerics.codes import bfloat16_to_float32, encode
from reftorch.numerics.ulp import same_bits, ulp_distance

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

NARROW, WIDE = ("float16", "bfloat16"), ("float32", "float64")
FLOATS = NARROW + WIDE
INTS = ("uint8", "int8", "int16", "int32", "int64")
COMPLEX = ("complex64", "complex128")
ALL = ("bool", *INTS, "uint16", "uint32", "uint64", *FLOATS, *COMPLEX)
SIZES = (0, 1, 5, 32, 37, 70)  # around the vectors of the kernels
Call = Callable[..., Any]


# ---- tensors: NumPy arrays of bits, and twins made of them ----
def carrier(values: Any, dtype: str) -> np.ndarray:
    """Values rounded to a dtype, as the array that holds its bits."""
    values = np.asarray(values)
    if dtype in NARROW:
        return np.asarray(encode(dtype, values.astype(np.float32))).view(DTYPES[dtype].np)
    with np.errstate(all="ignore"):
        return values.astype(DTYPES[dtype].np)


def widened(bits: np.ndarray, dtype: str) -> np.ndarray:
    """The values of bits, exactly."""
    return bfloat16_to_float32(bits) if dtype == "bfloat16" else bits.astype(np.float32) if dtype == "float16" else bits


def twins(bits: np.ndarray, dtype: str) -> tuple[Any, Any]:
    """A tensor of torch and one of reftorch with these bits."""
    bits = np.ascontiguousarray(bits)
    theirs = torch.empty(bits.shape, dtype=getattr(torch, dtype))
    if bits.size:
        theirs.reshape(-1).view(torch.uint8).copy_(torch.from_numpy(bits.reshape(-1).view(np.uint8)))
    return theirs, from_host(bits, DTYPES[dtype])


def name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def bits_of(tensor: Any) -> np.ndarray:
    """The bits of a tensor of either library, in row-major order."""
    kind = DTYPES[name(tensor)].np
    if isinstance(tensor, torch.Tensor):
        packed = tensor.detach().resolve_conj().contiguous().reshape(-1)
        raw = packed.view(torch.uint8).numpy(force=True) if packed.numel() else np.empty(0, np.uint8)
        return raw.view(kind).reshape(tuple(tensor.shape))
    return tensor.detach().contiguous()._host_array()


def same(a: np.ndarray, b: np.ndarray, dtype: str) -> Any:
    """Elementwise: the same bits; NaN is one class."""
    if dtype in NARROW:
        a, b = a.view(np.uint16), b.view(np.uint16)
    return same_bits(a, b, dtype if dtype in NARROW else None) if dtype in FLOATS + COMPLEX else a == b


def assert_same(ours: Any, theirs: Any, strides: bool = True) -> None:
    """Two results are the same: dtype, sizes, strides and bits; Python objects are equal."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_same(*pair)
        return
    if not isinstance(theirs, torch.Tensor):
        assert repr(ours) == repr(theirs)
        return
    assert isinstance(ours, reftorch.Tensor)
    assert (name(ours), tuple(ours.shape)) == (name(theirs), tuple(theirs.shape))
    if strides:
        assert tuple(ours.stride()) == tuple(theirs.stride())
    assert ours.requires_grad == theirs.requires_grad
    equal = same(bits_of(ours), bits_of(theirs), name(ours))
    assert np.all(equal), f"ours {ours.tolist()}, torch's {theirs.tolist()}"


def sample(dtype: str, size: Any, *seed: Any, tame: bool = False) -> np.ndarray:
    """Bits of varied values: all exponents, small round numbers, every special value. tame: from 0.5 to 2, either sign."""
    rng = np.random.default_rng(zlib.crc32(repr((dtype, size, seed)).encode()))
    count = int(np.prod(size))
    if dtype == "bool":
        return rng.integers(0, 2, size).astype(bool)
    if dtype not in FLOATS + COMPLEX:
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
        small = rng.integers(max(-4, info.min), 5, size).astype(dtype)
        ends = rng.choice(np.array([info.min, info.max, 0, 1], dtype), size)
        return np.choose(rng.integers(0, 3, size), [wide, small, ends]).astype(dtype)
    if dtype in COMPLEX:
        part = {"complex64": "float32", "complex128": "float64"}[dtype]
        parts = [sample(part, size, seed, i, tame=True) for i in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if tame:
        return carrier(rng.choice([-1.0, 1.0], size) * rng.uniform(0.5, 2, size), dtype)
    span = {"float16": 20, "float64": 1020}.get(dtype, 140)
    near = rng.normal(size=size)
    wide = near * 2.0 ** rng.integers(-span, span, size)
    small = rng.integers(-6, 7, size) / 2
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0**-149, 65504.0, 3.38e38], size)
    kind = rng.choice(4, size, p=[0.5, 0.25, 0.15, 0.1] if count > 8 else [0.7, 0.2, 0.1, 0])
    with np.errstate(all="ignore"):
        return carrier(np.choose(kind, [near, wide, small, special]), dtype)


def arity(call: Call) -> int:
    return len(inspect.signature(call).parameters) - 1


# ---- outcomes ----
def outcome(function: Callable[[], Any]) -> Any:
    """What a call gives: its result, or the exception's type and text (TypeErrors of arguments: only the type)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as e:
            return type(e).__name__, "" if isinstance(e, TypeError) else str(e).splitlines()[0].strip()


def assert_agree(ours: Any, theirs: Any, **how: Any) -> None:
    if isinstance(theirs, tuple) and theirs and isinstance(theirs[0], str):
        assert ours == theirs, f"ours {ours}, torch's {theirs}"
    else:
        assert not (isinstance(ours, tuple) and ours and isinstance(ours[0], str)), f"ours {ours}, torch's {theirs}"
        assert_same(ours, theirs, **how)


def variables(ns: Any) -> dict[str, Any]:
    """What expressions may name: small tensors of every sort, made anew for each expression."""
    def t(values: Any, dtype: str | None = None, **options: Any) -> Any:
        return ns.tensor(values, dtype=None if dtype is None else getattr(ns, dtype), **options)
    return {
        "torch": ns, "t": t, "nan": float("nan"), "inf": float("inf"), "empty": ns.empty,
        "f": t([3.0, 6.0, 9.0]), "d": t([3.0, 6.0, 9.0], "float64"), "h": t([1.0, 2.0, 3.0], "float16"),
        "bf": t([1.0, 2.0, 3.0], "bfloat16"), "i": t([1, 2, 3]), "b": t([True, False, True]), "c": t([1 + 0j, 2j, 3 + 4j]),
        "i8": t([-128, 127, -1], "int8"), "u8": t([0, 1, 255], "uint8"), "i32": t([-(2**31), 5, 3], "int32"),
        "i64": t([-(2**63), 7, 2**63 - 1]), "f2": t([1.0, 2.0]), "r": t([1.0, 2.0, 3.0], requires_grad=True),
        "base": ns.arange(9.0) + 1}


def agreement(*expressions: str) -> Callable[..., None]:
    """A test that expressions over `variables` mean the same in both libraries: results, or errors."""
    @pytest.mark.parametrize("expression", expressions)
    def test(expression: str) -> None:
        def run(ns: Any) -> Any:
            return outcome(lambda: eval(expression, variables(ns)))
        assert_agree(run(reftorch), run(torch))
    return test


# ---- values ----
def by_formula(op: Any, call: Callable[[], Any]) -> Iterator[np.ndarray]:
    """The bits of a call's result by each legal formula, the library's own first."""
    count, index = 1, 0

    def select(args: dict[str, Any], common: Any, where: Any) -> Any:
        nonlocal count
        options = {p.name: args[p.name] for p in op.parameters if not p.is_operand and not p.is_number}
        given = [*op.operands(args), *(p.name for p in op.parameters if p.is_number)]
        legal = op.legal_formulas(given, options, common.category, common.name, where.type)
        count = len(legal)
        return legal[index]
    op.select = select
    try:
        while index < count:
            op.forget()
            yield bits_of(call())
            index += 1
    finally:
        del op.select
        op.forget()


def values(op_name: str, calls: dict[str, Call], dtypes: Sequence[str], ulp: int = 0) -> Callable[..., None]:
    """A test that every element of torch's results is that of a legal formula, or within `ulp` steps of the only one,
    and that one formula, the first, makes all of reftorch's."""
    op = REGISTRY[op_name]

    @pytest.mark.parametrize("dtype", dtypes)
    @pytest.mark.parametrize("label", calls)
    def test(label: str, dtype: str) -> None:
        call = calls[label]
        for size in SIZES:
            pairs = [twins(sample(dtype, (size,), label, i), dtype) for i in range(arity(call))]
            theirs, ours = (call(ns, *tensors) for ns, tensors in zip((torch, reftorch), zip(*pairs, strict=True),
                                                                      strict=True))
            assert (name(ours), tuple(ours.shape)) == (name(theirs), tuple(theirs.shape))
            legal = list(by_formula(op, lambda: call(reftorch, *(p[1] for p in pairs))))  # noqa: B023
            kind, got = name(ours), bits_of(theirs)
            assert np.all(same(bits_of(ours), legal[0], kind))
            right = np.logical_or.reduce([same(got, bits, kind) for bits in legal])
            if ulp:
                right |= ulp_distance(got, legal[0]) <= ulp
            wrong = np.flatnonzero(~right)
            assert not wrong.size, [(int(w), [p[0][w].item() for p in pairs], theirs[w].item(),
                                     [widened(bits, kind)[w] for bits in legal]) for w in wrong[:3]]
    return test


def bounded(calls: dict[str, Call], formula: Callable[..., Any], dtypes: Sequence[str] = COMPLEX) -> Callable[..., None]:
    """A test that results of both libraries lie within the derived bound: `formula` on Bounded operands, or a function
    of arrays and the format of the parts that gives (value, bound)."""
    @pytest.mark.parametrize("dtype", dtypes)
    @pytest.mark.parametrize("label", calls)
    def test(label: str, dtype: str) -> None:
        call, part = calls[label], {"complex64": "float32", "complex128": "float64"}[dtype]
        for size in SIZES:
            arrays = [sample(dtype, (size,), label, i) for i in range(arity(call))]
            exact = formula(*(Bounded(a, part) for a in arrays))
            value, error = (exact.value, exact.error) if isinstance(exact, Bounded) else exact
            pairs = [twins(a, dtype) for a in arrays]
            for ns, tensors in zip((torch, reftorch), zip(*pairs, strict=True), strict=True):
                result = call(ns, *tensors)
                assert np.all(np.abs(bits_of(result) - value) <= error), ns.__name__
    return test


# ---- dtypes, layouts, forms ----
def dtypes(calls: dict[str, Call], mixed: bool = True) -> Callable[..., None]:
    """A test that each dtype, and each pair of dtypes, gives the same dtype or error. Without elements, so nothing is
    computed; one operand has no dimensions in turn."""
    @pytest.mark.parametrize("label", calls)
    def test(label: str) -> None:
        call = calls[label]
        n = arity(call)
        kinds = [(d,) * n for d in ALL] + (list(itertools.permutations(ALL, 2)) if mixed and n > 1 else [])
        for kind in kinds:
            for scalar in range(-1, n if len(set(kind)) > 1 else 0):
                chosen = [kind[min(i, len(kind) - 1)] for i in range(n)]
                results = []
                for ns in (reftorch, torch):
                    tensors = [ns.ones(() if i == scalar else (0,), dtype=getattr(ns, d)) for i, d in enumerate(chosen)]
                    results.append(outcome(lambda: call(ns, *tensors)))  # noqa: B023
                ours, theirs = results
                if isinstance(ours, tuple) and "complex32" in ours[1]:
                    continue  # reftorch has no complex32, and says so
                try:
                    assert_agree(ours, theirs)
                except AssertionError as e:
                    raise AssertionError(f"{chosen}, number {scalar} without dimensions: {e}") from None
    return test


def layouts(calls: dict[str, Call], rounds: int = 60) -> Callable[..., None]:
    """A test of values and strides of results over permuted, expanded, sliced and offset operands."""
    @pytest.mark.parametrize("label", calls)
    def test(label: str) -> None:
        call, rng = calls[label], np.random.default_rng(zlib.crc32(label.encode()))
        for _ in range(rounds):
            ndim = int(rng.integers(0, 4))
            shape = [int(n) for n in rng.choice([1, 2, 3, 4], ndim)]
            pairs = []
            for i in range(arity(call)):
                size = [1 if rng.random() < 0.25 else n for n in shape][int(rng.integers(0, ndim + 1)) if i else 0:]
                order = [int(d) for d in rng.permutation(len(size))]
                step = 2 if rng.random() < 0.3 else 1
                strides, total = [0] * len(size), step
                for d in order:
                    strides[d], total = total, total * size[d]
                if rng.random() < 0.2:
                    strides = [0 if rng.random() < 0.5 else s for s in strides]
                offset = int(rng.integers(0, 3))
                pair = twins(carrier(rng.normal(size=total + offset), "float32"), "float32")
                pairs.append([x.as_strided(size, strides, offset) for x in pair])
            theirs, ours = (call(ns, *tensors) for ns, tensors in zip((torch, reftorch), zip(*pairs, strict=True),
                                                                      strict=True))
            assert_same(ours, theirs)
    return test


def forms(op: str, calls: dict[str, Call], in_place: bool = True, dtype: str = "float32") -> Callable[..., None]:
    """A test of `op`'s in-place method and of out=, on strided and resized targets and on the input itself: the same
    bits as the functional call, the target is returned, and its version counts one more."""
    class As:
        """A library with one function changed."""

        def __init__(self, ns: Any, function: Callable[..., Any]):
            self.ns, self.function = ns, function

        def __getattr__(self, attribute: str) -> Any:
            return self.function if attribute == op else getattr(self.ns, attribute)

    @pytest.mark.parametrize("label", calls)
    def test(label: str) -> None:
        call = calls[label]
        bits = [sample(dtype, (3, 4), label, i) for i in range(arity(call))]
        for ns, side in ((torch, 0), (reftorch, 1)):
            fresh = [twins(b, dtype)[side] for b in bits]
            expected = bits_of(call(ns, *fresh))
            if in_place:
                x = fresh[0]
                version = x._version
                assert call(As(ns, lambda x, *args, **options: getattr(x, op + "_")(*args, **options)), *fresh) is x
                assert x._version == version + 1
                assert np.all(same(bits_of(x), expected, dtype))
            fresh, d = [twins(b, dtype)[side] for b in bits], getattr(ns, dtype)
            for target in (ns.empty(3, 4, dtype=d), ns.empty(4, 3, dtype=d).t(), ns.empty(0, dtype=d),
                           ns.empty(6, 8, dtype=d)[::2, 1::2], fresh[0]):
                version = target._version
                function = functools.partial(getattr(ns, op), out=target)
                for _ in range(2):  # the second time, everything is known
                    assert call(As(ns, function), *[twins(b, dtype)[side] if t is not target else t
                                                    for b, t in zip(bits, fresh, strict=True)]) is target
                    assert np.all(same(bits_of(target), expected, dtype)) and tuple(target.shape) == (3, 4)
                    if target is fresh[0]:
                        break
                assert target._version == version + (1 if target is fresh[0] else 2)
    return test


# ---- gradients ----
SHAPES = (((3, 2), (3, 2), (3, 2)), ((3, 2), (2,), ()), ((1, 2), (3, 1), (3, 2)), ((), (2,), (2,)))


def powers(dtype: str, shape: tuple[int, ...], *seed: Any) -> np.ndarray:
    """Bits of -2, -1, -1/2, 1/2, 1, 2: products, quotients and short sums of them are exact, in any order."""
    rng = np.random.default_rng(zlib.crc32(repr((dtype, shape, seed)).encode()))
    values = rng.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], (*shape, 2))
    return carrier(values[..., 0] + (1j * values[..., 1] if dtype in COMPLEX else 0), dtype)


def gradients(calls: dict[str, Call], dtypes: Sequence[str] = ("float64", "float32"), twice: bool = True,
              draw: Callable[..., np.ndarray] | None = None) -> Callable[..., None]:
    """A test that gradients are torch's, bit for bit, and so are the gradients of gradients (`twice`).

    Sums have no defined order. So one part has no sums: arbitrary values, equal shapes, one derivative; in the other,
    with broadcasting and second derivatives, every sum is exact.
    """
    @pytest.mark.parametrize("dtype", dtypes)
    @pytest.mark.parametrize("label", calls)
    def test(label: str, dtype: str) -> None:
        call = calls[label]
        for shapes in SHAPES:
            for values, again in (((tame, False),) if shapes is SHAPES[0] else ()) + ((powers, twice),):
                pairs = [twins((draw or values)(dtype, shape, label, i), dtype)
                         for i, shape in zip(range(arity(call)), shapes, strict=False)]
                found = [_gradients(ns, call, [p[side] for p in pairs], values, again)
                         for side, ns in ((1, reftorch), (0, torch))]
                for ours, theirs in zip(*found, strict=True):
                    assert (ours is None) == (theirs is None)
                    if ours is not None:
                        assert_same(ours, theirs, strides=False)
    return test


def tame(dtype: str, shape: tuple[int, ...], *seed: Any) -> np.ndarray:
    return sample(dtype, shape, *seed, tame=True)


def _gradients(ns: Any, call: Call, tensors: list[Any], values: Callable[..., np.ndarray], twice: bool) -> list[Any]:
    """Of each tensor: the gradient of a weighted result; then the gradient of that."""
    side = int(ns is reftorch)
    leaves = [t.clone().requires_grad_() for t in tensors]

    def weight(t: Any, i: int) -> Any:
        return twins(values(name(t), tuple(t.shape), "weight", i), name(t))[side]
    result = call(ns, *leaves)
    first = ns.autograd.grad([result], leaves, [weight(result, 0)], create_graph=twice, allow_unused=True)
    found = list(first)
    again = [(g, weight(g, i + 1)) for i, g in enumerate(first) if g is not None and g.requires_grad]
    if twice and again:
        found += ns.autograd.grad([g for g, _ in again], leaves, [w for _, w in again], allow_unused=True)
    return found
