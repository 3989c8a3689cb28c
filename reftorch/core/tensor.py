"""Tensor: a Meta (dtype, device, layout), a place in a storage, and what autograd knows about it.

Operators add their methods when they register (reftorch.dispatch.operator); autograd adds its own. This file holds
what a tensor is without either: geometry, memory, and the way to Python and NumPy values.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..numerics.codes import bfloat16_to_float32
from . import dtype as dtypes
from .device import as_device, device
from .dtype import dtype
from .layout import Layout, Size
from .meta import Meta
from .storage import Storage

Number = TypeVar("Number")


class Tensor:
    """A strided tensor.

    Views share `_storage` and the version counter `_vc` (a list of one int; None for inference tensors).
    `_offset` is in bytes. `_autograd` is None unless the tensor requires grad; `_view` says what it is a view of.
    """

    __slots__ = ("_storage", "_meta", "_offset", "_vc", "_autograd", "_view", "__dict__", "__weakref__")

    def __init__(self, storage: Storage, meta: Meta, offset: int = 0, vc: list[int] | None = None):
        self._storage = storage
        self._meta = meta
        self._offset = offset
        self._vc: list[int] | None = [0] if vc is None else vc
        self._autograd: Any = None
        self._view: Any = None

    if TYPE_CHECKING:  # a real __getattr__ would make every access to a slot slower
        def __getattr__(self, name: str) -> Any: ...  # methods that operators attach

    # ---- geometry ----
    @property
    def dtype(self) -> dtype:
        return self._meta.dtype

    @property
    def device(self) -> device:
        return self._meta.device

    @property
    def shape(self) -> Size:
        return self._meta.layout.size

    @property
    def ndim(self) -> int:
        return self._meta.layout.ndim

    @property
    def itemsize(self) -> int:
        return self._meta.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._meta.layout.numel * self._meta.dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        return self._meta.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self._meta.device.type == "cpu"

    def size(self, dim: int | None = None) -> Size | int:
        """The sizes, or the size of one dimension. Raises IndexError for a dimension out of range."""
        return self.shape if dim is None else self.shape[_existing_dim(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """The strides in elements, or the stride of one dimension. Raises IndexError for a dimension out of range."""
        stride = self._meta.layout.stride
        return stride if dim is None else stride[_existing_dim(dim, self.ndim)]

    def dim(self) -> int:
        return self._meta.layout.ndim

    def numel(self) -> int:
        return self._meta.layout.numel

    def element_size(self) -> int:
        return self._meta.dtype.itemsize

    def storage_offset(self) -> int:
        """Where the first element lies in the storage, in elements."""
        return self._offset // self._meta.dtype.itemsize

    def untyped_storage(self) -> Storage:
        return self._storage

    def data_ptr(self) -> int:
        """Device address of the first element; 0 for a tensor without elements."""
        return self._storage.ptr + self._offset if self._meta.layout.numel else 0

    def is_contiguous(self) -> bool:
        return self._meta.layout.contiguous

    def is_floating_point(self) -> bool:
        return self._meta.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._meta.dtype.is_complex

    def is_signed(self) -> bool:
        return self._meta.dtype.is_signed

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._meta.layout.size[0]  # type: ignore[no-any-return]

    # ---- version ----
    @property
    def _version(self) -> int:
        if self._vc is None:
            raise RuntimeError("Inference tensors do not track version counter.")
        version: int = self._vc[0]
        return version

    def is_inference(self) -> bool:
        return self._vc is None

    # ---- values ----
    def _host_array(self) -> np.ndarray:
        """The bits as a NumPy array: a view where the host reaches the memory, a copy where it does not."""
        meta, backend = self._meta, self._meta.device.backend
        layout, np_dtype = meta.layout, meta.dtype.np
        strides = tuple(s * np_dtype.itemsize for s in layout.stride)
        if backend.host_access:
            return self._storage.host_array(np_dtype, layout.size, strides, self._offset)
        raw = np.empty(meta.nbytes, np.uint8)
        backend.copy_to_host(raw, self._storage.ptr + self._offset)
        return np.ndarray(layout.size, np_dtype, raw, 0, strides)

    def _values(self) -> np.ndarray:
        """The values as a NumPy array that Python can read: codes widened to float32. Raises for storage-only types."""
        d = self._meta.dtype
        if d.storage_only:
            raise NotImplementedError(f"reading the values of {d} is not covered; view it as torch.uint8 to read codes")
        raw = self._host_array()
        return bfloat16_to_float32(raw) if d is dtypes.bfloat16 else raw

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number. Raises RuntimeError for any other size."""
        if self._meta.layout.numel != 1:
            raise RuntimeError(f"a Tensor with {self._meta.layout.numel} elements cannot be converted to Scalar")
        return self._values().item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers (a number for a 0-dim tensor)."""
        return self._values().tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A NumPy array that shares this tensor's memory.

        Raises RuntimeError if the tensor requires grad, TypeError if the memory is not the host's or NumPy lacks
        the dtype. force=True detaches, and copies to the host first.
        """
        if self._meta.dtype is dtypes.bfloat16 or self._meta.dtype.storage_only:
            raise TypeError(f"Got unsupported ScalarType {self._meta.dtype.scalar_type}")
        if self._autograd is not None and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if force or self._meta.device.backend.host_access:
            return self._host_array()
        return self._storage.host_array(self._meta.dtype.np, (), (), 0)  # raises, naming the device

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype=dtype)

    def __bool__(self) -> bool:
        n = self._meta.layout.numel
        if n == 1:
            return bool(self.item())
        raise RuntimeError(f"Boolean value of Tensor with {'no values' if n == 0 else 'more than one value'} is ambiguous")

    def _number(self, kind: Callable[[Any], Number]) -> Number:
        if self._meta.layout.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return kind(self.item())

    def __float__(self) -> float:
        return self._number(float)

    def __int__(self) -> int:
        return self._number(int)

    def __complex__(self) -> complex:
        return self._number(complex)

    def __index__(self) -> int:
        if self._meta.dtype.category > dtypes.INTEGRAL or self._meta.layout.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self):  # type: ignore[no-untyped-def]
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return (self.__getitem__(i) for i in range(self.shape[0]))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        d = self._meta.dtype
        notes = ""
        if d not in (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_, dtypes.get_default_dtype().to_complex()):
            notes += f", dtype={d}"
        if self._meta.device.type != "cpu":
            notes += f", device='{self._meta.device}'"
        if self._autograd is not None:
            node = self.grad_fn
            notes += f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True"
        if not self.numel() and self.ndim != 1:
            notes = f", size={tuple(self.shape)}" + notes
        if d.storage_only:
            body = np.array2string(self._host_array(), separator=", ", prefix="tensor(codes ")
            return f"tensor(codes {body}{notes})"
        body = np.array2string(self._values(), separator=", ", prefix="tensor(", precision=4, threshold=1000)
        return f"tensor({body}{notes})"


def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. Raises IndexError with PyTorch's text; a 0-dim tensor counts as 1-dim."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def _existing_dim(dim: int, ndim: int) -> int:
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def empty_strided(layout: Layout, dtype: dtype, device: device) -> Tensor:
    """An uninitialised tensor with this geometry."""
    meta = Meta.of(dtype, device, layout)
    return Tensor(Storage(device, meta.nbytes), meta)


def from_host(array: np.ndarray, dtype: dtype, where: device | str | None = None) -> Tensor:
    """A new contiguous tensor on `where` with the bits of a NumPy array, which must hold `dtype`'s carrier."""
    dev = as_device(where)
    out = empty_strided(Layout.of(array.shape), dtype, dev)
    if array.size:
        dev.backend.copy_from_host(out._storage.ptr, np.ascontiguousarray(array, dtype=dtype.np))
    return out
