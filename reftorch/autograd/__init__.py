"""Reverse-mode differentiation: a graph recorded as operators run, and an engine that walks it back.

    x = reftorch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.grad                                   # tensor([2., 4.])

node.py: what one call leaves behind. record.py: from derivative functions to nodes. history.py, in_place.py: views and
writes. engine.py: the walk. entry.py: backward and grad. attributes.py: what tensors get. modes.py: no_grad and kin.
"""
from ..dispatch import boundary
from . import attributes as _attributes  # noqa: F401  (gives Tensor its autograd attributes)
from .entry import backward, grad
from .in_place import after_write, before_write
from .modes import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .node import Node
from .record import record

boundary.record, boundary.before_write, boundary.after_write = record, before_write, after_write

__all__ = ["Node", "backward", "enable_grad", "grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "no_grad", "set_grad_enabled"]


def __getattr__(name: str) -> None:
    raise AttributeError(f"reftorch does not cover torch.autograd.{name}")
