"""Conversions between element types, as LLVM instructions, and the load and store of one element.

The rules are C's, as c10::convert applies them: a float becomes an integer by truncation, an integer becomes
a float by rounding to nearest even, a complex number loses its imaginary part on the way to a real type,
anything that is not zero is True (NaN too), and the 16-bit floats are reached through float32, so a double is
rounded twice on the way. A float outside the range of the integer type gives an unspecified integer.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .elements import ELEMENTS, Element

FLOAT32 = ELEMENTS["float32"]
I16, I32 = ir.IntType(16), ir.IntType(32)


def pair(b: ir.IRBuilder, real: Any, imag: Any) -> Any:
    """A complex value of two parts."""
    both = ir.Constant(ir.LiteralStructType([real.type, imag.type]), ir.Undefined)
    return b.insert_value(b.insert_value(both, real, 0), imag, 1)


def parts(b: ir.IRBuilder, z: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a complex value."""
    return b.extract_value(z, 0), b.extract_value(z, 1)


def load(b: ir.IRBuilder, e: Element, address: Any, mark: Callable[[Any], Any]) -> Any:
    """The value of the element at `address`. `mark` is applied to each access to memory, to attach metadata.

    Alignment 1 costs nothing on today's processors and makes every address legal.
    """
    if e.kind == "complex":
        addresses = _part_addresses(b, e, address)
        return pair(b, *(mark(b.load(p, typ=e.part.memory_type, align=1)) for p in addresses))
    value = mark(b.load(address, typ=e.memory_type, align=1))
    return b.icmp_unsigned("!=", value, value.type(0)) if e.kind == "bool" else value


def store(b: ir.IRBuilder, e: Element, value: Any, address: Any, mark: Callable[[Any], Any]) -> None:
    """Write `value` as the element at `address`."""
    if e.kind == "complex":
        for part, p in zip(parts(b, value), _part_addresses(b, e, address)):
            mark(b.store(part, p, align=1))
    else:
        mark(b.store(b.zext(value, e.memory_type) if e.kind == "bool" else value, address, align=1))


def convert(b: ir.IRBuilder, value: Any, source: Element, target: Element) -> Any:
    """`value`, of type `source`, as a value of type `target`."""
    if source == target:
        return value
    if source.is_narrow_float:
        return convert(b, _widen(b, value, source), FLOAT32, target)
    if target.is_narrow_float:
        return _narrow(b, convert(b, value, source, FLOAT32), target)
    if source.kind == "complex":
        return _from_complex(b, value, source, target)
    if target.kind == "complex":
        return pair(b, convert(b, value, source, target.part), target.part.value_type(0))
    if source.kind == "float":
        return _from_float(b, value, source, target)
    return _from_integer(b, value, source, target)


def round_to(b: ir.IRBuilder, value: Any, target: Element) -> Any:
    """A float32 `value` rounded to a 16-bit `target` and held as float32; other values stay as they are."""
    return _widen(b, _narrow(b, value, target), target) if target.is_narrow_float else value


def _part_addresses(b: ir.IRBuilder, e: Element, address: Any) -> list[Any]:
    return [b.gep(address, [I32(0), I32(i)], source_etype=e.memory_type, inbounds=True) for i in (0, 1)]


def _from_complex(b: ir.IRBuilder, value: Any, source: Element, target: Element) -> Any:
    real, imag = parts(b, value)
    if target.kind == "complex":
        return pair(b, *(convert(b, x, source.part, target.part) for x in (real, imag)))
    if target.kind == "bool":
        return b.or_(*(convert(b, x, source.part, target) for x in (real, imag)))
    return convert(b, real, source.part, target)


def _from_float(b: ir.IRBuilder, value: Any, source: Element, target: Element) -> Any:
    if target.kind == "bool":
        return b.fcmp_unordered("!=", value, value.type(0))
    if target.kind == "float":
        return (b.fptrunc if target.bits < source.bits else b.fpext)(value, target.value_type)
    if target.name == "uint64":
        return b.fptoui(value, target.value_type)
    # Through a wider signed integer where there is one, so that -1.0 becomes 255 as it does in PyTorch.
    wide = ir.IntType(64 if target.bits == 64 or target.name == "uint32" else 32)
    value = b.fptosi(value, wide)
    return b.trunc(value, target.value_type) if wide.width > target.bits else value


def _from_integer(b: ir.IRBuilder, value: Any, source: Element, target: Element) -> Any:
    """From an integer or a bool."""
    signed = source.kind == "int"
    if target.kind == "bool":
        return b.icmp_unsigned("!=", value, value.type(0))
    if target.kind == "float":
        return (b.sitofp if signed else b.uitofp)(value, target.value_type)
    if source.kind != "bool" and source.bits >= target.bits:
        return b.trunc(value, target.value_type) if source.bits > target.bits else value
    return (b.sext if signed else b.zext)(value, target.value_type)


def _widen(b: ir.IRBuilder, value: Any, source: Element) -> Any:
    """float32 from bfloat16 (its code is the upper half of the float32's) or float16."""
    if source.name == "float16":
        return b.fpext(value, FLOAT32.value_type)
    return b.bitcast(b.shl(b.zext(value, I32), I32(16)), FLOAT32.value_type)


def _narrow(b: ir.IRBuilder, value: Any, target: Element) -> Any:
    """bfloat16 or float16 from float32, to nearest even.

    bfloat16 is rounded by integer addition, as c10's round_to_nearest_even does, and NaN becomes 0x7fc0.
    LLVM's own truncation to bfloat is not used: the instruction that it selects flushes subnormals to zero.
    """
    if target.name == "float16":
        return b.fptrunc(value, target.value_type)
    bits = b.bitcast(value, I32)
    odd = b.and_(b.lshr(bits, I32(16)), I32(1))
    rounded = b.lshr(b.add(bits, b.add(odd, I32(0x7FFF))), I32(16))
    is_nan = b.fcmp_unordered("uno", value, value)
    return b.trunc(b.select(is_nan, I32(0x7FC0), rounded), I16)
