"""Where cases come from: values, layouts, aliasing and whole calls, all drawn from one `random.Random`.

Any object with Random's methods will do, so Hypothesis drives the same code (see `cases`) and shrinks what it finds.
Bulk values come from a NumPy generator seeded by that Random.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

from reftorch.core.dtype import BOOL, COMPLEX, DTYPES, FLOATING, INTEGRAL
from reftorch.core.layout import contiguous_stride as contiguous_stride
from reftorch.dispatch.operator import REQUIRED, Parameter
from reftorch.dispatch.pointwise import Pointwise
from reftorch.numerics.codes import encode
from reftorch.numerics.formats import FORMATS

from .case import CANARY, Case, Value, View

GUARD = 64  # bytes before and after every view that belong to no element; keeps the alignment of the buffer
COMPUTING = tuple(d for d, t in DTYPES.items() if not t.storage_only)

# ---- values ----
# any: every code, so all exponents alike. near: exponents within a few of one another, where sums matter.
# short: few digits, so that products and sums are exact or halfway. neighbours: beside powers of two.
# special: zeros of both signs, subnormals, extremes, infinities, NaN. mixed: some of everything.
KINDS = ("any", "near", "short", "neighbours", "special", "mixed")


def generator(rng: Random) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(rng.getrandbits(63)))


def values(gen: np.random.Generator, dtype: str, n: int, kind: str = "mixed") -> np.ndarray:
    """`n` elements as carrier bits of a dtype."""
    d = DTYPES[dtype]
    if d.storage_only:
        return gen.integers(0, 256, n).astype(np.uint8)
    if d.category == BOOL:
        return gen.integers(0, 2, n).astype(np.bool_)
    if d.category == INTEGRAL:
        return _integers(gen, d.np, n, kind)
    if d.category == COMPLEX:
        part = d.to_real()
        return _floats(gen, part.name, 2 * n, kind).view(part.np).view(d.np)
    return _floats(gen, dtype, n, kind).view(d.np)


def _integers(gen: np.random.Generator, carrier: np.dtype, n: int, kind: str) -> np.ndarray:
    info = np.iinfo(carrier)
    if kind == "mixed":
        kinds = [_integers(gen, carrier, n, k) for k in ("any", "near", "special")]
        return np.choose(gen.integers(0, 3, n), kinds)
    if kind in ("near", "short"):
        return gen.integers(max(-20, info.min), 21, n).astype(carrier)
    if kind == "neighbours":
        shifts = gen.integers(0, info.bits - 1, n).astype(np.int64)
        signs = np.where(gen.integers(0, 2, n), -1, 1) if info.min else 1
        beside: np.ndarray = (np.int64(1) << shifts) * signs + gen.integers(-1, 2, n)
        return beside.astype(carrier)
    if kind == "special":
        table = np.array([0, 1, 2, 3, info.max, info.max - 1, info.min, info.min + 1, info.max // 2, 255 & info.max]
                         + ([-1, -2, -3] if info.min else []), carrier)
        return table[gen.integers(0, len(table), n)]
    return gen.integers(info.min, info.max, n, dtype=carrier, endpoint=True)


def _floats(gen: np.random.Generator, dtype: str, n: int, kind: str) -> np.ndarray:
    """Codes of a float format, as unsigned integers."""
    f = FORMATS[dtype]
    code = np.dtype(f"uint{f.bits}")
    if kind == "mixed":
        every = np.stack([_floats(gen, dtype, n, k) for k in ("near", "any", "special", "short", "neighbours", "near")])
        return every[gen.integers(0, len(every), n), np.arange(n)]
    if kind == "special":
        table = special_codes(dtype)
        return table[gen.integers(0, len(table), n)]
    bits = gen.integers(0, 1 << f.bits, n, dtype=code, endpoint=False) if f.bits < 64 else \
        gen.integers(0, (1 << 64) - 1, n, dtype=code, endpoint=True)
    if kind == "any":
        return bits
    m = f.mantissa_bits
    sign = bits & code.type(f.sign_mask)
    exponent = (gen.integers(-5, 6, n) + f.bias).astype(code) << code.type(m)
    mantissa = bits & code.type((1 << m) - 1)
    if kind == "short":
        mantissa &= code.type(((1 << m) - 1) & ~((1 << (m - m // 2 + 1)) - 1))
    elif kind == "neighbours":
        exponent, mantissa = exponent + gen.integers(-2, 3, n).astype(code), code.type(0)
    codes: np.ndarray = sign | exponent | mantissa
    return codes


@functools.cache
def special_codes(dtype: str) -> np.ndarray:
    """The codes of a float format's remarkable values: each with both signs."""
    f = FORMATS[dtype]
    normal = int(1 << f.mantissa_bits)
    one = f.encode(1)
    magnitudes = [0, 1, 2, normal // 2, normal - 1, normal, normal + 1, one - 1, one, one + 1, f.encode(2), f.encode(3),
                  f.encode(f.eps), f.max_code - 1, f.max_code, f.inf_code, f.default_nan or f.max_code]
    return np.array([m | s for m in magnitudes for s in (0, f.sign_mask)], f"uint{f.bits}")


def special_values(dtype: str) -> np.ndarray:
    """All remarkable values of a dtype, as carrier bits; for complex dtypes all pairs of a shorter list."""
    d = DTYPES[dtype]
    if d.category == BOOL:
        return np.array([False, True])
    if d.category == INTEGRAL:
        info = np.iinfo(d.np.name)
        return np.unique(np.array([0, 1, 2, 7, info.max, info.max - 1, info.min, info.min + 1]
                                  + ([-1, -7] if info.min else []), d.np))
    if d.category == COMPLEX:
        part = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], d.to_real().np)
        return np.array([complex(a, b) for a in part for b in part], d.np)
    return special_codes(dtype).view(d.np)


def number(rng: Random, category: int, wide: bool = False) -> bool | int | float | complex:
    """A Python number of a category. Floats mostly lie on no tensor dtype's grid; wide: any size that float32 holds."""
    if category == BOOL:
        return rng.random() < 0.5
    if category == INTEGRAL:
        return rng.randint(-3, 5) if not wide else rng.randint(-120, 120)
    if category == COMPLEX:
        return complex(rng.uniform(-2, 2), rng.uniform(-2, 2))
    if wide and rng.random() < 0.5:
        return rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-14, 14)
    return rng.choice((0.3, -0.7, 0.1, 1.7, -2.3, 1 / 3, rng.uniform(-2, 2), rng.uniform(-1, 1)))


# ---- layouts ----
LAYOUTS = ("contiguous", "offset", "permuted", "stepped", "rows", "expanded", "odd ones")


@dataclass(frozen=True)
class Layout:
    """Sizes, strides and offset in elements; extent: elements from the first to behind the last."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    skip: int  # elements between the aligned start of the buffer's payload and the first element

    @property
    def extent(self) -> int:
        return 0 if 0 in self.size else 1 + sum((n - 1) * s for n, s in zip(self.size, self.stride))


def layout(rng: Random, size: Sequence[int], kind: str) -> Layout:
    """A layout of these sizes. A kind that these sizes do not allow gives the nearest that they do."""
    size, ndim = tuple(size), len(size)
    if kind == "contiguous" or not ndim and kind != "offset":
        return Layout(size, contiguous_stride(size), 0)
    if kind == "offset":
        return Layout(size, contiguous_stride(size), rng.randint(1, 31))
    order = list(range(ndim))
    if kind == "permuted" or kind == "odd ones" and rng.random() < 0.8:
        rng.shuffle(order)
    step, stride = rng.randint(2, 3) if kind == "stepped" else 1, [0] * ndim
    for d in reversed(order):
        stride[d] = step
        step *= max(size[d], 1)
        if kind == "rows":
            step += rng.randint(1, 5)
        elif kind == "stepped" and rng.random() < 0.3:
            step += 1
    if kind == "expanded":
        zeroed = [d for d in range(ndim) if rng.random() < 0.5] or [rng.randrange(ndim)]
        kept = tuple(1 if d in zeroed else n for d, n in enumerate(size))
        stride = [0 if d in zeroed else s for d, s in enumerate(contiguous_stride(kept))]
    if kind == "odd ones":  # the stride of a dimension of size 1 may be anything
        stride = [rng.choice((1, 2, 7, 1000)) if n == 1 else s for n, s in zip(size, stride)]
    return Layout(size, tuple(stride), rng.choice((0, 0, 1, 3, 8)))


class Memory:
    """The buffers of a case while it is being built."""

    def __init__(self) -> None:
        self.buffers: list[np.ndarray] = []

    def place(self, array: np.ndarray | None, dtype: str, where: Layout, **flags: Any) -> View:
        """A new buffer, canaries everywhere, with a view that holds `array` (None: canaries too)."""
        item = DTYPES[dtype].itemsize
        guard = -(-GUARD // item)
        total = 2 * guard + where.skip + where.extent
        self.buffers.append(np.full(total * item, CANARY, np.uint8))
        view = View(len(self.buffers) - 1, dtype, where.size, where.stride, guard + where.skip, **flags)
        if array is not None and array.size:
            # A stride of 0 makes elements share a place: each place is written once.
            once = tuple(slice(0, 1) if s == 0 else slice(None) for s in where.stride)
            view.of(self.buffers[-1])[once] = array[once]
        return view


def materialised(array: np.ndarray, stride: Sequence[int]) -> np.ndarray:
    """What a view with these strides shows after `array` was written through it (stride 0 repeats)."""
    once = tuple(slice(0, 1) if s == 0 else slice(None) for s in stride)
    return np.broadcast_to(array[once], array.shape)


# ---- patterns: how an operator's parameters are given ----
TENSOR, NUMBER, ABSENT, DEFAULT = "tensor", "number", "absent", "default"


@dataclass(frozen=True)
class Pattern:
    """For each parameter: a tensor, a number, left out (None), left to its default, or the value of an option."""

    given: tuple[tuple[str, Any], ...]

    @functools.cached_property
    def by_name(self) -> dict[str, Any]:
        return dict(self.given)

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(n for n, g in self.given if g == TENSOR)

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(n for n, g in self.given if g == NUMBER)

    def label(self, op: Pointwise) -> str:
        """For people: what distinguishes this pattern ('value != 1', 'other a number', '')."""
        said = []
        for p in op.parameters:
            how = self.by_name[p.name]
            if p.is_number and how in (NUMBER, DEFAULT):
                said.append(f"{p.name} {'=' if how == DEFAULT else '!='} {p.default}")
            elif p.is_operand and how == NUMBER:
                said.append(f"{p.name} a number")
            elif p.is_operand and how == ABSENT:
                said.append(f"no {p.name}")
            elif how not in (TENSOR, NUMBER, DEFAULT, ABSENT):
                said.append(f"{p.name} = {how}")
        return ", ".join(said)


@functools.cache
def patterns(op: Pointwise) -> tuple[Pattern, ...]:
    """Every way to give the operator's arguments that an overload of it allows and some formula is written for."""
    wanted = [set(f.parameters) for f in op.formulas]
    found: dict[tuple[tuple[str, Any], ...], None] = {}
    for schema in op.schemas:
        types = {a.name: str(a.type) for a in schema.arguments}
        choices = [_choices(op, p, types.get(p.name)) for p in op.parameters]
        for combination in itertools.product(*choices):
            given = tuple(zip((p.name for p in op.parameters), combination))
            counted = {n for n, g in given if g in (TENSOR, NUMBER, DEFAULT)}
            if any(g == TENSOR for n, g in given if n not in op.conditions) or len(op.conditions):
                if counted in wanted and any(g == TENSOR for _, g in given):
                    found[given] = None
    return tuple(Pattern(g) for g in found)


def _choices(op: Pointwise, p: Parameter, declared: str | None) -> list[Any]:
    if declared is None:
        return [p.default if p.default is not REQUIRED and p.default is not None else ABSENT]
    kind, optional = declared.rstrip("?"), declared.endswith("?")
    if not p.is_operand and not p.is_number:
        options = {f.when[p.name] for f in op.formulas if p.name in f.when}
        return [ABSENT if v is None else v for v in sorted(options, key=str)] or [ABSENT]
    if p.is_number:
        return [NUMBER] if p.default is REQUIRED else [DEFAULT, NUMBER]
    choices: list[Any] = [TENSOR] if kind == "Tensor" else [NUMBER]
    if kind == "Tensor" and p.takes_number and "Scalar" not in p.types:  # the binding makes a 0-dim tensor of it
        choices.append(NUMBER)
    return choices + [ABSENT] * optional


def pattern_of(op: Pointwise, case: Case) -> Pattern | None:
    """The pattern of a case, if it has one of the operator's."""
    def how(p: Parameter) -> Any:
        value = case.args.get(p.name, p.default)
        if isinstance(value, View):
            return TENSOR
        if value is None:
            return ABSENT
        if p.is_number and p.name not in case.args:
            return DEFAULT
        return NUMBER if p.is_operand or p.is_number else value
    given = tuple((p.name, how(p)) for p in op.parameters)
    return next((p for p in patterns(op) if p.given == given), None)


# ---- calls ----
def call(op: Pointwise, pattern: Pattern, arrays: Mapping[str, np.ndarray], dtypes: Mapping[str, str],
         layouts: Mapping[str, Layout] | None = None, numbers: Mapping[str, Any] | None = None,
         form: str = "functional", unit: str = "", **note: Any) -> Case:
    """A case of this pattern with these element bits; contiguous where no layout is given."""
    memory, args = Memory(), dict[str, Value]()
    for name, how in pattern.given:
        if how == TENSOR:
            where = (layouts or {}).get(name) or Layout(arrays[name].shape, contiguous_stride(arrays[name].shape), 0)
            args[name] = memory.place(arrays[name], dtypes[name], where)
        elif how == NUMBER:
            args[name] = (numbers or {})[name]
        elif how not in (ABSENT, DEFAULT):
            args[name] = how
    return Case(op.name, form, args, memory.buffers, unit=unit, note=note)


def with_out(case: Case, dtype: str, where: Layout, array: np.ndarray | None = None, **flags: Any) -> Case:
    """The case in its out= form, with a fresh output that holds `array` (None: canaries)."""
    memory = Memory()
    memory.buffers = list(case.buffers)
    out = memory.place(array, dtype, where, **flags)
    return Case(case.op, "out=", case.args, memory.buffers, out, case.grad, case.unit, dict(case.note))


def draw_numbers(rng: Random, op: Pointwise, pattern: Pattern, category: int) -> dict[str, Any]:
    """A number for each parameter that the pattern gives as one, of a category that does not promote."""
    alone = set(pattern.tensors) <= set(op.conditions)  # then the numbers decide the dtype
    drawn = {n: number(rng, category if alone or rng.random() < 0.7 else min(category, INTEGRAL))
             for n in pattern.numbers}
    return not_default(op, {n: v or 1 for n, v in drawn.items()} if op.guards else drawn)


def not_default(op: Pointwise, numbers: dict[str, Any]) -> dict[str, Any]:
    """The numbers, none of which is its parameter's default: that is another pattern."""
    default = {p.name: p.default for p in op.parameters if p.is_number}
    return {n: v + 2 if n in default and v == default[n] and not isinstance(v, bool) else v for n, v in numbers.items()}


def allowed(op: Pointwise, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays without what an operator that looks at values may refuse: zeros among integers."""
    if not op.guards:
        return arrays
    return {n: np.where(a == 0, a.dtype.type(1), a) if a.dtype.kind in "iu" else a for n, a in arrays.items()}


def shape(rng: Random, ndim: int | None = None, largest: int = 8, empty: bool = True) -> tuple[int, ...]:
    """A small shape, sizes of 1, and of 0 if `empty`, included."""
    ndim = rng.choice((0, 1, 1, 2, 2, 3, 4)) if ndim is None else ndim
    odd = (0, 1, 1) if empty else (1,)
    return tuple(rng.choice(odd) if rng.random() < 0.15 else rng.randint(1, largest) for _ in range(ndim))


def narrowed(rng: Random, size: Sequence[int], chance: float = 0.3) -> tuple[int, ...]:
    """A shape that broadcasts to `size`: some sizes 1, some leading ones left out."""
    dims = [1 if rng.random() < chance else n for n in size]
    drop = rng.randint(0, len(dims)) if rng.random() < chance else 0
    return tuple(dims[drop:])


def supported_inputs(op: Pointwise) -> tuple[str, ...]:
    """Input dtypes that the operator takes, in some pattern, when all its tensors have the same one."""
    names = [d for d in COMPUTING if d in op.types]
    return tuple(n for n in COMPUTING if n in names or op.int_to_float and DTYPES[n].category < FLOATING)


def operand_dtype(op: Pointwise, name: str, dtype: str) -> str:
    return "bool" if name in op.conditions else dtype


def random_case(rng: Random, op: Pointwise, dtypes: Sequence[str] | None = None, largest: int = 8) -> Case:
    """Any call of the operator: dtypes, shapes, layouts, form and aliasing at random; some of them are errors."""
    gen = generator(rng)
    pattern = rng.choice(patterns(op))
    pool = dtypes or COMPUTING
    good = [d for d in supported_inputs(op) if d in pool] or list(pool)
    main = rng.choice(good if rng.random() < 0.97 else pool)
    size = shape(rng, largest=largest)
    if rng.random() < 0.15:
        size = (rng.randint(0, 70),)
    elif rng.random() < 0.1:
        size = (rng.randint(1, 4), rng.randint(1, 70))
    mixed, broadcast, kind = rng.random() < 0.2, rng.random() < 0.4, rng.choice(KINDS)
    arrays, layouts, types = {}, {}, {}
    for name in pattern.tensors:
        here = narrowed(rng, size) if broadcast else size
        types[name] = operand_dtype(op, name, rng.choice(good) if mixed and rng.random() < 0.5 else main)
        where = layout(rng, here, rng.choice(LAYOUTS) if rng.random() < 0.7 else "contiguous")
        arrays[name] = values(gen, types[name], prod(here), kind).reshape(here)
        layouts[name] = where
    category = DTYPES[main].category
    numbers = draw_numbers(rng, op, pattern, category)
    forms = ["functional"] + ["in-place"] * (op.has_in_place and "self" in pattern.tensors) + ["out="] * op.has_out
    if op.has_method and "self" in pattern.tensors:
        forms.append("method")
    form = rng.choice(forms)
    case = call(op, pattern, arrays, types, layouts, numbers, form)
    if form == "out=":
        case = _random_out(rng, op, case, size, main)
    elif form == "in-place" and rng.random() < 0.3:
        case = _aliased(rng, case, "self")
    return case


def _random_out(rng: Random, op: Pointwise, case: Case, size: tuple[int, ...], main: str) -> Case:
    """An out= tensor: of the right or a wrong shape, of the right or another dtype, alone or one of the inputs."""
    roll = rng.random()
    if roll < 0.25:
        name = rng.choice([n for n, v in case.args.items() if isinstance(v, View)])
        return Case(case.op, "out=", case.args, case.buffers, case.args[name], unit=case.unit)  # type: ignore[arg-type]
    dtype = op.result(DTYPES[main]).name if roll < 0.9 else rng.choice(COMPUTING)
    if op.int_to_float and DTYPES[main].category < FLOATING and roll < 0.9:
        dtype = "float32"
    if roll < 0.35:
        size = rng.choice(((0,), (), (3,), (2, 3)))
    kinds = [k for k in LAYOUTS if k != "expanded" or rng.random() < 0.1]
    return with_out(case, dtype, layout(rng, size, rng.choice(kinds)))


def _aliased(rng: Random, case: Case, target: str) -> Case:
    """The same call with another tensor argument that is, or overlaps, the one that is written to."""
    view = case.args[target]
    assert isinstance(view, View)
    others = [n for n, v in case.args.items() if n != target and isinstance(v, View) and v.dtype == view.dtype]
    if not others:
        return case
    return case.with_args(**{rng.choice(others): view})


def cases(op: Pointwise | None = None, **options: Any) -> Any:
    """A Hypothesis strategy of cases, driven by the same code as the checks: of one operator, or of all with a chapter."""
    from hypothesis import strategies as st

    from reftorch.dispatch.operator import REGISTRY
    pool = [op] if op else [o for o in REGISTRY.values() if isinstance(o, Pointwise) and "._" not in o.module]
    return st.builds(lambda rng, which: random_case(rng, which, **options), st.randoms(use_true_random=False),
                     st.sampled_from(pool))


def encoded(dtype: str, numbers: Any) -> np.ndarray:
    """Carrier bits of Python numbers, for cases written by hand."""
    d = DTYPES[dtype]
    if d.category != FLOATING or dtype in ("float32", "float64"):
        return np.asarray(numbers, d.np)
    return np.asarray(encode(dtype, np.asarray(numbers, np.float32))).view(d.np)
