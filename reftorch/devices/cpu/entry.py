"""A kernel's entries from Python: METH_FASTCALL functions in LLVM that unbox their arguments and call it.

    launch(out, in0, ..., scalar0, ...)                      all elements of the geometry it is bound to
    call(geometry, begin, end, out, in0, ..., scalar0, ...)  elements [begin, end) of any geometry

Addresses are ints, scalars are numbers, the result is None. Python's conversion errors (TypeError,
OverflowError) propagate, and a wrong number of arguments is a TypeError.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .blocks import I8, I32, I64, PTR, VOID, item
from .casts import convert, pair
from .elements import ELEMENTS, Element

LARGE = 32768  # elements, from which on helper threads take part and other Python threads may run meanwhile
FLOAT64 = ELEMENTS["float64"]
DOUBLE = FLOAT64.value_type
NULL = PTR(None)


def emit_entries(module: ir.Module, kernel: ir.Function, operands: int, scalars: Sequence[Element]) -> None:
    """Add the functions launch and call to `module`."""
    types = [t.type for t in kernel.args]
    parallel = _emit_parallel(module, kernel)

    b, bound, args = _entry(module, "launch", operands + len(scalars))
    blob = b.call(_function(module, "PyBytes_AsString", PTR, PTR), [bound])  # numel, then the geometry
    values = _unbox_all(b, args, types[3:3 + operands], scalars)
    _run(b, kernel, parallel, [item(b, blob, I64(1)), I64(0), b.load(blob, typ=I64), *values])

    b, _, args = _entry(module, "call", 3 + operands + len(scalars))
    _run(b, kernel, parallel, _unbox_all(b, args, types[:3 + operands], scalars))


def _entry(module: ir.Module, name: str, expected: int) -> tuple[ir.IRBuilder, Any, Any]:
    """Begin a METH_FASTCALL function: a builder, the object it is bound to, and the array of arguments."""
    function = ir.Function(module, ir.FunctionType(PTR, [PTR, PTR, I64]), name)
    function.attributes.add("optsize")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    bound, args, given = function.args
    with b.if_then(b.icmp_signed("!=", given, I64(expected)), likely=False):
        error = b.load(_variable(module, "PyExc_TypeError"), typ=PTR)
        text = bytearray(f"{name}() takes {expected} arguments\0".encode())
        message = ir.GlobalVariable(module, ir.ArrayType(I8, len(text)), f"{name}.message")
        message.linkage, message.initializer = "internal", ir.Constant(message.value_type, text)
        b.call(_function(module, "PyErr_SetString", VOID, PTR, PTR), [error, message])
        b.ret(NULL)
    return b, bound, args


def _unbox_all(b: ir.IRBuilder, args: Any, integers: Sequence[Any], scalars: Sequence[Element]) -> list[Any]:
    """The values of the arguments: integers and addresses first, then scalars."""
    values = []
    for i, t in enumerate([*integers, *scalars]):
        box = b.load(b.gep(args, [I64(i)], source_etype=PTR), typ=PTR)
        if isinstance(t, Element):
            values.append(_scalar(b, box, t))
        else:
            number = _unbox(b, box, "PyLong_AsLongLong", I64)
            values.append(b.inttoptr(number, PTR) if t == PTR else number)
    return values


def _scalar(b: ir.IRBuilder, box: Any, e: Element) -> Any:
    """A Python number as a value of type `e`: converted once, a float to nearest even."""
    if e.kind == "complex":
        z = pair(b, *(_unbox(b, box, f"PyComplex_{part}AsDouble", DOUBLE) for part in ("Real", "Imag")))
        return convert(b, z, ELEMENTS["complex128"], e)
    if e.kind == "float":
        return convert(b, _unbox(b, box, "PyFloat_AsDouble", DOUBLE), FLOAT64, e)
    if e.kind == "bool":
        return b.icmp_signed("!=", _unbox(b, box, "PyObject_IsTrue", I32), I32(0))
    name = "PyLong_AsUnsignedLongLong" if e.name == "uint64" else "PyLong_AsLongLong"
    return convert(b, _unbox(b, box, name, I64), ELEMENTS["int64"], e)


def _unbox(b: ir.IRBuilder, box: Any, function: str, result: Any) -> Any:
    """Call a conversion of the C API. All of them return -1, with an exception set, when they fail."""
    value = b.call(_function(b.module, function, result, PTR), [box])
    compare = b.fcmp_ordered if result == DOUBLE else b.icmp_signed
    with b.if_then(compare("==", value, result(-1)), likely=False):
        pending = b.call(_function(b.module, "PyErr_Occurred", PTR), [])
        with b.if_then(b.icmp_unsigned("!=", pending, NULL), likely=False):
            b.ret(NULL)
    return value


def _run(b: ir.IRBuilder, kernel: ir.Function, parallel: ir.Function, values: Sequence[Any]) -> None:
    """Call the kernel with these values and return None."""
    large = b.icmp_signed(">=", b.sub(values[2], values[1]), I64(LARGE))
    with b.if_else(large, likely=False) as (then, otherwise):
        with then:
            state = b.call(_function(b.module, "PyEval_SaveThread", PTR), [])
            b.call(parallel, values)
            b.call(_function(b.module, "PyEval_RestoreThread", VOID, PTR), [state])
        with otherwise:
            b.call(kernel, values)
    none = _variable(b.module, "_Py_NoneStruct")
    b.call(_function(b.module, "Py_IncRef", VOID, PTR), [none])
    b.ret(none)


def _emit_parallel(module: ir.Module, kernel: ir.Function) -> ir.Function:
    """A function like the kernel that uses the helper threads.

    The variable reftorch_parallel holds the address of `parallel` in pool.py, or null when there are none.
    """
    function = ir.Function(module, kernel.function_type, "in_parallel")
    function.linkage = "internal"
    for wish in ("noinline", "optsize"):
        function.attributes.add(wish)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    geometry, begin, end, *rest = function.args
    context_type = ir.LiteralStructType([v.type for v in (geometry, *rest)])
    parallel_type = ir.FunctionType(VOID, [PTR, PTR, I64, I64]).as_pointer()
    parallel = b.load(_variable(module, "reftorch_parallel"), typ=parallel_type)
    with b.if_then(b.icmp_unsigned("==", parallel, parallel_type(None))):
        b.call(kernel, function.args)
        b.ret_void()
    context = b.alloca(context_type)
    for i, value in enumerate((geometry, *rest)):
        b.store(value, b.gep(context, [I32(0), I32(i)]))
    b.call(parallel, [_emit_task(module, kernel, context_type), context, begin, end])
    b.ret_void()
    return function


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


def _function(module: ir.Module, name: str, result: Any, *arguments: Any) -> ir.Function:
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)


def _variable(module: ir.Module, name: str) -> Any:
    return module.globals.get(name) or ir.GlobalVariable(module, I8, name)
