"""The CPU's pointwise engine: a scalar formula in, a native kernel over strided memory out.

    k = kernel(addcdiv, ("bfloat16",) * 3, "bfloat16", "float32", ("float32",))
    launch = k.launcher(size, strides)
    launch(out_ptr, self_ptr, tensor1_ptr, tensor2_ptr, 0.5)

The way of a formula:  frontend (numba) -> loops around it -> entry from Python -> native (LLVM) -> cache, Python.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import cache, native, threads
from .elements import ELEMENTS, Element
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

    def __str__(self) -> str:
        operands = [a if a == c else f"{a} as {c}" for a, c in zip(self.in_types, self.compute_types)]
        code = self.formula.__code__
        return (f"formula {self.formula.__name__} ({code.co_filename}:{code.co_firstlineno}) for "
                f"({', '.join([*operands, *self.scalar_types])}) -> {self.out_type}")


class Kernel:
    """A compiled formula.

    call: call(geometry, begin, end, out, in..., scalar...), a built-in function; addresses are ints, scalars numbers.
    It computes elements [begin, end) of the geometry (see `plan_geometry`), large ranges on `get_num_threads` threads
    and with the GIL released. TypeError or OverflowError for a scalar that does not convert.
    address: of the C function void kernel(int64* geometry, int64 begin, int64 end, void* out, void* in..., scalars...).
    """

    def __init__(self, request: Request, code: bytes):
        self.request = request
        self._library = native.Library(code, ("kernel", "call"), threads.PARALLEL_SYMBOL)
        self.address = self._library["kernel"]
        self.call, self._keep = native.python_function(self._library["call"], request.formula.__name__)

    def launcher(self, size: Sequence[int], strides: Sequence[Sequence[int]]) -> Callable[..., None]:
        """The kernel for one geometry: launch(out_ptr, in_ptr..., scalar...).

        strides: in elements, the output's first. An output may be exactly an input (same address and strides); other
        overlap gives unspecified results.
        """
        types = (self.request.out_type, *self.request.in_types)
        geometry, numel = plan_geometry(size, strides, [ELEMENTS[t].itemsize for t in types])
        launch = functools.partial(self.call, geometry.ctypes.data, 0, numel)
        launch.geometry, launch.kernel = geometry, self  # type: ignore[attr-defined]  # keeps both alive
        return launch

    def asm(self) -> str:
        """The machine code, to read. (Compiled for the purpose: the cache holds no text.)"""
        return native.assembly(_llvm(self.request))

    def __repr__(self) -> str:
        return f"<kernel of {self.request}>"


_kernels: dict[tuple[Any, ...], Kernel] = {}


def kernel(formula: Callable[..., Any], in_types: Sequence[str], out_type: str, compute_type: str | Sequence[str],
           scalar_types: Sequence[str] = ()) -> Kernel:
    """The kernel out = formula(*inputs, *scalars), from this process, the cache on disk, or the compiler.

    formula: straight-line Python over + - * / comparisons & | and the names of reftorch.numerics.arith. A parameter
        named R is not an operand but the rounding to `out_type`, kept in the compute type.
    in_types, out_type: the element types in memory.
    compute_type: what inputs are converted to; one for all, or one each. Never bfloat16 or float16, which are computed
        in float32. The result is converted to `out_type` at the store, by the rules of casts.py.
    scalar_types: the types of number arguments, converted once per call.
    Raises FormulaError, naming formula and types, for what does not compile.
    """
    compute = (compute_type,) * len(in_types) if isinstance(compute_type, str) else tuple(compute_type)
    key = (formula, tuple(in_types), out_type, compute, tuple(scalar_types))
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = _build(Request(*key))
    return found


def _build(request: Request) -> Kernel:
    threads.start()
    name = cache.key(cache.meaning(request.formula), *_types(request))
    code = cache.load(name)
    if code is not None:
        try:
            return Kernel(request, code)
        except RuntimeError:  # not object code after all
            pass
    code = native.object_code(_llvm(request))
    cache.save(name, code, str(request))
    return Kernel(request, code)


def _types(request: Request) -> tuple[Any, ...]:
    return request.in_types, request.out_type, request.compute_types, request.scalar_types


def _llvm(request: Request) -> str:
    """The kernel as LLVM assembly."""
    from llvmlite import ir

    from . import frontend
    from .entry import emit_entry
    from .loops import Body, emit_kernel

    def elements(names: Sequence[str]) -> list[Element]:
        return [ELEMENTS[name] for name in names]

    memory = elements([request.out_type, *request.in_types])
    compute, scalars = elements(request.compute_types), elements(request.scalar_types)
    module = ir.Module(request.formula.__name__)
    module.triple = native.triple()
    try:
        formula = frontend.Formula(request.formula, [*compute, *scalars], memory[0], module)
    except frontend.NumbaError as error:
        raise FormulaError(f"cannot compile {request}: {error}") from error
    body = Body(memory, compute, scalars, formula.call, formula.result)
    emit_entry(module, emit_kernel(module, body), len(memory), scalars)
    return str(module)
