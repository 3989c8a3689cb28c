"""Storage: a run of bytes on one device, shared by every view of it."""
from __future__ import annotations

from typing import Any

import numpy as np

from .device import device


class Storage:
    """`nbytes` bytes at device address `ptr`.

    Memory comes from the device's allocator and goes back to it when the last view is gone, unless `owner` says who
    else keeps it alive (a NumPy array that the tensor shares).
    """

    __slots__ = ("device", "nbytes", "ptr", "_blocks", "_owner", "__weakref__")

    def __init__(self, device: device, nbytes: int, ptr: int = 0, owner: Any = None):
        self.device = device
        self.nbytes = nbytes
        self._owner = owner
        if owner is not None:
            self.ptr, self._blocks = ptr, None
            return
        try:
            self._blocks = blocks = device.blocks[nbytes]
            self.ptr = blocks.pop()
        except (KeyError, IndexError):
            self._blocks = None  # in case there is no memory
            self.ptr = device.backend.allocator(device).allocate(nbytes)
            self._blocks = device.blocks[nbytes]

    def __del__(self) -> None:
        if self._blocks is not None:
            self._blocks.append(self.ptr)

    def resize_(self, nbytes: int) -> None:
        """Move to a run of `nbytes` bytes; what fits of the old contents stays.

        Raises RuntimeError for memory that this library did not allocate.
        """
        if self._blocks is None:
            raise RuntimeError("Trying to resize storage that is not resizable")
        moved = Storage(self.device, nbytes)
        if self.nbytes and nbytes:
            self.device.backend.copy_within(moved.ptr, self.ptr, min(self.nbytes, nbytes))
        # The other storage takes the old block, and gives it back.
        self.ptr, moved.ptr = moved.ptr, self.ptr
        self._blocks, moved._blocks = moved._blocks, self._blocks
        self.nbytes = nbytes

    def data_ptr(self) -> int:
        return self.ptr

    def size(self) -> int:
        return self.nbytes

    def __len__(self) -> int:
        return self.nbytes

    def host_array(self, np_dtype: np.dtype, shape: tuple[int, ...], byte_strides: tuple[int, ...],
                   byte_offset: int) -> np.ndarray:
        """A writable NumPy view of this memory; it keeps the storage alive.

        Raises TypeError when the host cannot reach the memory.
        """
        if not self.device.backend.host_access:
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                            "tensor to host memory first.")
        return np.asarray(_HostView(self, np_dtype, shape, byte_strides, byte_offset))


class _HostView:
    """What NumPy needs to look at a storage; NumPy keeps it, and so the storage, as the array's base."""

    __slots__ = ("storage", "__array_interface__")

    def __init__(self, storage: Storage, np_dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...],
                 offset: int):
        self.storage = storage
        self.__array_interface__ = {"version": 3, "typestr": np_dtype.str, "shape": tuple(shape), "strides": strides,
                                    "data": (storage.ptr + offset, False)}
