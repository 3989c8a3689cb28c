"""Plans: how one kind of call runs, as a generated Python function that does no more than it must.

A kind of call is fixed by the Metas of its tensors and the types of its numbers. Which operands need converting, which
kernel runs and what the result is follow from that once; what is left for each call is a few lines without a loop:

    def run(self, other, alpha):
        self = _take_self(self)
        _storage = _Storage(_device, _nbytes)
        _kernel(_storage.ptr, self._storage.ptr + self._offset, other._storage.ptr + ..., _number_alpha(alpha))
        return _Tensor(_storage, _meta)
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core import dtype as dtypes
from ..core.device import device
from ..core.dtype import FLOATING, INTEGRAL, dtype
from ..core.meta import Meta
from ..core.storage import Storage
from ..core.tensor import Tensor
from .cast import converted, number_in, scalar_tensor

_RUN = """
def function({parameters}):
    {before}_storage = _Storage(_device, _nbytes)
    {kernel}(_storage.ptr, {values})
    return _Tensor(_storage, _meta)
"""

_INTO = """
def function(_target, {parameters}):
    {before}{kernel}(_target._storage.ptr + _target._offset, {values})
"""

_LAUNCH = """
def function(_ptr, _args):
    {parameters}, = _args
    {before}{kernel}(_ptr, {values})
"""


class Recipe:
    """The parts of a plan: conversions of the arguments and the kernel call.

    parameters: the operator's, in order. kernel: None for a result without elements, whose numbers are checked anyway.
    """

    def __init__(self, parameters: Sequence[str]):
        self.parameters = list(parameters)
        self.kernel: Callable[..., None] | None = None
        self._before: list[str] = []
        self._pointers: list[str] = []
        self._numbers: list[tuple[str, Callable[[Any], Any]]] = []
        self._space: dict[str, Any] = {"_Storage": Storage, "_Tensor": Tensor}

    def guard(self, refuse: Callable[..., None]) -> None:
        """Call `refuse` with the arguments before anything else."""
        name = f"_guard{len(self._before)}"
        self._space[name] = refuse
        self._before.insert(0, f"{name}({', '.join(self.parameters)})")

    def tensor(self, name: str, take: Callable[[Any], Tensor] | None = None) -> None:
        """The next tensor that the kernel reads: an argument, after `take`."""
        if take is not None:
            self._space[f"_take_{name}"] = take
            self._before.append(f"{name} = _take_{name}({name})")
        self._pointers.append(f"{name}._storage.ptr + {name}._offset")

    def number(self, name: str, convert: Callable[[Any], Any]) -> None:
        """The next number that the kernel takes: an argument, after `convert`. Numbers come after all tensors."""
        self._numbers.append((name, convert))

    def run(self, meta: Meta, fixed: dict[str, Any] | None = None) -> Callable[..., Tensor]:
        """run(*args) makes a fresh result. With `fixed`, those arguments have these values and are left out."""
        space = {"_device": meta.device, "_nbytes": meta.nbytes, "_meta": meta}
        return self._function(_RUN, space, fixed or {})

    def into(self) -> Callable[..., None]:
        """into(target, *args) writes over a tensor."""
        return self._function(_INTO, {}, {})

    def launch(self) -> Callable[[int, tuple[Any, ...]], None]:
        """launch(ptr, args) writes to an address."""
        return self._function(_LAUNCH, {}, {})

    def _function(self, template: str, space: dict[str, Any], fixed: dict[str, Any]) -> Callable[..., Any]:
        space |= self._space
        values = list(self._pointers)
        for name, convert in self._numbers:
            space[f"_number_{name}"] = convert(fixed[name]) if name in fixed else convert
            values.append(f"_number_{name}" if name in fixed else f"_number_{name}({name})")
        space["_kernel"] = self.kernel or _nothing
        source = template.format(
            parameters=", ".join(p for p in self.parameters if p not in fixed), values=", ".join(values),
            before="".join(line + "\n    " for line in self._before), kernel="_kernel")
        exec(_compiled(source), space)
        return space["function"]  # type: ignore[no-any-return]


@functools.lru_cache(1024)
def _compiled(source: str) -> Any:
    return compile(source, "<plan>", "exec")


def _nothing(*_: Any) -> None:
    """The kernel of a result without elements."""


def tensor_converter(to: dtype, on: device) -> Callable[[Tensor], Tensor]:
    return lambda t: converted(t, to, on)


def number_as_tensor(to: dtype, on: device, convert: Callable[[Any], Any]) -> Callable[[Any], Tensor]:
    """A number, after `convert`, as a 0-dim tensor to read from."""
    return _remembered(lambda number: scalar_tensor(convert(number), to, on))


def operand_converter(to: dtype) -> Callable[[Any], Any]:
    """number_in for this dtype, quick for what needs no work."""
    if to is dtypes.float32 or to is dtypes.float64:
        return lambda n: n if n.__class__ is float and -3e38 < n < 3e38 else number_in(n, to)
    if to.category == INTEGRAL:
        return lambda n: n if n.__class__ is int and 0 <= n <= 127 else number_in(n, to)
    if to.category == FLOATING:
        return _remembered(lambda n: number_in(n, to))
    return lambda n: number_in(n, to)


def _remembered(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` with recent results kept, except those of zeros and NaN, which equality confuses."""
    kept = functools.lru_cache(64, typed=True)(function)
    return lambda n: kept(n) if n and n == n else function(n)
