"""The table of what a formula may use: Python object (operator.add, arith.fma, ...) -> Operation.

`operators.py` and `primitives.py` fill it. Nothing in them contracts, reassociates or flushes: each operation
rounds once, as the NumPy reading of the same formula does.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .elements import ELEMENTS, Element

BOOL = ELEMENTS["bool"]
INTEGERS = ("int", "uint")
REAL = ("bool", *INTEGERS, "float")
ALL = (*REAL, "complex")
NUMBERS = (*INTEGERS, "float", "complex")


@dataclass(frozen=True)
class Operation:
    """One operator or primitive.

    emit: emit(b, t, *values) builds the result of operands that all have the element type t.
    kinds: the kinds t may have. result: the result's type, given t.
    condition: whether a bool precedes the operands, as in select.
    """

    arity: int
    kinds: tuple[str, ...]
    emit: Callable[..., Any]
    result: Callable[[Element], Element]
    condition: bool


OPERATIONS: dict[Callable[..., Any], Operation] = {}


def lowers(key: Callable[..., Any], arity: int, kinds: tuple[str, ...],
           result: Callable[[Element], Element] = lambda t: t, condition: bool = False) -> Callable[..., Any]:
    """Decorator: this emitter lowers `key`."""
    def register(emit: Callable[..., Any]) -> Callable[..., Any]:
        OPERATIONS[key] = Operation(arity, kinds, emit, result, condition)
        return emit
    return register


def intrinsic(b: ir.IRBuilder, name: str, *operands: Any) -> Any:
    """Call llvm.<name>, overloaded on the operands' common type."""
    t = operands[0].type
    function = b.module.declare_intrinsic(f"llvm.{name}", [t], ir.FunctionType(t, [t] * len(operands)))
    return b.call(function, operands)


def library_function(b: ir.IRBuilder, name: str, result: Any, *operands: Any) -> Any:
    """Call a function of the C mathematical library."""
    function = b.module.globals.get(name)
    if function is None:
        function = ir.Function(b.module, ir.FunctionType(result, [x.type for x in operands]), name)
        for promise in ("readnone", "nounwind"):
            function.attributes.add(promise)
    return b.call(function, operands)


def library_name(name: str, t: Element) -> str:
    """The C library's name of a function for this type: hypot for float64, hypotf for float32."""
    return name if t.bits == 64 else name + "f"
