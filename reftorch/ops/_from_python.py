"""Tensors from Python and NumPy values: tensor, as_tensor, from_numpy, new_tensor.

Source: torch/csrc/utils/tensor_new.cpp, tensor_numpy.cpp.
"""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core.device import as_device, device
from ..core.dtype import COMPLEX, FLOATING, INTEGRAL, dtype, from_numpy_dtype
from ..core.layout import Layout
from ..core.meta import Meta
from ..core.promotion import dtype_of_number, promote_types
from ..core.storage import Storage
from ..core.tensor import Tensor, from_host
from ..dispatch.arguments import class_name, element_type, on_device, want_gradients
from ..dispatch.cast import converted
from ..dispatch.function import composite
from ..dispatch.state import state
from ..numerics.codes import encode
from ._copies import convert

Data = Any


@composite(method=False)
def tensor(data: Data, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested sequences of numbers, a NumPy array or a tensor.

    Without dtype, the smallest dtype of all numbers: bool, int64, the default dtype, or its complex kin; arrays, NumPy
    scalars and tensors keep theirs. Raises ValueError for ragged sequences and for integers beyond 64 bits, TypeError or
    RuntimeError for data that is not numbers or that the dtype cannot hold.
    """
    dtype = None if dtype is None else element_type(dtype, "tensor", "dtype", None)
    result = _made(data, dtype, None if device is None else on_device(device, "tensor", "device", None))
    if isinstance(data, Tensor):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                      UserWarning, stacklevel=2)
    if state.inference:
        result._vc = None
    if requires_grad:
        want_gradients(result)
    return result


@composite(method=False)
def as_tensor(data: Data, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself or its conversion if it is one, sharing the memory of a NumPy array, else a copy."""
    dtype = None if dtype is None else element_type(dtype, "as_tensor", "dtype", None)
    device = None if device is None else on_device(device, "as_tensor", "device", None)
    if isinstance(data, Tensor):
        return convert(data, dtype, device)
    if isinstance(data, np.ndarray):
        return convert(from_numpy(data), dtype, device)
    return _made(data, dtype, device)


@composite(public=False)
def new_tensor(self: Tensor, data: Data, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """tensor(data) with the dtype and device of `self`."""
    dtype = None if dtype is None else element_type(dtype, "new_tensor", "dtype", None)
    result = _made(data, dtype or self.dtype, self.device if device is None else on_device(device, "new_tensor", "device",
                                                                                          None))
    if requires_grad:
        want_gradients(result)
    return result


@composite(method=False)
def from_numpy(array: np.ndarray) -> Tensor:
    """A CPU tensor over the memory of `array`: a change of one shows in the other.

    Raises TypeError for what is no array or has no dtype here, ValueError for negative strides, strides that are no
    multiple of the element size, and foreign byte order.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {class_name(array)})")
    d = _dtype_of_array(array)
    if any(s < 0 for s in array.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are "
                         "not currently supported. (You can probably work around this by making a copy of your array  "
                         "with array.copy().) ")
    if any(s % d.itemsize for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                         "reallocate the memory.")
    if not array.flags.writeable:
        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
                      "writing to this tensor will result in undefined behavior. You may want to copy the array to "
                      "protect its data or make it writable before converting it to a tensor.", UserWarning, stacklevel=2)
    where = as_device(None)
    meta = Meta.of(d, where, Layout.of(array.shape, [s // d.itemsize for s in array.strides]))
    return Tensor(Storage(where, meta.nbytes, array.ctypes.data, owner=array), meta)


def _dtype_of_array(array: np.ndarray) -> dtype:
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte "
                         "orders is currently not supported.")
    try:
        return from_numpy_dtype(array.dtype)
    except TypeError:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only supported types are: float64, "
            "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and "
            "bool.") from None


def _made(data: Data, to: dtype | None, on: device | None) -> Tensor:
    if isinstance(data, Tensor):
        source = data.detach()
        return convert(source, to, on, copy=True)
    if isinstance(data, np.ndarray):
        return convert(from_numpy(data), to, on, copy=True)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    shape = _shape(data)
    numbers = list(_numbers(data, shape, 0))
    if to is None:
        to = _common(numbers) if numbers else dtypes.get_default_dtype()
    values: np.ndarray = np.array([_as(number, to) for number in numbers], _wide(to)).reshape(shape)
    return _stored(values, to, on)


def _shape(data: Data) -> tuple[int, ...]:
    """The lengths of the first element of every level."""
    shape: list[int] = []
    while not _is_number(data):
        if isinstance(data, (str, bytes)):
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not _is_sequence(data):
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.generic)) or isinstance(x, Tensor) or \
        isinstance(x, np.ndarray) and not x.ndim


def _is_sequence(x: Any) -> bool:
    return hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, (dict, set))


def _numbers(data: Data, shape: tuple[int, ...], dim: int) -> Iterator[Any]:
    """All numbers in order. Raises ValueError or TypeError where `data` is not a full box of this shape."""
    if dim == len(shape):
        if isinstance(data, (Tensor, np.ndarray)) and data.ndim:
            if data.shape.numel() != 1 if isinstance(data, Tensor) else data.size != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
        if _is_number(data) and not isinstance(data, str):
            yield data
        elif _is_sequence(data) and not isinstance(data, str):
            raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
        else:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        yield from _numbers(item, shape, dim + 1)


def _common(numbers: list[Any]) -> dtype:
    found: dtype | None = None
    for kind in dict.fromkeys(x.dtype if isinstance(x, Tensor) else from_numpy_dtype(x.dtype) if isinstance(
            x, (np.generic, np.ndarray)) else dtype_of_number(x) for x in numbers):
        found = kind if found is None else promote_types(found, kind)
    assert found is not None
    return found


def _wide(to: dtype) -> type:
    """The NumPy type in which the numbers are gathered before they become `to`."""
    if to.category == COMPLEX:
        return np.complex128
    if to.category == FLOATING:
        return np.float64
    return to.np.type


def _as(number: Any, to: dtype) -> Any:
    """A number as a Python number that `to` holds. Raises if it does not."""
    if not isinstance(number, (bool, int, float, complex)):
        number = number.item()
    if to.category == COMPLEX:
        return complex(number)
    if to.category == FLOATING:
        return float(_real(number))
    if to.category < INTEGRAL:
        return bool(number)
    number = _real(number)
    bits = 8 * to.itemsize
    if isinstance(number, float) and not abs(number) < 2 ** 64:
        raise RuntimeError(f"value cannot be converted to type {to.name} without overflow")
    if isinstance(number, int) and not -2**63 <= number < (2**64 if to is dtypes.uint64 else 2**63):
        raise ValueError("Overflow when unpacking long long")
    value = int(number)
    low, high = (-1 << bits - 1, (1 << bits - 1) - 1) if to.is_signed else (-(1 << bits) + 1, (1 << bits) - 1)
    if not low <= value <= high:
        raise RuntimeError(f"value cannot be converted to type {to.name} without overflow")
    return value if value >= 0 or to.is_signed else value + (1 << bits)


def _real(number: Any) -> Any:
    if isinstance(number, complex):
        raise TypeError("must be real number, not complex")
    return number


def _stored(values: np.ndarray, to: dtype, on: device | None) -> Tensor:
    """Host values, gathered in the wide type, as a tensor of dtype `to`."""
    if to.storage_only:
        return from_host(np.asarray(encode(to.name, values), to.np).reshape(values.shape), to, on)
    wide = from_numpy_dtype(values.dtype)
    return converted(from_host(values, wide, on), to)
