"""How operators run: the backend protocol and the devices that come with the library.

Importing this package registers `cpu` and the simulated `cuda`. Kernels and compilers load on first use.
"""
from ..core.device import register_backend


def _cpu():  # type: ignore[no-untyped-def]
    from .cpu.backend import CpuBackend
    return CpuBackend()


def _cuda():  # type: ignore[no-untyped-def]
    from .cuda.backend import SimulatedCudaBackend
    return SimulatedCudaBackend()


register_backend("cpu", _cpu)
register_backend("cuda", _cuda)
