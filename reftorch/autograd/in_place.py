"""In-place operators: what may be overwritten, and the history of what was.

Source: check_inplace and rebase_history in torch/csrc/autograd/VariableTypeUtils.h and variable.cpp,
functions/tensor.cpp (CopySlices).
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..core.dtype import FLOATING
from ..core.options import contiguous_format
from ..core.tensor import Tensor
from ..dispatch.cast import clone_of
from ..dispatch.view import DEFAULT, NOWHERE
from .history import gradient_edge, is_leaf, set_edge, view_error
from .node import RELEASED, Edge, Node, next_number
from .record import Recorded, rule_of, save_result


def check_in_place(target: Tensor) -> None:
    """Raises RuntimeError for a leaf that requires grad, a view of one, and a view that autograd cannot follow."""
    view = target._view
    if view is not None:
        if view.creation != DEFAULT:
            raise view_error(target, view, "is being")
        if target._autograd is not None and is_leaf(view.base):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if target._autograd is not None and is_leaf(target):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def before_write(op: Any, args: Sequence[Any], target: Tensor) -> Recorded | None:
    """Check the target, and make the node while the arguments still have their values.

    What the derivative needs of the target itself is saved as a copy, as in PyTorch; another name of the same memory among
    the arguments is saved as it is, so that backward notices that it was overwritten.
    """
    if target._meta.dtype.category < FLOATING:
        return None
    rule = rule_of(op)
    if not any(isinstance(args[i], Tensor) and args[i]._autograd is not None for i in rule.inputs):
        return None
    check_in_place(target)
    node: Recorded | None = rule.make(args)
    if node is not None and node.plan.saves_self and args[0] is target:
        at = node.plan.sources.index((0, 0))
        original = clone_of(target)
        original._autograd = gradient_edge(target)
        node.saved[at], node.versions[at] = original, 0  # type: ignore[index]
    return node


def after_write(node: Recorded, target: Tensor) -> None:
    """Give the target, and the tensor that it is a view of, the new history."""
    view = target._view
    if view is None:
        set_edge(target, (node, 0))
    else:
        base = view.base
        set_edge(base, (CopySlices(base, target, node), 0))
        if target._autograd is None:
            target._autograd = NOWHERE
        gradient_edge(target)
    if node.plan.saves_result:
        save_result(node, target)
        if view is not None:
            node._result_node = weakref.ref(target._autograd[0])


class CopySlices(Node):
    """A write through a view, as an operator on the base: the part that was overwritten gets the gradients of the
    operator that overwrote it, the rest passes through."""

    __slots__ = ("node", "base", "view", "replay", "shown")

    def __init__(self, base: Tensor, view: Tensor, node: Recorded):
        assert view._view is not None
        self.node: Recorded | None = node
        self.edges = [gradient_edge(base), *node.edges[1:]]
        if self.edges[0] is not None and self.edges[0][0] is None:
            self.edges[0] = None
        self.shown = node.next_functions[1:]
        self.metas = [base._meta, *node.metas[1:]]
        self.number = next_number()
        self.base = base._meta, base.storage_offset()
        self.view = view._meta, view.storage_offset()
        self.replay = view._view.replay

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        return (self.edges[0] or (None, 0), *self.shown)

    def apply(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        if self.node is None:
            raise RuntimeError(RELEASED)
        grad = grads[0]
        if grad is None:
            return [None] * len(self.edges)
        (base, base_offset), (view, view_offset) = self.base, self.view
        result = grad.new_empty_strided(base.layout.size, base.layout.stride)
        result.copy_(grad)
        if self.replay is not None:
            part = self.replay(result)
        else:
            part = result.as_strided(view.layout.size, view.layout.stride, view_offset - base_offset)
        found = self.node.apply([part.clone(memory_format=contiguous_format)])
        if found[0] is not None:
            part.copy_(found[0])
            found[0] = result
        return found

    def release(self) -> None:
        self.node = None
