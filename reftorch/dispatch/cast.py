"""Copies between dtypes, layouts and devices: the one operation that every other one may need first."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core.device import device
from ..core.dtype import dtype
from ..core.layout import Layout, expand_strides
from ..core.meta import Meta
from ..core.pointwise_layout import preserve_format
from ..core.tensor import Tensor, empty_strided
from .scalar import fits_a_scalar

_launchers: dict[tuple[Meta, Meta], Callable[..., None]] = {}


def compute_type(d: dtype) -> dtype:
    """The type that arithmetic on `d` is done in: float32 for the 16-bit floats (PyTorch's opmath_t), else `d`."""
    return dtypes.float32 if d is dtypes.float16 or d is dtypes.bfloat16 else d


def code_type(d: dtype) -> str:
    """The element type a kernel sees: storage-only types move as bytes."""
    return "uint8" if d.storage_only else d.name


def _identity(x):  # type: ignore[no-untyped-def]
    """x"""
    return x


def copy_into(target: Tensor, source: Tensor) -> None:
    """Write `source`, broadcast and converted, over `target`. Does not count as a write for autograd; callers do that.

    Conversions follow C: float to integer truncates, anything to bool is `x != 0`, complex to real drops the
    imaginary part, float64 to bfloat16 goes through float32. Raises NotImplementedError for casts of storage-only
    types.
    """
    t, s = target._meta, source._meta
    if t.dtype is not s.dtype and (t.dtype.storage_only or s.dtype.storage_only):
        raise NotImplementedError(f"casts between {s.dtype} and {t.dtype} are not covered")
    if not t.layout.numel:
        return
    if t.device is not s.device:
        return _copy_across(target, source)
    if may_overlap(target, source):
        source = clone_of(source)
        s = source._meta
    launch = _launchers.get((t, s))
    if launch is None:
        if len(_launchers) > 8192:
            _launchers.clear()
        launch = _launchers[t, s] = t.device.backend.pointwise(
            _identity, (code_type(s.dtype),), code_type(t.dtype), (code_type(s.dtype),), (), t.layout.size,
            (t.layout.stride, expand_strides(s.layout, t.layout.size)))
    launch(target._storage.ptr + target._offset, source._storage.ptr + source._offset)


def _copy_across(target: Tensor, source: Tensor) -> None:
    """Between devices: pack at the source, move the bytes through the host, unpack and convert at the target."""
    packed = contiguous(source)
    raw = np.empty(packed._meta.nbytes, np.uint8)
    packed.device.backend.copy_to_host(raw, packed._storage.ptr + packed._offset)
    landed = empty_strided(packed._meta.layout, packed.dtype, target.device)
    landed.device.backend.copy_from_host(landed._storage.ptr, raw)
    copy_into(target, landed)


def clone_of(source: Tensor) -> Tensor:
    """A copy with its own memory, dense strides kept (preserve_format)."""
    layout = source._meta.layout
    out = empty_strided(Layout.of(layout.size, preserve_format(layout.size, layout.stride)), source.dtype, source.device)
    copy_into(out, source)
    return out


def contiguous(source: Tensor) -> Tensor:
    """`source` itself if contiguous, else a contiguous copy."""
    if source._meta.layout.contiguous:
        return source
    out = empty_strided(Layout.of(source.shape), source.dtype, source.device)
    copy_into(out, source)
    return out


def converted(source: Tensor, to: dtype, on: device | None = None) -> Tensor:
    """`source` as `to` on device `on`: itself if nothing changes, else a copy (preserve_format)."""
    on = on or source.device
    if source.dtype is to and source.device is on:
        return source
    layout = source._meta.layout
    out = empty_strided(Layout.of(layout.size, preserve_format(layout.size, layout.stride)), to, on)
    copy_into(out, source)
    return out


def may_overlap(a: Tensor, b: Tensor) -> bool:
    """True if writing `a` element by element could change an element of `b` that is still to be read.

    The same elements in the same order are safe. Ranges of addresses decide: a false alarm costs a copy.
    """
    if a._storage is not b._storage:
        return False
    if a._offset == b._offset and a._meta.layout.size == b._meta.layout.size and \
            a._meta.layout.stride == b._meta.layout.stride and a._meta.dtype.itemsize == b._meta.dtype.itemsize:
        return False
    return a._offset < b._offset + b._meta.nbytes and b._offset < a._offset + a._meta.nbytes


def number_in(number: Any, d: dtype) -> Any:
    """A Python number as the value that a tensor of dtype `d` would hold, again as a Python number.

    Integers wrap, floats overflow to infinity. Raises OverflowError for integers that no Scalar holds.
    """
    fits_a_scalar(number)
    if d.category == dtypes.BOOL:
        return bool(number)
    if isinstance(number, complex) and d.category != dtypes.COMPLEX:
        number = number.real
    if d.category == dtypes.INTEGRAL:
        bits = 8 * d.itemsize
        value = int(number) & ((1 << bits) - 1)
        return value - (1 << bits) if d.is_signed and value >> (bits - 1) else value
    if d.category == dtypes.COMPLEX:
        return complex(number)
    if d is dtypes.float64:
        return float(number)
    with np.errstate(over="ignore"):
        single = np.float32(number)
        if d is dtypes.bfloat16:
            from ..numerics.codes import bfloat16_to_float32, float32_to_bfloat16
            return float(bfloat16_to_float32(float32_to_bfloat16(np.asarray(single))))
        return float(np.float16(single)) if d is dtypes.float16 else float(single)


def scalar_tensor(number: Any, d: dtype, on: device) -> Tensor:
    """A 0-dim tensor holding a Python number."""
    out = empty_strided(Layout.of(()), d, on)
    if d is dtypes.bfloat16:
        from ..numerics.codes import float32_to_bfloat16
        bits = float32_to_bfloat16(np.asarray(number_in(number, d), np.float32))
    else:
        with np.errstate(over="ignore"):
            bits = np.asarray(number_in(number, d), d.np)
    on.backend.copy_from_host(out._storage.ptr, bits.reshape(1))
    return out


def writable(target: Tensor) -> None:
    """Raises RuntimeError if two elements of `target` share a place in memory."""
    if target._meta.layout.overlaps_itself():
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                           "memory location. Please clone() the tensor before performing the operation.")


def read_only_overlap(target: Tensor, sources: Sequence[Tensor]) -> None:
    """Raises RuntimeError if `target` overlaps one of `sources` other than element for element.

    As in PyTorch, only dense tensors are compared, and of two that cover the same range only the strides.
    """
    for source in sources:
        t, s = target._meta, source._meta
        if source._storage is not target._storage or not (t.layout.dense and s.layout.dense and t.nbytes and s.nbytes):
            continue
        if target._offset == source._offset and t.nbytes == s.nbytes:
            if t.layout.stride == s.layout.stride:
                continue
        elif not (target._offset < source._offset + s.nbytes and source._offset < target._offset + t.nbytes):
            continue
        raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                           "single memory location. Please clone() the tensor before performing the operation.")
