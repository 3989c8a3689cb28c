"""The Python entry of a kernel: a CPython METH_FASTCALL function, in LLVM, that unboxes numbers and calls it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .blocks import I32, I64, PTR, VOID
from .casts import convert, pair
from .elements import ELEMENTS, Element

LARGE = 32768  # elements from which on the helper threads take part and other Python threads may run meanwhile
INT64, FLOAT64 = ELEMENTS["int64"], ELEMENTS["float64"]


def emit_entry(module: ir.Module, kernel: ir.Function, operands: int, scalars: Sequence[Element]) -> None:
    """Add `call(geometry, begin, end, out, in..., scalar...)`: addresses and numbers as Python objects, result None.

    Python's conversion errors (TypeError, OverflowError) propagate; a wrong number of arguments is a TypeError.
    """
    call = ir.Function(module, ir.FunctionType(PTR, [PTR, PTR, I64]), "call")
    b = ir.IRBuilder(call.append_basic_block("entry"))
    _, args, given = call.args
    integers = 3 + operands
    with b.if_then(b.icmp_signed("!=", given, I64(integers + len(scalars))), likely=False):
        error = b.load(_global(module, "PyExc_TypeError"), typ=PTR)
        text = _text(module, f"a kernel of {operands} operands and {len(scalars)} scalars takes "
                             f"{integers + len(scalars)} arguments\0")
        b.call(_function(module, "PyErr_SetString", VOID, PTR, PTR), [error, text])
        b.ret(PTR(None))
    values = []
    for i in range(integers + len(scalars)):
        box = b.load(b.gep(args, [I64(i)], source_etype=PTR), typ=PTR)
        if i < integers:
            number = _unbox(b, box, "PyLong_AsLongLong", I64)
            values.append(b.inttoptr(number, PTR) if kernel.args[i].type == PTR else number)
        else:
            values.append(_scalar(b, box, scalars[i - integers]))
    large = b.icmp_signed(">=", b.sub(values[2], values[1]), I64(LARGE))
    with b.if_else(large, likely=False) as (then, otherwise):
        with then:
            state = b.call(_function(module, "PyEval_SaveThread", PTR), [])
            _run_parallel(b, kernel, values)
            b.call(_function(module, "PyEval_RestoreThread", VOID, PTR), [state])
        with otherwise:
            b.call(kernel, values)
    none = _global(module, "_Py_NoneStruct")
    b.call(_function(module, "Py_IncRef", VOID, PTR), [none])
    b.ret(none)


def _run_parallel(b: ir.IRBuilder, kernel: ir.Function, values: Sequence[Any]) -> None:
    """Call the kernel through `parallel` of pool.py, whose address is in the variable reftorch_parallel if it runs."""
    geometry, begin, end, *rest = values
    context_type = ir.LiteralStructType([v.type for v in (geometry, *rest)])
    with b.goto_entry_block():
        context = b.alloca(context_type)
    for i, value in enumerate((geometry, *rest)):
        b.store(value, b.gep(context, [I32(0), I32(i)], source_etype=context_type))
    parallel_type = ir.FunctionType(VOID, [PTR, PTR, I64, I64])
    parallel = b.load(_global(b.module, "reftorch_parallel"), typ=parallel_type.as_pointer())
    with b.if_else(b.icmp_unsigned("!=", parallel, parallel.type(None))) as (then, otherwise):
        with then:
            b.call(parallel, [_emit_task(b.module, kernel, context_type), context, begin, end])
        with otherwise:
            b.call(kernel, values)


def _emit_task(module: ir.Module, kernel: ir.Function, context_type: Any) -> ir.Function:
    """task(context, begin, end): the kernel, with its other arguments read from memory."""
    task = ir.Function(module, ir.FunctionType(VOID, [PTR, I64, I64]), "task")
    task.linkage = "internal"
    b = ir.IRBuilder(task.append_basic_block("entry"))
    context, begin, end = task.args
    geometry, *rest = (b.load(b.gep(context, [I32(0), I32(i)], source_etype=context_type), typ=t)
                       for i, t in enumerate(context_type.elements))
    b.call(kernel, [geometry, begin, end, *rest])
    b.ret_void()
    return task


def _scalar(b: ir.IRBuilder, box: Any, e: Element) -> Any:
    """A Python number as a value of type `e`: converted once, to nearest even."""
    if e.kind == "complex":
        real, imag = (_unbox(b, box, f"PyComplex_{part}AsDouble", FLOAT64.value_type) for part in ("Real", "Imag"))
        return convert(b, pair(b, real, imag), ELEMENTS["complex128"], e)
    if e.kind == "float":
        return convert(b, _unbox(b, box, "PyFloat_AsDouble", FLOAT64.value_type), FLOAT64, e)
    if e.kind == "bool":
        return b.icmp_signed("!=", _unbox(b, box, "PyObject_IsTrue", I32), I32(0))
    name = "PyLong_AsUnsignedLongLong" if e.name == "uint64" else "PyLong_AsLongLong"
    return convert(b, _unbox(b, box, name, I64), INT64, e)


def _unbox(b: ir.IRBuilder, box: Any, function: str, result: Any) -> Any:
    """Call a conversion of the C API; all of them return -1, with an exception set, when they fail."""
    value = b.call(_function(b.module, function, result, PTR), [box])
    minus_one = result(-1)
    failed = b.fcmp_ordered("==", value, minus_one) if result == FLOAT64.value_type else b.icmp_signed(
        "==", value, minus_one)
    with b.if_then(failed, likely=False):
        pending = b.call(_function(b.module, "PyErr_Occurred", PTR), [])
        with b.if_then(b.icmp_unsigned("!=", pending, PTR(None)), likely=False):
            b.ret(PTR(None))
    return value


def _function(module: ir.Module, name: str, result: Any, *arguments: Any) -> ir.Function:
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)


def _global(module: ir.Module, name: str) -> Any:
    return module.globals.get(name) or ir.GlobalVariable(module, ir.IntType(8), name)


def _text(module: ir.Module, text: str) -> Any:
    data = bytearray(text.encode())
    constant = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), len(data)), "text")
    constant.linkage, constant.global_constant, constant.initializer = "internal", True, ir.Constant(
        constant.value_type, data)
    return constant
