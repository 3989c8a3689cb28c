"""Leaves: where gradients end up, in `.grad`.

Source: torch/csrc/autograd/functions/accumulate_grad.h, "Default gradient layouts" in torch.autograd's documentation.
"""
from __future__ import annotations

import weakref

from ..core.options import contiguous_format
from ..core.tensor import Tensor, empty_strided
from ..dispatch.cast import copy_into
from ..dispatch.state import state
from .node import LEAF, Edge, Node


class AccumulateGrad(Node):
    """Adds the gradient that arrives to the `.grad` of a leaf, which it does not keep alive."""

    __slots__ = ("_leaf",)

    def __init__(self, leaf: Tensor):
        self._leaf = weakref.ref(leaf)
        self.edges, self.metas = LEAF, ()
        self.number = float("inf")  # runs as soon as it can

    @property
    def variable(self) -> Tensor | None:
        """The leaf, or None when it is gone."""
        return self._leaf()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: list[Tensor | None]) -> tuple[()]:
        leaf, new = self._leaf(), grads.pop()
        if leaf is None or new is None or leaf._autograd is None:
            return ()
        if leaf.grad_fn is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        old = leaf.__dict__.get("_grad")
        if old is None:
            leaf.__dict__["_grad"] = _first(new, leaf)
        elif state.grad_enabled:
            leaf.__dict__["_grad"] = old + new
        else:
            old += new
        return ()


def leaf_edge(tensor: Tensor) -> Edge:
    """The edge of a tensor as a leaf. A tensor has one such node for good, also if it does not require grad meanwhile."""
    node = tensor.__dict__.get("_leaf")
    if node is None:
        node = tensor.__dict__["_leaf"] = AccumulateGrad(tensor)
    return node, 0


def _first(new: Tensor, leaf: Tensor) -> Tensor:
    """A copy of the first gradient, in the leaf's strides if these are dense, else contiguous.

    (PyTorch takes a gradient as it is where nothing else refers to it; here .grad never shares memory.)
    """
    layout = leaf._meta.layout
    if not layout.dense:
        return new.clone(memory_format=contiguous_format)  # type: ignore[no-any-return]
    if state.grad_enabled:
        return new.new_empty_strided(layout.size, layout.stride).copy_(new)  # type: ignore[no-any-return]
    grad = empty_strided(layout, new.dtype, new.device)
    copy_into(grad, new)
    return grad
