"""A formula as an expression: what the kit knows of it without numbers.

Two formulas whose expressions are equal give the same bits on every input, so no input can tell them apart. The other
readings are exact (over fractions) and bounded (complex values with an error bound).
"""
from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from reftorch.numerics import arith, bounds
from reftorch.numerics.arith import PRIMITIVES
from reftorch.numerics.bounds import Bounded
from reftorch.numerics.formats import FORMATS

_COMMUTE = {"add", "mul", "eq", "ne", "and", "or"}


@dataclass(frozen=True, eq=True)
class Node:
    """One operation of an expression. op: 'add', 'fma', ..., 'input' (args: its name) or 'number' (args: its value)."""

    op: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return str(self.args[0]) if self.op in ("input", "number") else f"{self.op}({', '.join(map(str, self.args))})"

    def walk(self) -> Iterator[Node]:
        yield self
        for a in self.args:
            if isinstance(a, Node):
                yield from a.walk()


@dataclass(frozen=True)
class Arithmetic:
    """What is known of the type that a formula computes in, and so which steps of it change no bit.

    fused: fma is one rounding (not for integers and complex numbers). rounds: R does something. exact_one: 1 * x is x
    in every bit (not for complex numbers). ring: sums and products are exact modulo a power of two (integers).
    grid: operands that lie on the dtype's grid already, so that rounding them does nothing. exact_products: products
    of two such are exact (float16 in float32). unequal: pairs of an operand and a number that it is not.
    """

    fused: bool = True
    rounds: bool = True
    exact_one: bool = True
    ring: bool = False
    grid: frozenset[str] = frozenset()
    exact_products: bool = False
    unequal: frozenset[tuple[str, Any]] = frozenset()


def trace(formula: Callable[..., Any], arithmetic: Arithmetic = Arithmetic(), **known: Any) -> Node:
    """The expression of a formula, simplified only where no bit can change. known: operands that are known numbers."""
    make = _Maker(arithmetic)
    names = formula.__code__.co_varnames[:formula.__code__.co_argcount]
    operands = [(lambda x: make("round", x)) if n == "R" else
                _Symbol(make, Node("number", (known[n],)) if n in known else Node("input", (n,))) for n in names]
    node = make.node(_rebound(formula, make)(*operands))
    return _polynomial(node) if arithmetic.ring else node


def _polynomial(node: Node) -> Node:
    """Sums and products of integers multiplied out, which makes equal ones equal; any other node as it is."""
    def run(n: Node) -> Counter[tuple[str, ...]]:
        if n.op == "input":
            return Counter({(str(n.args[0]),): 1})
        if n.op == "number":
            return Counter({(): int(n.args[0])})
        parts = [run(a) for a in n.args]
        total: Counter[tuple[str, ...]] = Counter()
        if n.op == "neg":
            total.update({m: -c for m, c in parts[0].items()})
        elif n.op == "add":
            for p in parts:
                for m, c in p.items():
                    total[m] += c
        else:
            for (m, c), (k, d) in itertools.product(*(p.items() for p in parts)):
                total[tuple(sorted(m + k))] += c * d
        return total
    if not operations(node) <= {"add", "mul", "neg"}:
        return node
    return Node("polynomial", tuple(sorted((m, c) for m, c in run(node).items() if c)))


def operations(node: Node) -> set[str]:
    """The names of what it does."""
    return {n.op for n in node.walk()} - {"input", "number"}


def exact_value(node: Node, operands: dict[str, float]) -> Fraction | None:
    """The value without any rounding, for finite operands; None where it has none or needs more than + - * /.

    A square root is taken to 200 binary digits.
    """
    def run(n: Any) -> Any:
        if not isinstance(n, Node):
            return n
        if n.op in ("input", "number"):
            value = operands[n.args[0]] if n.op == "input" else n.args[0]
            return value if isinstance(value, bool) else Fraction(value)
        a = [run(x) for x in n.args]
        return _EXACT[n.op](*a)
    try:
        return run(node)  # type: ignore[no-any-return]
    except (KeyError, ArithmeticError, ValueError, TypeError):
        return None


_EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "fma": lambda a, b, c: a * b + c, "select": lambda c, a, b: a if c else b, "abs": abs,
    "round": lambda a: a, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "and": lambda a, b: a and b,
    "or": lambda a, b: a or b, "not": lambda a: not a, "isnan": lambda a: False, "absolute": abs,
    "sqrt": lambda a: _root(a),
    "trunc": lambda a: Fraction(int(a)), "floor": lambda a: Fraction(math.floor(a)),
}


def _root(a: Fraction) -> Fraction:
    """The square root to 200 binary digits."""
    scale = 200 + max(0, a.denominator.bit_length() - a.numerator.bit_length())
    return Fraction(math.isqrt((a.numerator << 2 * scale) // a.denominator), 1 << scale)


def bounded(node: Node, operands: dict[str, Any], format_name: str) -> Bounded:
    """Value and error bound of a complex (or, from absolute values, real) expression; see numerics.bounds.

    Raises NotImplementedError for an operation that no bound is derived for.
    """
    largest, smallest = float(FORMATS[format_name].max_finite) / 8, float(FORMATS[format_name].min_normal)

    def lift(x: Any) -> Bounded:
        return x if isinstance(x, Bounded) else Bounded(x, format_name)

    def limited(x: Bounded, divisor: Bounded | None = None) -> Bounded:
        """Where something may have overflowed, or the divisor is subnormal or huge, the bound says nothing."""
        sure = np.abs(x.value) + x.error < largest
        if divisor is not None:
            sure &= np.maximum(np.abs(divisor.value.real), np.abs(divisor.value.imag)) - divisor.error >= smallest
            sure &= np.abs(divisor.value) + divisor.error < largest
        return Bounded(x.value, format_name, np.where(sure, x.error, np.inf))

    def run(n: Any) -> Any:
        if n.op in ("input", "number"):
            value = operands[n.args[0]] if n.op == "input" else n.args[0]
            return value if n.op == "number" else Bounded(value, format_name)
        a = [run(x) for x in n.args]
        if n.op in ("add", "sub", "mul", "div"):
            x, y = lift(a[0]), a[1]
            operation = {"add": x.__add__, "sub": x.__sub__, "mul": x.__mul__, "div": x.__truediv__}[n.op]
            return limited(operation(y), lift(y) if n.op == "div" else None)
        if n.op == "neg":
            return -lift(a[0])
        if n.op in _ROOTS:
            x, (own, exact) = lift(a[0]), _ROOTS[n.op]
            if np.any(x.error):
                raise NotImplementedError(f"the error that {n.op} inherits")
            return limited(Bounded(exact(x.value), format_name, own(x.value, format_name) + own(x.value, "float64")))
        if n.op == "select":
            (holds, unsure), x, y = a[0], lift(a[1]), lift(a[2])
            either = np.maximum(x.error, y.error) + np.abs(x.value - y.value)
            return Bounded(np.where(holds, x.value, y.value), format_name,
                           np.where(unsure, either, np.where(holds, x.error, y.error)))
        if n.op in _TESTS:  # what holds, and where the operands' errors leave that open
            x, y = lift(a[0]), lift(a[1])
            near = np.abs(x.value - y.value) <= x.error + y.error
            return _TESTS[n.op](x.value.real, y.value.real), near & ((x.error > 0) | (y.error > 0))
        raise NotImplementedError(f"no bound for {n.op}")
    with np.errstate(all="ignore"):
        return lift(run(node))


_ROOTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sqrt": (bounds.complex_sqrt, np.sqrt), "abs": (bounds.complex_abs, np.abs),
    "absolute": (bounds.complex_abs, np.abs),
}
_TESTS: dict[str, Callable[..., Any]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


class _Maker:
    """Builds nodes, and drops what changes no bit: factors of 1, decided choices, roundings that do nothing."""

    def __init__(self, arithmetic: Arithmetic):
        self.known = arithmetic

    def on_grid(self, n: Node) -> bool:
        """Whether n is a number of the dtype, which is narrower than what is computed in."""
        return (n.op == "input" and n.args[0] in self.known.grid or n.op == "round" or n.op == "neg"
                and self.on_grid(n.args[0]) or n.op == "number" and n.args[0] in (0, 1, -1))

    def simple_factor(self, op: str, a: list[Node]) -> _Symbol | None:
        """x for 1 * x, -x for -1 * x; likewise in a division and in an fma."""
        if not self.known.exact_one or op not in ("mul", "div", "fma"):
            return None
        for i in (0, 1) if op != "div" else (1,):
            if a[i].op == "number" and a[i].args[0] in (1, -1) and not isinstance(a[i].args[0], bool):
                factor = a[1 - i] if a[i].args[0] == 1 else self("neg", a[1 - i])
                return self("add", factor, a[2]) if op == "fma" else _Symbol(self, self.node(factor))
        return None

    def node(self, x: Any) -> Node:
        return x.node if isinstance(x, _Symbol) else x if isinstance(x, Node) else Node("number", (x,))

    def __call__(self, op: str, *operands: Any) -> _Symbol:
        a = [self.node(x) for x in operands]
        if op == "fma" and (not self.known.fused
                            or self.known.exact_products and self.on_grid(a[0]) and self.on_grid(a[1])):
            return self("add", self("mul", a[0], a[1]), a[2])
        simple = self.simple_factor(op, a)
        if simple is not None:
            return simple
        if op == "round" and (not self.known.rounds or self.on_grid(a[0])):
            return _Symbol(self, a[0])
        if op == "select" and a[0].op == "number":
            return _Symbol(self, a[1] if a[0].args[0] else a[2])
        if op == "sub":  # a - b is a + (-b), bit for bit
            return self("add", a[0], self("neg", a[1]))
        if op == "neg" and a[0].op == "neg":
            return _Symbol(self, a[0].args[0])
        if op in ("mul", "div") and self.known.fused:  # a sign may be taken out of a product, bit for bit
            signs = [n.op == "neg" for n in a]
            if any(signs):
                bare = self(op, *(n.args[0] if n.op == "neg" else n for n in a))
                return bare if all(signs) else self("neg", bare)
        if op in _EXACT and op not in ("sqrt", "div", "round", "select") and all(n.op == "number" for n in a):
            return _Symbol(self, Node("number", (_plain_number(op, [n.args[0] for n in a]),)))
        if op == "eq" and any((x.args[0], y.args[0]) in self.known.unequal for x, y in (a, a[::-1])
                              if x.op == "input" and y.op == "number"):
            return _Symbol(self, Node("number", (False,)))
        if op in _COMMUTE:
            a.sort(key=str)
        elif op == "fma":
            a[:2] = sorted(a[:2], key=str)
        return _Symbol(self, Node(op, tuple(a)))


def _plain_number(op: str, values: list[Any]) -> Any:
    found = _EXACT[op](*values)
    return found if isinstance(found, bool) else type(values[0])(found)


class _Symbol:
    """An operand that records what is done to it."""

    __array_ufunc__ = None

    def __init__(self, make: _Maker, node: Node):
        self.make, self.node = make, node

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a formula chooses by select, never by if")


def _operator(name: str, op: str, arity: int, reflected: bool) -> None:
    if arity == 1:
        setattr(_Symbol, f"__{name}__", lambda self: self.make(op, self))
        return
    setattr(_Symbol, f"__{name}__", lambda self, other: self.make(op, self, other))
    if reflected:
        setattr(_Symbol, f"__r{name}__", lambda self, other: self.make(op, other, self))


for _name, _op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("and", "and"), ("or", "or"),
                   ("xor", "xor")):
    _operator(_name, _op, 2, True)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _operator(_name, _name, 2, False)
for _name, _op in (("neg", "neg"), ("abs", "abs"), ("invert", "not"), ("pos", "pos")):
    _operator(_name, _op, 1, False)

_NAMES = {id(f): name for name, f in PRIMITIVES.items()}


def _rebound(function: Callable[..., Any], make: _Maker) -> Callable[..., Any]:
    """The function with every primitive that it reaches replaced by one that records."""
    assert isinstance(function, FunctionType)
    recording = {name: functools.partial(make, name) for name in PRIMITIVES}
    space = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = space.get(name)
        if id(value) in _NAMES:
            space[name] = recording[_NAMES[id(value)]]
        elif value is arith:
            space[name] = SimpleNamespace(**recording)
        elif isinstance(value, FunctionType) and value.__module__.startswith("reftorch.ops"):
            space[name] = _rebound(value, make)
    return FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
