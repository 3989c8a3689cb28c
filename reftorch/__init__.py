"""reftorch: PyTorch's operators as an executable specification.

    import reftorch as torch

gives the names below with PyTorch's meaning. The namespace is assembled from what registers itself: dtypes, operators,
factories; a name that is not covered raises AttributeError, which says so.
"""
from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from . import (
    autograd,
    devices,  # registers the devices
)
from .autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.device import device
from .core.dtype import ALIASES, DTYPES, dtype, get_default_dtype, set_default_dtype
from .core.layout import Size, broadcast_shapes
from .core.options import contiguous_format, layout, memory_format, preserve_format, strided
from .core.promotion import can_cast, promote_types, result_type
from .core.spec import set_spec_version, spec_version
from .core.tensor import Tensor
from .dispatch.function import COMPOSITES
from .dispatch.operator import REGISTRY

__version__ = "0.1.0"


def _assemble() -> dict[str, Any]:
    from . import ops
    for module in sorted(iter_modules(ops.__path__), key=lambda m: m.name):
        import_module(f"{ops.__name__}.{module.name}")
    names: dict[str, Any] = {**DTYPES, **ALIASES, **COMPOSITES}
    for op in REGISTRY.values():
        if getattr(op, "public", True):
            names[op.name] = op.function
    return names


globals().update(_assemble())


def is_tensor(obj: object) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


# Their module brings a compiler along, so it is imported on first use.
_ON_FIRST_USE = {"get_num_threads": ".devices.cpu.threads", "set_num_threads": ".devices.cpu.threads"}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"reftorch does not cover torch.{name}")
    value = globals()[name] = getattr(import_module(_ON_FIRST_USE[name], __name__), name)
    return value
