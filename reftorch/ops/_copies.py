"""Copies: clone, contiguous, to, copy_, fill_, zero_.

Conversions are those of reftorch.dispatch.cast. Source: ATen/native/TensorConversions.cpp, Copy.cpp, Fill.cpp.
"""
from __future__ import annotations

from typing import Any

from ..core import dtype as dtypes
from ..core.device import as_device, device
from ..core.dtype import dtype
from ..core.layout import Layout, broadcast_shapes
from ..core.meta import Meta
from ..core.options import contiguous_format, memory_format, preserve_format
from ..core.tensor import Tensor, empty_strided
from ..dispatch.arguments import element_type, tensor, type_name
from ..dispatch.cast import copy_into, read_only_overlap, writable
from ..dispatch.function import composite, function
from ._factories import fill, like, zeros_like


@function("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor")
def clone(self, memory_format):
    """A copy with memory of its own. Dense strides are kept unless memory_format is contiguous_format."""
    result = empty_strided(like(self, memory_format), self.dtype, self.device)
    copy_into(result, self)
    return result


clone.derivatives(self=lambda grad: grad)


@function("_to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, MemoryFormat? memory_format=None) "
          "-> Tensor", public=False, method=False)
def to_copy(self, dtype, device, memory_format):
    """A copy of another dtype or on another device."""
    result = empty_strided(like(self, memory_format), dtype or self.dtype, device or self.device)
    copy_into(result, self)
    return result


to_copy.derivatives(self=lambda grad, self_meta: grad.to(self_meta.device, self_meta.dtype))
to_copy.node_name = "ToCopyBackward0"


def convert(self: Tensor, to: dtype | None = None, on: device | None = None, copy: bool = False,
            memory_format: memory_format | None = None) -> Tensor:
    """`self` if it has this dtype and device already and `copy` is False, else a copy."""
    if not copy and (to is None or to is self.dtype) and (on is None or on is self.device):
        if memory_format is not contiguous_format or self.is_contiguous():
            return self
    return to_copy(self, dtype=to, device=on, memory_format=memory_format)


@composite(public=False)
def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, other: Any = None, non_blocking: bool = False,
       copy: bool = False, memory_format: memory_format | None = None) -> Tensor:
    """to(dtype), to(device), to(device, dtype), to(other): `self` if nothing changes and copy=False, else a copy.

    After them non_blocking and copy may follow by position. Raises TypeError for other arguments, RuntimeError for a
    device that does not exist.
    """
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and _is_dtype(rest[0]):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or _is_dtype(rest[0])):
            dtype = rest.pop(0)
    if len(rest) > 2 or not all(isinstance(flag, bool) for flag in (*rest, non_blocking, copy)):
        raise TypeError("to() received an invalid combination of arguments - got ("
                        f"{', '.join(type(a).__name__ for a in args)})")
    if len(rest) == 2:
        copy = rest[1]
    if other is not None:
        dtype, device = tensor(other, "to", "other", 1).dtype, other.device
    if dtype is not None:
        dtype = element_type(dtype, "to", "dtype", None)
    if device is not None:
        if isinstance(device, float):
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(device).__name__})")
        device = as_device(device)
    return convert(self, dtype, device, copy, memory_format)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtype) or isinstance(value, type) and value in (float, int, bool, complex)


@composite(public=False)
def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """`self` if its elements follow each other in row-major order, else such a copy."""
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if self._meta.layout.contiguous:
        return self
    return clone(self, memory_format=memory_format)


@composite(public=False)
def cpu(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
    """to("cpu")"""
    return convert(self, on=as_device("cpu"), memory_format=memory_format)


@composite(public=False)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False,
         memory_format: memory_format | None = None) -> Tensor:
    """to("cuda"), or to the given CUDA device."""
    return convert(self, on=as_device("cuda" if device is None else device), memory_format=memory_format)


def _conversion(name: str, target: dtype) -> None:
    def method(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
        return convert(self, target, memory_format=memory_format)
    method.__doc__ = f"to(torch.{target.name})"
    composite(public=False, name=name)(method)


for _name, _dtype in {**dtypes.ALIASES, "bfloat16": dtypes.bfloat16, "bool": dtypes.bool_, "byte": dtypes.uint8,
                      "char": dtypes.int8}.items():
    _conversion(_name, _dtype)


@composite(public=False, name="type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or `self` converted to a dtype."""
    return type_name(self) if dtype is None else convert(self, element_type(dtype, "type", "dtype", None))


@composite(public=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """self.to(other.dtype, on other.device)"""
    return convert(self, other.dtype, other.device)


@function("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", public=False, numbers=("src",))
def copy_(self, src):
    """Write `src`, a tensor or a number, broadcast, converted and moved, over `self`.

    Raises RuntimeError if `src` does not broadcast to the shape of `self`, or where the two overlap in memory.
    """
    if not isinstance(src, Tensor):
        return fill(self, src)
    if src._storage is self._storage and src._offset == self._offset and src._meta is self._meta:
        return
    writable(self)
    if src._storage is self._storage:
        read_only_overlap(self, (src,))
    if src.shape != self.shape and (common := broadcast_shapes(self.shape, src.shape)) != self.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(common)}")
    copy_into(self, src)


copy_.derivatives(self=lambda grad: zeros_like(grad), src=lambda grad: grad)
copy_.node_name = "CopyBackwards"


@function("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
          "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)")
def fill_(self, value):
    """Write a number, or the value of a 0-dim tensor, everywhere.

    Raises RuntimeError for a number that the dtype cannot hold, or a tensor with dimensions.
    """
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value.ndim} dimensions.")
        writable(self)
        copy_into(self, value)
    else:
        fill(self, value)


fill_.derivatives(self=lambda grad: zeros_like(grad), value=lambda grad: grad.sum())
fill_.node_name = lambda self, value: f"FillBackward{3 if isinstance(value, Tensor) else 2}"


@function("zero_(Tensor(a!) self) -> Tensor(a!)")
def zero_(self):
    """Write 0 everywhere."""
    fill(self, 0)


zero_.derivatives(self=lambda grad: zeros_like(grad))


@function("resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", public=False,
          differentiable=False)
def resize_(self, size):
    """Another size, contiguous, from where `self` starts; the storage grows if it must, its bytes stay.

    Raises RuntimeError for a negative size, and for a tensor that requires grad.
    """
    if self._autograd is not None:
        raise RuntimeError("cannot resize variables that require grad")
    if min(size, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    layout = Layout.of(size)
    needed = self._offset + layout.numel * self.itemsize
    if layout.numel and needed > self._storage.nbytes:
        self._storage.resize_(needed)
    self._meta = Meta.of(self.dtype, self.device, layout)
