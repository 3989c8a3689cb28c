"""Element types as the CPU engine sees them: how one lies in memory and what LLVM type holds its value."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Element:
    """One element type.

    name: PyTorch's name. kind: 'bool', 'int' (signed), 'uint', 'float' or 'complex'. bits: width in memory.
    """

    name: str
    kind: str
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory."""
        return self.bits // 8

    @property
    def is_narrow_float(self) -> bool:
        """True for bfloat16 and float16, which only lie in memory: nothing is computed in them."""
        return self.kind == "float" and self.bits == 16

    @property
    def part(self) -> Element:
        """The real type of a complex type's two parts."""
        return ELEMENTS[f"float{self.bits // 2}"]

    @property
    def value_type(self) -> Any:
        """The LLVM type of a value: bool is one bit, bfloat16 its code, complex a pair."""
        from llvmlite import ir
        if self.kind == "complex":
            return ir.LiteralStructType([self.part.value_type] * 2)
        if self.name in _LLVM_FLOATS:
            return getattr(ir, _LLVM_FLOATS[self.name])()
        return ir.IntType(1 if self.kind == "bool" else self.bits)

    @property
    def memory_type(self) -> Any:
        """The LLVM type of an element in memory: as the value, but bool is a byte."""
        from llvmlite import ir
        return ir.IntType(8) if self.kind == "bool" else self.value_type


_LLVM_FLOATS = {"float16": "HalfType", "float32": "FloatType", "float64": "DoubleType"}

ELEMENTS = {e.name: e for e in (
    Element("bool", "bool", 8),
    *(Element(f"int{bits}", "int", bits) for bits in (8, 16, 32, 64)),
    *(Element(f"uint{bits}", "uint", bits) for bits in (8, 16, 32, 64)),
    *(Element(f"float{bits}", "float", bits) for bits in (16, 32, 64)),
    Element("bfloat16", "float", 16),
    *(Element(f"complex{bits}", "complex", bits) for bits in (64, 128)),
)}
