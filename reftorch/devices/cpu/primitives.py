"""The names of reftorch.numerics.arith: what they mean is said there, this is how LLVM does it."""
from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from reftorch.numerics.arith import PRIMITIVES

from .casts import convert, pair, parts
from .elements import ELEMENTS, Element
from .operation import ALL, BOOL, INTEGERS, NUMBERS, intrinsic, library_function, library_name, lowers
from .operators import add, mul

FALSE = ir.IntType(1)(0)


@lowers(PRIMITIVES["fma"], 3, NUMBERS)
def fma(b: ir.IRBuilder, t: Element, x: Any, y: Any, z: Any) -> Any:
    """Always fused for floats: one instruction where the processor has it, else the C library's fma."""
    return intrinsic(b, "fma", x, y, z) if t.kind == "float" else add(b, t, mul(b, t, x, y), z)


@lowers(PRIMITIVES["select"], 3, ALL, condition=True)
def select(b: ir.IRBuilder, t: Element, condition: Any, x: Any, y: Any) -> Any:
    if t.kind == "complex":
        return pair(b, *(b.select(condition, p, q) for p, q in zip(parts(b, x), parts(b, y))))
    return b.select(condition, x, y)


# --- signs ---

@lowers(abs, 1, ALL, result=lambda t: t.part if t.kind == "complex" else t)
@lowers(PRIMITIVES["absolute"], 1, ALL, result=lambda t: t.part if t.kind == "complex" else t)
def absolute(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    if t.kind == "complex":
        real, imag = parts(b, x)
        return library_function(b, library_name("hypot", t.part), real.type, real, imag)
    if t.kind == "float":
        return intrinsic(b, "fabs", x)
    return b.select(b.icmp_signed("<", x, x.type(0)), b.neg(x), x) if t.kind == "int" else x


@lowers(PRIMITIVES["copysign"], 2, ("float",))
def copysign(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    return intrinsic(b, "copysign", x, y)


@lowers(PRIMITIVES["signbit"], 1, (*INTEGERS, "float"), result=lambda t: BOOL)
def signbit(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    if t.kind == "uint":
        return FALSE
    bits = b.bitcast(x, ir.IntType(t.bits))
    return b.icmp_signed("<", bits, bits.type(0))


@lowers(PRIMITIVES["isnan"], 1, ALL, result=lambda t: BOOL)
def isnan(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    if t.kind == "complex":
        return b.or_(*(isnan(b, t.part, p) for p in parts(b, x)))
    return b.fcmp_unordered("uno", x, x) if t.kind == "float" else FALSE


# --- roots ---

@lowers(PRIMITIVES["sqrt"], 1, ("float", "complex"))
def sqrt(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    return intrinsic(b, "sqrt", x) if t.kind == "float" else _complex_sqrt(b, t, x)


def _complex_sqrt(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    """The C library's csqrt. Each processor family passes a complex number in its own way."""
    name, part, machine = library_name("csqrt", t.part), t.part.value_type, platform.machine().lower()
    if machine in ("aarch64", "arm64"):
        both = ir.Constant(ir.ArrayType(part, 2), ir.Undefined)
        for i, p in enumerate(parts(b, x)):
            both = b.insert_value(both, p, i)
        return library_function(b, name, t.value_type, both)
    if machine not in ("x86_64", "amd64"):
        raise NotImplementedError(f"the square root of a complex number on {machine}")
    if t.bits == 128:
        return library_function(b, name, t.value_type, *parts(b, x))
    lanes, lane = ir.Constant(ir.VectorType(part, 2), ir.Undefined), ir.IntType(32)
    for i, p in enumerate(parts(b, x)):
        lanes = b.insert_element(lanes, p, lane(i))
    root = library_function(b, name, lanes.type, lanes)
    return pair(b, b.extract_element(root, lane(0)), b.extract_element(root, lane(1)))


# --- integral values ---

@lowers(PRIMITIVES["floor"], 1, (*INTEGERS, "float"))
def floor(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    return intrinsic(b, "floor", x) if t.kind == "float" else x


@lowers(PRIMITIVES["trunc"], 1, (*INTEGERS, "float"))
def trunc(b: ir.IRBuilder, t: Element, x: Any) -> Any:
    return intrinsic(b, "trunc", x) if t.kind == "float" else x


@lowers(PRIMITIVES["fmod"], 2, (*INTEGERS, "float"))
def fmod(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    """For integers the remainder by 1, which is 0, stands in for the remainders by 0 and -1."""
    if t.kind == "float":
        return library_function(b, library_name("fmod", t), x.type, x, y)
    return (b.srem if t.kind == "int" else b.urem)(x, _safe_divisor(b, t, y))


@lowers(PRIMITIVES["truncdiv"], 2, INTEGERS)
def truncdiv(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    divide = b.sdiv if t.kind == "int" else b.udiv
    quotient = divide(x, _safe_divisor(b, t, y))
    if t.kind == "int":
        quotient = b.select(b.icmp_signed("==", y, y.type(-1)), b.neg(x), quotient)
    return b.select(b.icmp_unsigned("==", y, y.type(0)), y.type(0), quotient)


@lowers(PRIMITIVES["floordiv"], 2, INTEGERS)
def floordiv(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
    quotient = truncdiv(b, t, x, y)
    if t.kind == "uint":
        return quotient
    zero = y.type(0)
    inexact = b.icmp_signed("!=", fmod(b, t, x, y), zero)  # never for a divisor of zero
    negative = b.icmp_signed("<", b.xor(x, y), zero)
    return b.sub(quotient, b.zext(b.and_(inexact, negative), y.type))


def _safe_divisor(b: ir.IRBuilder, t: Element, y: Any) -> Any:
    """1 in place of the divisors that stop the processor: 0, and -1 (the most negative integer overflows)."""
    one = y.type(1)
    y = b.select(b.icmp_unsigned("==", y, y.type(0)), one, y)
    return b.select(b.icmp_signed("==", y, y.type(-1)), one, y) if t.kind == "int" else y


# --- neighbours ---

def _nextafter(grid: Element | None) -> Callable[..., Any]:
    """Codes are sign and magnitude: one more is one further from zero."""
    def emit(b: ir.IRBuilder, t: Element, x: Any, y: Any) -> Any:
        on = grid or t
        integer = ir.IntType(on.bits)
        zero, one, top = x.type(0), integer(1), integer(1 << (on.bits - 1))
        code, toward = (b.bitcast(convert(b, v, t, on), integer) for v in (x, y))
        outward = b.icmp_unsigned("==", b.fcmp_ordered(">", y, x), b.fcmp_ordered(">", x, zero))
        step = b.add(code, b.select(outward, one, integer(-1)))
        smallest = b.or_(b.and_(toward, top), one)
        code = b.select(b.fcmp_ordered("==", x, zero), smallest, step)
        neighbour = convert(b, b.bitcast(code, on.value_type), on, t)
        result = b.select(b.fcmp_ordered("==", x, y), y, neighbour)
        return b.select(b.fcmp_unordered("uno", x, y), b.fadd(x, y), result)
    return emit


lowers(PRIMITIVES["nextafter"], 2, ("float",))(_nextafter(None))
for _grid in ("float16", "bfloat16"):  # values of the grid, held as float32
    lowers(PRIMITIVES[f"nextafter_{_grid}"], 2, ("float",))(_nextafter(ELEMENTS[_grid]))
