"""A formula as an expression: what the kit knows of it without numbers.

Two formulas whose expressions are equal give the same bits on every input, so no input can tell them apart. The other
readings are exact (over fractions) and bounded (complex values with an error bound).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import FunctionType
from typing import Any

import numpy as np

from reftorch.numerics import bounds
from reftorch.numerics.arith import PRIMITIVES
from reftorch.numerics.bounds import Bounded

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


def trace(formula: Callable[..., Any], fused: bool = True, rounds: bool = True, exact_one: bool = True,
          **known: Any) -> Node:
    """The expression of a formula, simplified only where no bit can change.

    fused: whether fma is one rounding (it is not for integers and complex numbers). rounds: whether R does anything.
    exact_one: whether 1 * x is x in every bit (not for complex numbers). known: operands that are known numbers.
    """
    make = _Maker(fused, rounds, exact_one)
    names = formula.__code__.co_varnames[:formula.__code__.co_argcount]
    operands = [(lambda x: make("round", x)) if n == "R" else
                _Symbol(make, Node("number", (known[n],)) if n in known else Node("input", (n,))) for n in names]
    return make.node(_rebound(formula, make)(*operands))


def operations(node: Node) -> set[str]:
    """The names of what it does."""
    return {n.op for n in node.walk()} - {"input", "number"}


def exact_value(node: Node, operands: dict[str, float]) -> Fraction | float | None:
    """The value without any rounding, for finite operands; None where it has none or needs more than + - * /.

    A square root at the top is left as a float (correct to 2**-52 relative).
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
    "sqrt": lambda a: Fraction(math.isqrt(int(a * (1 << 240)))) / (1 << 120),
    "trunc": lambda a: Fraction(int(a)), "floor": lambda a: Fraction(math.floor(a)),
}


def bounded(node: Node, operands: dict[str, Any], format_name: str) -> Bounded:
    """Value and error bound of a complex (or, from absolute values, real) expression; see numerics.bounds.

    Raises NotImplementedError for an operation that no bound is derived for.
    """
    def lift(x: Any) -> Bounded:
        return x if isinstance(x, Bounded) else Bounded(x, format_name)

    def run(n: Any) -> Any:
        if n.op in ("input", "number"):
            value = operands[n.args[0]] if n.op == "input" else n.args[0]
            return value if n.op == "number" else Bounded(value, format_name)
        a = [run(x) for x in n.args]
        if n.op in ("add", "sub", "mul", "div"):
            x, y = lift(a[0]), a[1]
            return {"add": x.__add__, "sub": x.__sub__, "mul": x.__mul__, "div": x.__truediv__}[n.op](y)
        if n.op == "fma":
            return lift(a[0]) * a[1] + a[2]
        if n.op == "neg":
            return -lift(a[0])
        if n.op in _ROOTS:
            x, (own, exact) = lift(a[0]), _ROOTS[n.op]
            if np.any(x.error):
                raise NotImplementedError(f"the error that {n.op} inherits")
            with np.errstate(all="ignore"):
                return Bounded(exact(x.value), format_name, own(x.value, format_name) + own(x.value, "float64"))
        if n.op == "select":
            c, x, y = _plain(a[0]), lift(a[1]), lift(a[2])
            return Bounded(np.where(c, x.value, y.value), format_name, np.where(c, x.error, y.error))
        if n.op in _TESTS:
            x, y = lift(a[0]), lift(a[1])
            if np.any(x.error) or np.any(y.error):  # a test of values that are not sure
                raise NotImplementedError(f"a comparison of rounded values in {node}")
            return _TESTS[n.op](x.value.real, y.value.real)
        raise NotImplementedError(f"no bound for {n.op}")
    return lift(run(node))


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, Bounded) else x


_ROOTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sqrt": (bounds.complex_sqrt, np.sqrt), "abs": (bounds.complex_abs, np.abs),
    "absolute": (bounds.complex_abs, np.abs),
}
_TESTS: dict[str, Callable[..., Any]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}


class _Maker:
    """Builds nodes, and drops what changes no bit: factors of 1, decided choices, roundings that do nothing."""

    def __init__(self, fused: bool, rounds: bool, exact_one: bool):
        self.fused, self.rounds, self.exact_one = fused, rounds, exact_one

    def node(self, x: Any) -> Node:
        return x.node if isinstance(x, _Symbol) else x if isinstance(x, Node) else Node("number", (x,))

    def __call__(self, op: str, *operands: Any) -> _Symbol:
        a = [self.node(x) for x in operands]
        if op == "fma" and not self.fused:
            return self("add", self("mul", a[0], a[1]), a[2])
        one = [n.op == "number" and n.args[0] == 1 and self.exact_one for n in a]
        if op == "mul" and any(one):
            return _Symbol(self, a[1] if one[0] else a[0])
        if op == "div" and one[1]:
            return _Symbol(self, a[0])
        if op == "fma" and (one[0] or one[1]):
            return self("add", a[1] if one[0] else a[0], a[2])
        if op == "round" and not self.rounds:
            return _Symbol(self, a[0])
        if op == "select" and a[0].op == "number":
            return _Symbol(self, a[1] if a[0].args[0] else a[2])
        if op == "sub":  # a - b is a + (-b), bit for bit
            return self("add", a[0], self("neg", a[1]))
        if op == "neg" and a[0].op == "neg":
            return _Symbol(self, a[0].args[0])
        if op in _EXACT and op not in ("sqrt", "div", "round", "select") and all(n.op == "number" for n in a):
            return _Symbol(self, Node("number", (_plain_number(op, [n.args[0] for n in a]),)))
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
    """The function with every primitive that its globals name replaced by one that records."""
    assert isinstance(function, FunctionType)
    space = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = space.get(name)
        if id(value) in _NAMES:
            space[name] = lambda *operands, _op=_NAMES[id(value)]: make(_op, *operands)
        elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
            space[name] = _rebound(value, make)
    return FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
