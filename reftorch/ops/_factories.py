"""Factories: tensors from sizes and numbers.

dtype=None means the default dtype (see each function); device=None the CPU. A tensor made in inference mode is an
inference tensor. Source: ATen/native/TensorFactories.cpp, RangeFactories.cpp.
"""
from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite

import numpy as np

from ..core import dtype as dtypes
from ..core.device import as_device
from ..core.dtype import FLOATING, INTEGRAL, dtype
from ..core.layout import Layout
from ..core.meta import Meta
from ..core.options import contiguous_format, memory_format, preserve_format
from ..core.pointwise_layout import preserve_format as preserved
from ..core.promotion import dtype_of_number
from ..core.tensor import Tensor, from_host
from ..core.tensor import empty_strided as raw
from ..dispatch.arguments import number
from ..dispatch.cast import code_type, compute_type, copy_into
from ..dispatch.function import composite, function
from ..dispatch.scalar import checked_number
from ..numerics.codes import encode

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = _OPTIONS + ", MemoryFormat? memory_format=None"


def _sizes(size) -> Layout:
    if size and min(size) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    return Layout.of(size)


def filled(layout: Layout, dtype: dtype, device, value) -> Tensor:
    """A tensor of this layout with `value` everywhere. Raises RuntimeError if the dtype cannot hold the number."""
    result = raw(layout, dtype, device)
    fill(result, value)
    return result


def fill(target: Tensor, value) -> None:
    """Write a Python number everywhere. Raises RuntimeError if the dtype cannot hold it."""
    meta = target._meta
    d = meta.dtype
    value = int(encode(d.name, np.float32(value))) if d.storage_only else checked_number(value, d, d)
    launch = _launchers.get(meta)
    if launch is None and meta.layout.numel:
        launch = _launchers[meta] = meta.device.backend.pointwise(
            _constant, (), code_type(d), (), (compute_type(d).name if not d.storage_only else code_type(d),),
            meta.layout.size, (meta.layout.stride,))
    if launch is not None:
        launch(target._storage.ptr + target._offset, value)


def _constant(value):
    """v"""
    return value


_launchers: dict[Meta, Callable[..., None]] = {}


def like(tensor: Tensor, memory_format: memory_format | None) -> Layout:
    """The layout of empty_like(tensor)."""
    layout = tensor._meta.layout
    if memory_format is None and layout.dense:
        return layout
    if memory_format is contiguous_format:
        return Layout.of(layout.size)
    if memory_format is not None and memory_format is not preserve_format:
        raise NotImplementedError(f"reftorch does not cover memory_format={memory_format!r}")
    return Layout.of(layout.size, preserved(layout.size, layout.stride))


@function(f"empty.memory_format(SymInt[] size, {_OPTIONS}) -> Tensor", method=False, factory=True)
def empty(size, dtype, device):
    """Uninitialised, contiguous. Raises RuntimeError for a negative size."""
    return raw(_sizes(size), dtype or dtypes.get_default_dtype(), device or as_device(None))


@function(f"empty_strided(SymInt[] size, SymInt[] stride, {_OPTIONS}) -> Tensor", method=False, factory=True)
def empty_strided(size, stride, dtype, device):
    """Uninitialised, with these strides in elements. Raises RuntimeError for negative sizes or strides."""
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    if min(size, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative stride {min(stride)}: {list(stride)}")
    return raw(Layout.of(size, stride), dtype or dtypes.get_default_dtype(), device or as_device(None))


@function(f"zeros(SymInt[] size, {_OPTIONS}) -> Tensor", method=False, factory=True)
def zeros(size, dtype, device):
    """All 0. Raises RuntimeError for a negative size."""
    if min(size, default=0) < 0:
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return filled(Layout.of(size), dtype or dtypes.get_default_dtype(), device or as_device(None), 0)


@function(f"ones(SymInt[] size, {_OPTIONS}) -> Tensor", method=False, factory=True)
def ones(size, dtype, device):
    """All 1."""
    return filled(_sizes(size), dtype or dtypes.get_default_dtype(), device or as_device(None), 1)


@function(f"full(SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor", method=False, factory=True)
def full(size, fill_value, dtype, device):
    """All fill_value, whose type decides the dtype: bool, int64, the default dtype or its complex kin."""
    return filled(_sizes(size), dtype or dtype_of_number(fill_value), device or as_device(None), fill_value)


@function(f"empty_like(Tensor self, {_LIKE}) -> Tensor", method=False, factory=True)
def empty_like(self, dtype, device, memory_format):
    """Uninitialised, with the size, dtype, device and (if dense) strides of `self`."""
    return raw(like(self, memory_format), dtype or self.dtype, device or self.device)


@function(f"zeros_like(Tensor self, {_LIKE}) -> Tensor", method=False, factory=True)
def zeros_like(self, dtype, device, memory_format):
    """empty_like, all 0."""
    return filled(like(self, memory_format), dtype or self.dtype, device or self.device, 0)


@function(f"ones_like(Tensor self, {_LIKE}) -> Tensor", method=False, factory=True)
def ones_like(self, dtype, device, memory_format):
    """empty_like, all 1."""
    return filled(like(self, memory_format), dtype or self.dtype, device or self.device, 1)


@function(f"full_like(Tensor self, Scalar fill_value, {_LIKE}) -> Tensor", method=False, factory=True)
def full_like(self, fill_value, dtype, device, memory_format):
    """empty_like, all fill_value."""
    return filled(like(self, memory_format), dtype or self.dtype, device or self.device, fill_value)


@function(f"new_empty(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", public=False, factory=True)
def new_empty(self, size, dtype, device):
    """empty(size) with the dtype and device of `self`."""
    return raw(_sizes(size), dtype or self.dtype, device or self.device)


@function(f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, {_OPTIONS}) -> Tensor", public=False,
          factory=True)
def new_empty_strided(self, size, stride, dtype, device):
    """empty_strided(size, stride) with the dtype and device of `self`."""
    return raw(Layout.of(size, stride), dtype or self.dtype, device or self.device)


@function(f"new_zeros(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", public=False, factory=True)
def new_zeros(self, size, dtype, device):
    """zeros(size) with the dtype and device of `self`."""
    return filled(_sizes(size), dtype or self.dtype, device or self.device, 0)


@function(f"new_ones(Tensor self, SymInt[] size, {_OPTIONS}) -> Tensor", public=False, factory=True)
def new_ones(self, size, dtype, device):
    """ones(size) with the dtype and device of `self`."""
    return filled(_sizes(size), dtype or self.dtype, device or self.device, 1)


@function(f"new_full(Tensor self, SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor", public=False, factory=True)
def new_full(self, size, fill_value, dtype, device):
    """full(size, fill_value) with the dtype and device of `self`."""
    return filled(_sizes(size), dtype or self.dtype, device or self.device, fill_value)


@function(f"scalar_tensor(Scalar s, {_OPTIONS}) -> Tensor", method=False, factory=True)
def scalar_tensor_(s, dtype, device):
    """A 0-dim tensor that holds `s`, of the default dtype whatever kind of number `s` is."""
    return filled(Layout.of(()), dtype or dtypes.get_default_dtype(), device or as_device(None), s)


@function(f"eye(SymInt n, SymInt? m=None, {_OPTIONS}) -> Tensor", method=False, factory=True)
def eye(n, m, dtype, device):
    """n by m (m: n if None), 1 on the diagonal, else 0. Raises RuntimeError for a negative size."""
    m = n if m is None else m
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    dtype, device = dtype or dtypes.get_default_dtype(), device or as_device(None)
    result = filled(Layout.of((n, m)), dtype, device, 0)
    fill(Tensor(result._storage, Meta.of(dtype, device, Layout.of((min(n, m),), (m + 1,)))), 1)
    return result


@function(f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor", public=False, method=False,
          factory=True)
def arange_(start, end, step, dtype, device):
    """start, start + step, ... below `end` (above it for a negative step): ceil((end - start) / step) of them.

    Each is start + i * step, in integers for an integer dtype, else in float64 and rounded once to the dtype.
    """
    numbers = (start, end, step)
    if dtype is None:
        dtype = dtypes.int64 if all(isinstance(x, int) for x in numbers) else dtypes.get_default_dtype()
    if dtype.category not in (INTEGRAL, FLOATING) or dtype.storage_only or dtype.name in ("uint16", "uint32", "uint64"):
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.scalar_type}'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (isfinite(start) and isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype.category == INTEGRAL:
        start, end, step = int(start), int(end), int(step)
        values = np.arange(-(-(end - start) // step), dtype=np.int64) * step + start
    else:
        values = float(start) + np.arange(ceil((float(end) - float(start)) / float(step)), dtype=np.float64) * float(step)
    source = from_host(values, dtypes.int64 if dtype.category == INTEGRAL else dtypes.float64, device)
    if dtype is source.dtype:
        return source
    result = raw(source._meta.layout, dtype, source.device)
    copy_into(result, source)
    return result


@composite(method=False)
def arange(*bounds, start=0, end=None, step=1, **options):
    """arange(end), arange(start, end), arange(start, end, step): see arange_."""
    given = dict(zip(("end",) if len(bounds) == 1 and end is None else ("start", "end", "step"), bounds))
    if len(bounds) > 3 or (end is None and "end" not in given):
        raise TypeError("arange() received an invalid combination of arguments: it takes (end), (start, end) or (start, "
                        "end, step)")
    given = {"start": start, "end": end, "step": step} | given
    position = ("end", "start") if len(bounds) == 1 else ("start", "end", "step")
    for name in ("start", "end", "step"):
        at = position.index(name) + 1 if name in position else None
        given[name] = number(given[name], "arange", name, at)
    return arange_(given["start"], given["end"], given["step"], **options)
