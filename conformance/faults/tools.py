"""What faults are made of: patches of reftorch that last as long as their context."""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from reftorch.core.device import as_device
from reftorch.core.dtype import DTYPES
from reftorch.core.layout import Layout
from reftorch.dispatch.operator import Formula, On

from ..reference import ReferenceBackend
from . import operator

Launch = Callable[..., None]  # launch(out_ptr, operand_ptr..., number...)
Edit = Callable[..., None]
_ABSENT = object()


@contextlib.contextmanager
def setting(owner: Any, **attributes: Any) -> Iterator[None]:
    """Attributes of a module, class or object, for a while."""
    before = {name: vars(owner).get(name, _ABSENT) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


# ---- values ----
@contextlib.contextmanager
def computing(op: str, formula: Callable[..., Any], compiled: bool = True, when: dict[str, Any] | None = None,
              device: str = "cpu", dtypes: tuple[str, ...] | None = None) -> Iterator[None]:
    """Calls that give the formula's parameters, in these dtypes and with the options `when`, compute it.

    compiled: False for what is not straight-line code; NumPy evaluates it then.
    """
    wrong = Formula(formula, (On(device),), None, dtypes, when or {})
    backend = as_device(device).backend
    with contextlib.ExitStack() as stack:
        stack.enter_context(setting(operator(op), formulas=[wrong, *operator(op).formulas]))
        if not compiled:
            right, numpy = backend.pointwise, ReferenceBackend(device)
            stack.enter_context(setting(backend, pointwise=lambda function, *kernel: (
                numpy.pointwise if function is formula else right)(function, *kernel)))
        yield


@contextlib.contextmanager
def deriving(op: str, **wrong: Callable[..., Any]) -> Iterator[None]:
    """These derivatives in place of the operator's own; see Operator.derivatives."""
    owner = operator(op)
    rule = vars(owner).pop("rule", None)  # autograd makes it of the derivatives, at the first call that it records
    try:
        with setting(owner, derivative_of={**owner.derivative_of, **wrong}):
            yield
    finally:
        vars(owner).pop("rule", None)
        if rule is not None:
            owner.rule = rule  # type: ignore[attr-defined]


# ---- kernels ----
@dataclass(frozen=True)
class Kernel:
    """What the backend is asked for; see reftorch.devices.protocol.DeviceBackend.pointwise."""

    formula: Callable[..., Any]
    in_types: tuple[str, ...]
    out_type: str
    compute_types: tuple[str, ...]
    scalar_types: tuple[str, ...]
    size: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    def arrays(self, *pointers: int) -> list[np.ndarray]:
        """The elements of the result and the operands, in place: carrier bits, with the operands' own strides."""
        return [memory(p, t, self.size, s) for p, t, s in zip(pointers, (self.out_type, *self.in_types), self.strides)]


@contextlib.contextmanager
def launching(op: str, change: Callable[[Kernel, Callable[[Kernel], Launch]], Launch]) -> Iterator[None]:
    """On the CPU, what change(kernel, start) gives is launched for the operator's kernels; start(kernel) is right."""
    backend = as_device("cpu").backend
    right, own = backend.pointwise, {f.function for f in operator(op).formulas}

    def pointwise(formula: Callable[..., Any], *rest: Any) -> Launch:
        if formula not in own:  # conversions and copies
            return right(formula, *rest)
        return change(Kernel(formula, *rest), lambda kernel: right(*vars(kernel).values()))
    with setting(backend, pointwise=pointwise):
        yield


def editing(op: str, edit: Edit) -> contextlib.AbstractContextManager[None]:
    """edit(result, *operands) changes the elements of each result that the operator's kernels have computed."""
    def change(kernel: Kernel, start: Callable[[Kernel], Launch]) -> Launch:
        run = start(kernel)

        def launch(*values: Any) -> None:
            run(*values)
            edit(*kernel.arrays(*values))
        return launch
    return launching(op, change)


def memory(ptr: int, dtype: str, size: tuple[int, ...], stride: tuple[int, ...]) -> np.ndarray:
    """The elements at an address of the host, to read and write."""
    carrier = DTYPES[dtype].np
    layout = Layout.of(size, stride)
    if not layout.numel:
        return np.empty(size, carrier)
    raw = (ctypes.c_char * (layout.extent * carrier.itemsize)).from_address(ptr)
    return np.ndarray(size, carrier, memoryview(raw), 0, tuple(s * carrier.itemsize for s in stride))


def run_of(array: np.ndarray) -> np.ndarray:
    """A contiguous array as one run of elements; of any other, none."""
    return array.reshape(-1) if array.flags.c_contiguous else array.reshape(-1)[:0].copy()


def nudge(array: np.ndarray) -> None:
    """Move every element to its neighbour: finite floats by one unit in the last place, away from zero."""
    if array.dtype.kind == "c":
        nudge(array.real)
    elif array.dtype.kind == "f":
        codes = array.view(f"u{array.itemsize}")
        codes[...] += np.isfinite(array)
    elif array.dtype.kind == "b":
        array[...] = ~array
    else:
        array += array.dtype.type(1)
