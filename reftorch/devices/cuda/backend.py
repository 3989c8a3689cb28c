"""A CUDA device simulated in host memory.

It has memory of its own: its addresses are shifted, so the host cannot read them by mistake, and data moves only by
copies. Its kernels compute with CUDA's legal formulas, which the operators choose by the device's type; they are
compiled by the CPU's engine, since IEEE arithmetic is the same everywhere. It is synchronous.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.device import device
from .. import host_memory
from ..allocator import CachingAllocator

BIAS = 1 << 56  # device addresses lie outside the host's address space
DEVICE_COUNT = int(os.environ.get("REFTORCH_CUDA_DEVICES", "2"))


class SimulatedCudaBackend:
    """See reftorch.devices.protocol.DeviceBackend. REFTORCH_CUDA_DEVICES sets how many devices there are."""

    type = "cuda"
    indexed = True
    host_access = False

    def __init__(self) -> None:
        self._allocators = [CachingAllocator(BIAS) for _ in range(DEVICE_COUNT)]

    def device_count(self) -> int:
        return len(self._allocators)

    def current_device(self) -> int:
        return 0

    def allocator(self, device: device) -> CachingAllocator:
        return self._allocators[device.index or 0]

    def copy_from_host(self, ptr: int, source: np.ndarray) -> None:
        host_memory.write(ptr - BIAS, source)

    def copy_to_host(self, target: np.ndarray, ptr: int) -> None:
        host_memory.read(target, ptr - BIAS)

    def copy_within(self, target: int, source: int, nbytes: int) -> None:
        host_memory.move(target - BIAS, source - BIAS, nbytes)

    def pointwise(self, formula: Callable[..., Any], in_types: Sequence[str], out_type: str,
                  compute_types: Sequence[str], scalar_types: Sequence[str], size: Sequence[int],
                  strides: Sequence[Sequence[int]]) -> Callable[..., None]:
        from ..cpu.engine import launcher
        run, pointers = launcher(formula, in_types, out_type, compute_types, scalar_types, size, strides), len(in_types)

        def launch(out: int, *rest: Any) -> None:
            run(out - BIAS, *(p - BIAS for p in rest[:pointers]), *rest[pointers:])
        return launch

    def synchronize(self) -> None:
        """Nothing to wait for: the simulation is synchronous."""
