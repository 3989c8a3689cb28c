"""The CPU's pointwise engine: a scalar formula in, a native kernel over strided memory out.

    launch = launcher(addcdiv, ("bfloat16",) * 3, "bfloat16", ("float32",) * 3, ("float32",), size, strides)
    launch(out_ptr, self_ptr, tensor1_ptr, tensor2_ptr, 0.5)

The way of a formula: frontend (numba), loops around it, entry from Python, native (LLVM), cache.
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import cache, native, threads
from .elements import ELEMENTS
from .geometry import plan_geometry


class FormulaError(TypeError):
    """A formula that cannot be compiled for the types it was asked for."""


@dataclass(frozen=True)
class Request:
    """What a kernel is asked to be; see `kernel`."""

    formula: Callable[..., Any]
    in_types: tuple[str, ...]
    out_type: str
    compute_types: tuple[str, ...]
    scalar_types: tuple[str, ...]

    @property
    def types(self) -> tuple[Any, ...]:
        """All but the formula."""
        return self.in_types, self.out_type, self.compute_types, self.scalar_types

    def __str__(self) -> str:
        operands = [a if a == c else f"{a} as {c}" for a, c in zip(self.in_types, self.compute_types)]
        code = self.formula.__code__
        return (f"formula {self.formula.__name__} ({code.co_filename}:{code.co_firstlineno}) for "
                f"({', '.join([*operands, *self.scalar_types])}) -> {self.out_type}")


class Kernel:
    """A compiled formula. Kernels live as long as the process.

    call: a built-in function, call(geometry, begin, end, out, in..., scalar...), that computes the elements
        [begin, end) of a geometry (see `plan_geometry`). Addresses are ints, scalars numbers; TypeError or
        OverflowError for one that does not convert. Large ranges run on `get_num_threads` threads and without
        the GIL.
    address: of the C function of loops.py, which runs on its caller's thread alone.
    """

    def __init__(self, request: Request, code: bytes):
        self.request = request
        self._library = native.Library(code, ("kernel", "call", "launch"), threads.PARALLEL_SYMBOL)
        self.address = self._library["kernel"]
        self._call, self._launch = (native.PythonFunction(self._library[entry], request.formula.__name__)
                                    for entry in ("call", "launch"))
        self.call = self._call.bind(None)

    def launcher(self, size: Sequence[int], strides: Sequence[Sequence[int]]) -> Callable[..., None]:
        """The kernel for one geometry: launch(out_ptr, in_ptr..., scalar...), a built-in function.

        strides: in elements, the output's first, 0 where an operand is broadcast. An output may be exactly an
        input (same address and strides); the result of any other overlap is unspecified.
        """
        itemsizes = [ELEMENTS[t].itemsize for t in (self.request.out_type, *self.request.in_types)]
        geometry, numel = plan_geometry(size, strides, itemsizes)
        return self._launch.bind(numel.to_bytes(8, sys.byteorder) + geometry.tobytes())

    def asm(self) -> str:
        """The machine code, to read. It is compiled for the purpose: the cache holds no text."""
        return native.assembly(_llvm(self.request))

    def __repr__(self) -> str:
        return f"<kernel of {self.request}>"


_kernels: dict[tuple[Any, ...], Kernel] = {}
_building = threading.Lock()


def kernel(formula: Callable[..., Any], in_types: Sequence[str], out_type: str,
           compute_type: str | Sequence[str], scalar_types: Sequence[str] = ()) -> Kernel:
    """The kernel out = formula(*inputs, *scalars): from this process, the cache on disk, or the compiler.

    formula: straight-line Python over + - * / comparisons & | and the names of reftorch.numerics.arith, and
        functions of that kind. A parameter named R is not an operand but the rounding to `out_type`, kept in
        the compute type.
    in_types, out_type: the element types in memory.
    compute_type: what inputs are converted to; one for all, or one each. Nothing is computed in bfloat16 or
        float16: float32 stands in for them. The result is converted to `out_type` at the store, as casts.py
        says.
    scalar_types: the types of number arguments, converted once per call.
    Raises FormulaError, naming formula and types, for what does not compile.
    """
    compute = (compute_type,) * len(in_types) if isinstance(compute_type, str) else tuple(compute_type)
    key = (formula, tuple(in_types), out_type, compute, tuple(scalar_types))
    found = _kernels.get(key)
    if found is None:
        with _building:
            found = _kernels.get(key) or _build(Request(*key))
            _kernels[key] = found
    return found


def launcher(formula: Callable[..., Any], in_types: Sequence[str], out_type: str,
             compute_type: str | Sequence[str], scalar_types: Sequence[str],
             size: Sequence[int], strides: Sequence[Sequence[int]]) -> Callable[..., None]:
    """launch(out_ptr, in_ptr..., scalar...); see `kernel` and `Kernel.launcher`."""
    return kernel(formula, in_types, out_type, compute_type, scalar_types).launcher(size, strides)


def _build(request: Request) -> Kernel:
    threads.start()
    name = cache.key(cache.meaning(request.formula), *request.types)
    code = cache.load(name)
    if code is None:
        code = native.object_code(_llvm(request))
        cache.save(name, code, str(request))
    try:
        return Kernel(request, code)
    except RuntimeError as error:  # it needs a function that this machine has not
        raise FormulaError(f"cannot load {request}: {error}") from error


def _llvm(request: Request) -> str:
    """The kernel as LLVM assembly."""
    from llvmlite import ir

    from . import frontend
    from .entry import emit_entries
    from .loops import Body, emit_kernel
    try:
        memory, compute, scalars = ([ELEMENTS[name] for name in names] for names in (
            (request.out_type, *request.in_types), request.compute_types, request.scalar_types))
    except KeyError as error:
        raise FormulaError(f"cannot compile {request}: there is no element type {error}") from None
    module = ir.Module(request.formula.__name__)
    module.triple = native.triple()
    try:
        formula = frontend.Formula(request.formula, [*compute, *scalars], memory[0], module)
    except frontend.NumbaError as error:
        raise FormulaError(f"cannot compile {request}: {error}") from error
    body = Body(memory, compute, scalars, formula.call, formula.result)
    emit_entries(module, emit_kernel(module, body), len(memory), scalars)
    return str(module)
