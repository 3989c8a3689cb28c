"""Python's operators in a formula: + - * / unary - and +, & | ^ ~, and the six comparisons."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .casts import pair, parts
from .elements import Element
from .operation import ALL, BOOL, INTEGERS, NUMBERS, REAL, intrinsic, lowers


@lowers(operator.add, 2, ALL)
def add(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    if t.kind == "complex":
        return pair(b, *(b.fadd(p, q) for p, q in zip(parts(b, x), parts(b, y))))
    return b.fadd(x, y) if t.kind == "float" else b.or_(x, y) if t.kind == "bool" else b.add(x, y)


@lowers(operator.sub, 2, NUMBERS)
def sub(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    if t.kind == "complex":
        return pair(b, *(b.fsub(p, q) for p, q in zip(parts(b, x), parts(b, y))))
    return b.fsub(x, y) if t.kind == "float" else b.sub(x, y)


@lowers(operator.mul, 2, ALL)
def mul(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    """Complex: four products and two sums, each rounded."""
    if t.kind == "complex":
        (xr, xi), (yr, yi) = parts(b, x), parts(b, y)
        return pair(b, b.fsub(b.fmul(xr, yr), b.fmul(xi, yi)), b.fadd(b.fmul(xr, yi), b.fmul(xi, yr)))
    return b.fmul(x, y) if t.kind == "float" else b.and_(x, y) if t.kind == "bool" else b.mul(x, y)


@lowers(operator.truediv, 2, ("float", "complex"))
def div(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    return b.fdiv(x, y) if t.kind == "float" else _complex_div(b, *parts(b, x), *parts(b, y))


def _complex_div(b: ir.IRBuilder, xr: Any, xi: Any, yr: Any, yi: Any) -> Any:
    """Smith's method, step by step as c10::complex and NumPy's loop take it."""
    size_r, size_i = intrinsic(b, "fabs", yr), intrinsic(b, "fabs", yi)
    wide = b.fcmp_ordered(">=", size_r, size_i)  # else real and imaginary change roles
    big, small = b.select(wide, yr, yi), b.select(wide, yi, yr)
    p, q = b.select(wide, xr, xi), b.select(wide, xi, xr)
    ratio = b.fdiv(small, big)
    scale = b.fdiv(yr.type(1), b.fadd(big, b.fmul(small, ratio)))
    real = b.fmul(b.fadd(p, b.fmul(q, ratio)), scale)
    pr = b.fmul(p, ratio)
    imag = b.fmul(b.select(wide, b.fsub(q, pr), b.fsub(pr, q)), scale)
    by_zero = b.fcmp_ordered("==", b.select(wide, size_r, size_i), yr.type(0))
    return pair(b, b.select(by_zero, b.fdiv(xr, size_r), real), b.select(by_zero, b.fdiv(xi, size_i), imag))


@lowers(operator.neg, 1, NUMBERS)
def neg(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    if t.kind == "complex":
        return pair(b, *(b.fneg(p) for p in parts(b, x)))
    return b.fneg(x) if t.kind == "float" else b.neg(x)


@lowers(operator.pos, 1, NUMBERS)
def pos(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    return x


@lowers(operator.invert, 1, ("bool", *INTEGERS))
def invert(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    return b.not_(x)


def _bitwise(instruction: str) -> Callable[..., Any]:
    return lambda b, t, x, y: getattr(b, instruction)(x, y)


for _key, _instruction in ((operator.and_, "and_"), (operator.or_, "or_"), (operator.xor, "xor")):
    lowers(_key, 2, ("bool", *INTEGERS))(_bitwise(_instruction))


def _comparison(sign: str) -> Callable[..., Any]:
    def emit(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
        if t.kind == "complex":
            either = b.and_ if sign == "==" else b.or_
            return either(*(emit(b, t.part, p, q) for p, q in zip(parts(b, x), parts(b, y))))
        if t.kind == "float":  # only != holds for NaN
            return (b.fcmp_unordered if sign == "!=" else b.fcmp_ordered)(sign, x, y)
        return (b.icmp_signed if t.kind == "int" else b.icmp_unsigned)(sign, x, y)
    return emit


for _key, _sign in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">="),
                    (operator.eq, "=="), (operator.ne, "!=")):
    lowers(_key, 2, ALL if _sign in ("==", "!=") else REAL, result=lambda t: BOOL)(_comparison(_sign))
