"""Where a tensor stands in the graph, also when its memory was overwritten through another of its names.

A tensor's `_autograd` is its edge. A view's is right only up to the version in its View; after further writes through the
base or other views, its history is the base's. Source: VariableHooks::grad_fn and handle_view_on_rebase in
torch/csrc/autograd/variable.cpp.
"""
from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..dispatch.operator import REGISTRY
from ..dispatch.state import state
from ..dispatch.view import DEFAULT, INFERENCE, MULTI_OUTPUT, NOWHERE, View, live_views
from .accumulate import AccumulateGrad
from .node import Edge, short_name


def gradient_edge(tensor: Tensor) -> Edge | None:
    """The edge to where `tensor` came from; None if it does not require grad.

    Raises RuntimeError for a view whose history cannot be known: made in no_grad or inference mode, or by a function with
    several results, and written to since.
    """
    edge: Edge | None = tensor._autograd
    view: View | None = tensor._view
    if edge is None or view is None or view.version == tensor._version:
        return edge
    base: Tensor = view.base
    if (edge[0] is None or isinstance(edge[0], AccumulateGrad)) and base._autograd is None:
        return edge
    if view.creation != DEFAULT:
        raise view_error(tensor, view, "its base or another view of its base has been")
    return _again(tensor, view, base)


def _again(tensor: Tensor, view: View, base: Tensor) -> Edge:
    """Make the view's node anew, on top of the base's present history."""
    from .record import rule_of
    if view.replay is not None:
        before, state.grad_enabled = state.grad_enabled, True
        try:
            made: Edge = view.replay(base)._autograd
        finally:
            state.grad_enabled = before
    else:
        layout = tensor._meta.layout
        args = base, layout.size, layout.stride, tensor.storage_offset()
        node = rule_of(REGISTRY["as_strided"]).make(args, True)
        made = (node, 0)
    _move_retained(tensor, tensor._autograd, made)
    tensor._autograd = made
    view.version = tensor._version
    return made


def _move_retained(tensor: Tensor, old: Edge | None, new: Edge | None) -> None:
    """Let a gradient that `tensor` retains be the one of its new history."""
    retained = None if old is None else getattr(old[0], "retained", None)
    if retained and new is not None and (kept := retained.get(old[1])) is not None and kept() is tensor:  # type: ignore[index]
        new[0].retained = {**getattr(new[0], "retained", {}), new[1]: retained.pop(old[1])}  # type: ignore[index]


def view_error(tensor: Tensor, view: View, what: str) -> RuntimeError:
    """The error for a write to `tensor` or to its memory that autograd cannot follow. what: 'is being', or more."""
    node, number = tensor._autograd or NOWHERE
    made, now = ("inference", "in normal mode") if view.creation == INFERENCE else ("no_grad", "with grad mode enabled")
    if node is None or isinstance(node, AccumulateGrad):
        text = f"A view was created in {made} mode and {what} modified inplace {now}."
    elif view.creation == MULTI_OUTPUT:
        text = f"Output {number} of {short_name(node)} is a view and {what} modified inplace."
    else:
        text = (f"Output {number} of {short_name(node)} is a view of a view which was created in {made} mode and {what} "
                f"modified inplace {now}.")
    if view.creation == MULTI_OUTPUT:
        text += (" This view is the output of a function that returns multiple views. Such functions do not allow the "
                 "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.")
    else:
        block = "inference_mode" if view.creation == INFERENCE else made
        text += (" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                 f"moving both the view and the inplace either both inside the {block} block (if you don't want the inplace "
                 "to be tracked) or both outside (if you want the inplace to be tracked).")
    return RuntimeError(text)


def is_leaf(tensor: Tensor) -> bool:
    """Whether no recorded call made this tensor, as far as it knows itself."""
    edge = tensor._autograd
    return edge is None or edge[0] is None or isinstance(edge[0], AccumulateGrad)


def set_edge(tensor: Tensor, edge: Any) -> None:
    """Give `tensor` another history."""
    old = tensor._autograd
    _move_retained(tensor, old, edge)
    tensor._autograd = edge
    if tensor._view is not None and tensor._vc is not None:
        tensor._view.version = tensor._vc[0]
    elif (old is None) != (edge is None):  # its views learn whether their base requires grad
        for view in live_views(tensor):
            if view._autograd is None or view._autograd is NOWHERE:
                view._autograd = None if edge is None else NOWHERE
