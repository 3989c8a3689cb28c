"""The specification as a device: reftorch's own calls, with the formulas read by NumPy and nothing compiled.

What a call should show (dtype, sizes, strides, errors, versions, gradients) is what reftorch does with it on this
device; what its value should be is what a formula gives in the reading of reftorch.numerics.arith. So every fact has
one place, the operator's file, and the kit has none of its own.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reftorch.core import device as devices
from reftorch.core.device import device
from reftorch.core.dtype import BOOL, COMPLEX, DTYPES, INTEGRAL, dtype
from reftorch.core.layout import Layout
from reftorch.core.meta import Meta
from reftorch.core.storage import Storage
from reftorch.core.tensor import Tensor
from reftorch.devices import host_memory
from reftorch.devices.allocator import CachingAllocator
from reftorch.dispatch.operator import REQUIRED, Formula
from reftorch.dispatch.pointwise import Pointwise
from reftorch.numerics.codes import bfloat16_to_float32, float32_to_bfloat16

from .case import Case, Outcome
from .clause import Place
from .execute import execute

NARROW = ("float16", "bfloat16")


# ---- values: a NumPy array in the dtype that arithmetic is done in (float32 for the 16-bit floats) ----
def widen(bits: Any, name: str) -> Any:
    """The values of elements held as carrier bits."""
    if name == "bfloat16":
        return bfloat16_to_float32(bits)
    return bits.astype(np.float32) if name == "float16" else bits


def narrow(values: Any, name: str) -> Any:
    """Carrier bits of values: rounded once if the dtype is a 16-bit float. The values already have its compute type."""
    if name == "bfloat16":
        return float32_to_bfloat16(values)
    return np.asarray(values).astype(np.float16) if name == "float16" else values


def cast(values: Any, name: str) -> Any:
    """Values of any dtype as values of dtype `name`, as C converts them; see Tensor.to."""
    values, to = np.asarray(values), DTYPES[name]
    if to.category == BOOL:
        return values != 0
    if to.category != COMPLEX and values.dtype.kind == "c":
        values = values.real
    if name in NARROW:
        return widen(narrow(values.astype(np.float32), name), name)
    if to.category == INTEGRAL and values.dtype.kind == "f":
        if name == "uint64":
            return values.astype(np.uint64)
        wide = np.int64 if to.itemsize == 8 or name == "uint32" else np.int32
        return values.astype(wide).astype(to.np)
    return values.astype(to.np)


class ReferenceBackend:
    """A backend (reftorch.devices.protocol) that evaluates formulas with NumPy.

    launches: how many formulas it has evaluated, which is how often results were rounded at least.
    """

    indexed, host_access = False, True

    def __init__(self, device_type: str):
        self.type = device_type
        self.launches = 0
        self._allocator = CachingAllocator()

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def allocator(self, device: device) -> CachingAllocator:
        return self._allocator

    copy_from_host = staticmethod(host_memory.write)
    copy_to_host = staticmethod(host_memory.read)
    copy_within = staticmethod(host_memory.move)

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def pointwise(self, formula: Callable[..., Any], in_types: Sequence[str], out_type: str,
                  compute_types: Sequence[str], scalar_types: Sequence[str], size: Sequence[int],
                  strides: Sequence[Sequence[int]]) -> Callable[..., None]:
        types, count = [DTYPES[n].np for n in (out_type, *in_types)], len(in_types)
        steps = [tuple(s * t.itemsize for s in stride) for stride, t in zip(strides, types)]
        number_types = [DTYPES[n].np for n in scalar_types]
        size = tuple(size)

        def launch(out: int, *rest: Any) -> None:
            self.launches += 1
            operands = [cast(widen(_at(p, t, size, s), n), c)
                        for p, t, s, n, c in zip(rest, types[1:], steps[1:], in_types, compute_types)]
            with np.errstate(all="ignore"):
                numbers = [t.type(v) for t, v in zip(number_types, rest[count:])]
                values = np.asarray(evaluate(formula, out_type, *operands, *numbers))
                _at(out, types[0], size, steps[0])[...] = narrow(cast(values, out_type), out_type)

        return launch


def evaluate(formula: Callable[..., Any], out_type: str, *operands: Any) -> Any:
    """The formula's value; its parameter R, if it has one, rounds to the dtype of the result."""
    names = inspect.signature(formula).parameters
    if "R" not in names:
        return formula(*operands)

    def rounding(x: Any) -> Any:
        return widen(narrow(x, out_type), out_type)
    given = iter(operands)
    return formula(*(rounding if n == "R" else next(given) for n in names))


class _Memory:
    """What NumPy needs to look at memory by address."""

    __slots__ = ("__array_interface__",)

    def __init__(self, ptr: int, kind: np.dtype, size: tuple[int, ...], steps: tuple[int, ...]):
        self.__array_interface__ = {"version": 3, "typestr": kind.str, "shape": size, "strides": steps,
                                    "data": (ptr, False)}


def _at(ptr: int, kind: np.dtype, size: tuple[int, ...], steps: tuple[int, ...]) -> np.ndarray:
    return np.asarray(_Memory(ptr, kind, size, steps)) if 0 not in size else np.empty(size, kind)


@functools.cache
def reference_device(device_type: str, place: Place) -> device:
    """A device of this type, known to reftorch or not, whose backend is the reference. Each place has its own."""
    made = object.__new__(device)
    made.type, made.index = device_type, next(_indices)
    made.backend, made._hash = ReferenceBackend(device_type), hash((device_type, made.index))
    made.blocks = made.backend.allocator(made).free_blocks
    return made


_indices = itertools.count(1 << 20)  # so that the device is no other, whatever its type


class Reference:
    """reftorch at one Place, on the reference device."""

    def __init__(self, place: Place):
        self.place = place
        self.device = reference_device(place.device, place)
        self.host = reference_device("cpu", place)
        self._found: dict[Any, tuple[list[Formula], list[Formula]]] = {}

    @property
    def launches(self) -> int:
        return self.device.backend.launches  # type: ignore[attr-defined, no-any-return]

    # ---- arguments ----
    def tensors(self, case: Case) -> tuple[dict[str, Tensor], list[dict[str, Storage]]]:
        """The case's tensor arguments, made as a subject makes them, and the storages of its buffers by device."""
        storages: list[dict[str, Storage]] = [{} for _ in case.buffers]
        counters: dict[tuple[int, str], list[int]] = {}
        tensors = {}
        for name, view in case.views().items():
            where = self.host if view.on_host else self.device
            held = storages[view.buffer]
            if where.type not in held:
                raw = case.buffers[view.buffer]
                held[where.type] = storage = Storage(where, raw.nbytes)
                host_memory.write(storage.ptr, raw)
            d = DTYPES[view.dtype]
            meta = Meta.of(d, where, Layout.of(view.size, view.stride))
            counter = counters.setdefault((view.buffer, where.type), [0])
            tensors[name] = Tensor(held[where.type], meta, view.offset * d.itemsize, counter)
        return tensors, storages

    def arguments(self, op: Pointwise, case: Case, tensors: dict[str, Tensor]) -> tuple[Any, ...]:
        """One value for each of the operator's parameters. Raises TypeError if a required one is missing."""
        args = []
        for p in op.parameters:
            value = tensors.get(p.name, case.args.get(p.name, p.default))
            if value is REQUIRED:
                raise TypeError(f"{op.name}() missing 1 required positional arguments: \"{p.name}\"")
            args.append(value)
        return tuple(args)

    # ---- what a call is and gives ----
    def formulas(self, op: Pointwise, case: Case) -> tuple[list[Formula], list[Formula]]:
        """Those that are legal for this call at the place, and all that fit the call anywhere."""
        tensors, _ = self.tensors(_without_memory(case))
        bound = op.bound(self.arguments(op, case, tensors))
        return self._formulas(op, bound, op.computes_in(bound), self.place.device)

    def _formulas(self, op: Pointwise, bound: dict[str, Any], common: dtype,
                  device_type: str) -> tuple[list[Formula], list[Formula]]:
        place = self.place
        given = (*op.operands(bound), *(p.name for p in op.parameters if p.is_number))
        options = {p.name: bound[p.name] for p in op.parameters if not p.is_operand and not p.is_number}
        key = (op.name, given, tuple(options.items()), common.name, device_type)
        if key not in self._found:
            legal = op.legal_formulas(given, options, common.category, common.name, device_type, place.mode,
                                      place.version)
            fitting = op.formulas_for(given, options, common.category, common.name)
            self._found[key] = _distinct(legal), _distinct(fitting)
        return self._found[key]

    def common(self, op: Pointwise, case: Case) -> dtype:
        """The dtype that the call's operands are converted to."""
        tensors, _ = self.tensors(_without_memory(case))
        return op.computes_in(op.bound(self.arguments(op, case, tensors)))

    def operands(self, op: Pointwise, case: Case, formula: Formula) -> dict[str, np.ndarray]:
        """What the formula's parameters are in this call: values in the compute type, broadcast to the result."""
        names, caught = formula.parameters, dict[str, Any]()

        def catch(*given: Any) -> Any:
            caught.update(zip(names, given))
            return given[0]
        catch.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names])
        meta = self.meta(op, case)
        self.values(op, case, [replace(formula, function=catch)])
        return {n: np.broadcast_to(v, meta.layout.size) for n, v in caught.items()}

    def meta(self, op: Pointwise, case: Case) -> Meta:
        """dtype, sizes and strides of the functional result; raises what the call raises before it computes."""
        tensors, _ = self.tensors(_without_memory(case))
        bound = op.bound(self.arguments(op, case, tensors))
        with _quiet():
            meta = op.meta(**bound)
        op.refuse_dtype(bound, op.computes_in(bound))
        return meta

    def values(self, op: Pointwise, case: Case, formulas: Sequence[Formula], target: str | None = None) -> list[Any]:
        """Bits of the functional result by each of the formulas, row-major; as stored in dtype `target` if given."""
        tensors, _ = self.tensors(case)
        args = self.arguments(op, case, tensors)
        bound = op.bound(args)
        with _quiet():
            meta = op.meta(**bound)
        packed = Meta.of(meta.dtype, meta.device, Layout.of(meta.layout.size))
        results = []
        for formula in formulas:
            with _choosing(op, formula):
                launch = op._prepare(bound, packed)
            storage = Storage(self.device, packed.nbytes)
            launch(storage.ptr, args)
            bits = Tensor(storage, packed)._host_array().copy()
            if target is not None and target != meta.dtype.name:
                bits = narrow(cast(widen(bits, meta.dtype.name), target), target)
            results.append(bits)
        return results

    def outcome(self, case: Case) -> Outcome:
        """All that the call should show: reftorch's own call, form and backward included, on the reference device.

        Raises NotImplementedError if reftorch cannot express the case.
        """
        import reftorch
        with self._in_place_of_devices():
            return execute(reftorch, case, self.place.device)

    @contextlib.contextmanager
    def _in_place_of_devices(self) -> Iterator[None]:
        """Let the names of devices mean the reference devices, and formulas be the legal ones of the place."""
        names = dict(devices._canonical)
        devices._canonical.clear()
        devices._canonical.update({None: self.host, "cpu": self.host, self.host: self.host,
                                   self.place.device: self.device, self.device: self.device})
        choose = Pointwise.select
        Pointwise.select = self._select  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Pointwise.select = choose  # type: ignore[method-assign]
            devices._canonical.clear()
            devices._canonical.update(names)

    @property
    def _select(self) -> Callable[..., Formula]:
        def select(op: Pointwise, args: dict[str, Any], common: dtype, where: device) -> Formula:
            legal, fitting = self._formulas(op, args, common, where.type)
            if not fitting:
                raise NotImplementedError(f"{op.name}: no formula is specified for {common}")
            return (legal or fitting)[0]
        return select


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings that a call gives: they are part of an outcome, not of an answer about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _choosing(op: Pointwise, formula: Formula) -> Iterator[None]:
    """Have the operator compute with this formula, legal or not."""
    op.select = lambda *_: formula  # type: ignore[method-assign]
    try:
        yield
    finally:
        del op.select


def _without_memory(case: Case) -> Case:
    """The same call on empty buffers: for questions that no value can answer."""
    return Case(case.op, case.form, case.args, [_EMPTY] * len(case.buffers), case.out, None, case.unit)


_EMPTY = np.empty(0, np.uint8)


def _distinct(formulas: Any) -> list[Formula]:
    """Formulas without repetition: one function may be registered for several places."""
    found: dict[Any, Formula] = {}
    for f in formulas:
        found.setdefault(f.function, f)
    return list(found.values())
