"""The host itself: memory that NumPy can see, kernels compiled by the pointwise engine."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.device import device
from .. import host_memory
from ..allocator import CachingAllocator


class CpuBackend:
    """See reftorch.devices.protocol.DeviceBackend."""

    type = "cpu"
    indexed = False
    host_access = True

    def __init__(self) -> None:
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

    def pointwise(self, formula: Callable[..., Any], in_types: Sequence[str], out_type: str,
                  compute_types: Sequence[str], scalar_types: Sequence[str], size: Sequence[int],
                  strides: Sequence[Sequence[int]]) -> Callable[..., None]:
        from .engine import launcher  # the compiler loads with the first kernel
        return launcher(formula, in_types, out_type, compute_types, scalar_types, size, strides)

    def synchronize(self) -> None:
        """Nothing to wait for: kernels return when they are done."""
