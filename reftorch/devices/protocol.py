"""What a device is to the rest of the library.

Everything above the backends is written against these two protocols; `cpu` and `cuda` here, and any backend
registered from outside with `reftorch.core.device.register_backend`, implement them and nothing else.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..core.device import device


class Allocator(Protocol):
    """Memory of one device. Addresses are the device's: only its backend may use them.

    free_blocks: free addresses by requested size. A storage takes one with pop() and gives it back with append(); it
    calls `allocate` where there is none.
    """

    free_blocks: dict[int, Any]

    def allocate(self, nbytes: int) -> int:
        """Address of `nbytes` uninitialised bytes, 64-byte aligned; `free_blocks[nbytes]` exists afterwards.

        Raises MemoryError.
        """
        ...


class DeviceBackend(Protocol):
    """One device type.

    type: its name. indexed: whether its devices are numbered (cuda:0) or single (cpu).
    host_access: whether the host may read and write its memory in place.
    """

    type: str
    indexed: bool
    host_access: bool

    def device_count(self) -> int: ...

    def current_device(self) -> int: ...

    def allocator(self, device: device) -> Allocator: ...

    def copy_from_host(self, ptr: int, source: np.ndarray) -> None:
        """Write a contiguous host array to device memory."""
        ...

    def copy_to_host(self, target: np.ndarray, ptr: int) -> None:
        """Read device memory into a contiguous host array."""
        ...

    def copy_within(self, target: int, source: int, nbytes: int) -> None: ...

    def pointwise(self, formula: Callable[..., Any], in_types: Sequence[str], out_type: str,
                  compute_types: Sequence[str], scalar_types: Sequence[str], size: Sequence[int],
                  strides: Sequence[Sequence[int]]) -> Callable[..., None]:
        """A launcher for out = formula(*inputs, *scalars), elementwise over `size`.

        strides: in elements, the output's first. compute_types: what each input is converted to.
        The result is called as launch(out_ptr, in_ptr..., scalar...).
        """
        ...

    def synchronize(self) -> None: ...
