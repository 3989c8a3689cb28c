"""Nodes of the graph: what one operator call needs in order to send gradients back.

An edge is a pair (node, number of the node's output), what a tensor has in `_autograd`. A node's own edges lead to where
its arguments came from. Source: torch/csrc/autograd/function.h, saved_variable.cpp.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Any

from ..core.meta import Meta
from ..core.tensor import Tensor
from ..dispatch.arguments import type_name

Edge = tuple[Any, int]

next_number = count().__next__

RELEASED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
            "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
            "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
            "saved tensors after calling backward.")


class Node:
    """Base class.

    edges: one for each differentiable argument, None where no gradient is wanted. metas: the arguments' Metas, which
    gradients must fit. number: in order of creation; backward runs the youngest first. retained: tensors whose .grad
    keeps the gradient that arrives here, by output number.
    """

    __slots__ = ("edges", "metas", "number", "retained", "__weakref__")

    edges: Sequence[Edge | None]
    metas: Sequence[Meta | None]
    number: float
    outputs = 1

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients for `edges` from those of this node's outputs."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget what was saved for backward."""

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        return tuple(edge or (None, 0) for edge in self.edges)

    @property
    def metadata(self) -> dict[str, Any]:
        return {}

    def _sequence_nr(self) -> float:
        return self.number

    def __call__(self, *grads: Tensor | None) -> Any:
        found = tuple(self.apply(list(grads)))
        return found[0] if len(found) == 1 else found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


def short_name(node: Node) -> str:
    """A node's name as error texts have it: 'Mul' for MulBackward0, 'Fill2' for FillBackward2."""
    return re.sub(r"Backward(?:0$|(?=[1-9]+$))", "", node.name())


def fit(grad: Tensor, meta: Meta, node: Node, index: int) -> Tensor:
    """`grad` as the gradient of a tensor of this meta: broadcasting undone, same dtype and device.

    The gradient of a real tensor is real. Raises RuntimeError if the shape does not broadcast back.
    """
    if grad._meta is meta:
        return grad
    size = meta.layout.size
    if grad.shape != size:
        extra = grad.ndim - len(size)
        if extra < 0 or any(n not in (1, m) for n, m in zip(size, grad.shape[extra:])):
            raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {index} - got "
                               f"{list(grad.shape)} but expected shape compatible with {list(size)}")
        grad = grad.sum_to_size(size)
    if grad._meta.dtype is not meta.dtype:
        if grad._meta.dtype.is_complex and not meta.dtype.is_complex:
            grad = grad.real
        grad = grad.to(meta.dtype)
    return grad if grad._meta.device is meta.device else grad.to(meta.device)


def modified(tensor: Tensor, found: int, expected: int, edge: Edge | None) -> RuntimeError:
    """The error for a saved tensor that was overwritten."""
    origin = ""
    if edge is not None and edge[0] is not None and edge[0].edges is not LEAF:
        origin = f", which is output {edge[1]} of {short_name(edge[0])},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_name(tensor)} {list(tensor.shape)}]{origin} is at version {found}; expected version {expected} instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False).")


LEAF: tuple[Edge, ...] = ()  # the edges of an AccumulateGrad node: none, and this very object


def version_to_save(tensor: Tensor) -> int:
    if tensor._vc is None:
        raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                           "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                           "normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
                           "`torch.inference_mode()`.")
    return tensor._vc[0]
