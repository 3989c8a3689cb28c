"""Where a tensor stands in the graph, also when its memory was overwritten through another of its names.

A tensor's `_autograd` is its edge. A view's is right only up to the version in its View; after further writes through the
base or other views, its history is the base's. Source: VariableHooks::grad_fn and handle_view_on_rebase in
torch/csrc/autograd/variable.cpp.
"""
from __future__ import annotations

import re
from typing import Any

from ..core.tensor import Tensor
from ..dispatch.operator import REGISTRY
from ..dispatch.state import state
from ..dispatch.view import DEFAULT, INFERENCE, MULTI_OUTPUT, NOWHERE, View, live_views
from .accumulate import AccumulateGrad
from .node import Edge


def gradient_edge(tensor: Tensor) -> Edge | None:
    """The edge to where `tensor` came from; None if it does not require grad.

    Raises RuntimeError for a view whose history cannot be known: made in no_grad or inference mode, or by a function with
    several results, and written to since.
    """
    edge, view = tensor._autograd, tensor._view
    if edge is None or view is None or view.version == tensor._vc[0]:
        return edge
    base: Tensor = view.base
    if (edge[0] is None or isinstance(edge[0], AccumulateGrad)) and base._autograd is None:
        return edge
    if view.creation != DEFAULT:
        raise view_error(tensor, view, "its base or another view of its base has been")
    return _again(tensor, view, base)


def _again(tensor: Tensor, view: View, base: Tensor) -> Edge:
    """Make the view's node anew, on top of the base's present history."""
    from .record import make_node
    if view.replay is not None:
        before, state.grad_enabled = state.grad_enabled, True
        try:
            made = view.replay(base)._autograd
        finally:
            state.grad_enabled = before
    else:
        layout = tensor._meta.layout
        node = make_node(REGISTRY["as_strided"], (base, layout.size, layout.stride, tensor.storage_offset()),
                         always=True)
        made = (node, 0)
    tensor._autograd = made
    view.version = tensor._vc[0]
    return made  # type: ignore[no-any-return]


def view_error(tensor: Tensor, view: View, what: str) -> RuntimeError:
    """The error for a write to `tensor` or to its memory that autograd cannot follow. what: 'is being', or more."""
    node, number = tensor._autograd or NOWHERE
    if node is not None and not isinstance(node, AccumulateGrad):
        text = f"Output {number} of {re.sub(r'Backward[0-9]*$', '', node.name())} is a view and {what} modified inplace."
    elif view.creation == INFERENCE:
        text = f"A view was created in inference mode and {what} modified inplace in normal mode."
    else:
        text = f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled."
    if view.creation == MULTI_OUTPUT:
        text += (" This view is the output of a function that returns multiple views. Such functions do not allow the output "
                 "views to be modified inplace. You should replace the inplace operation by an out-of-place one.")
    else:
        block = "inference_mode" if view.creation == INFERENCE else "no_grad"
        text += (" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                 f"moving both the view and the inplace either both inside the {block} block (if you don't want the inplace "
                 "to be tracked) or both outside (if you want the inplace to be tracked).")
    return RuntimeError(text)


def is_leaf(tensor: Tensor) -> bool:
    edge = gradient_edge(tensor)
    return edge is None or edge[0] is None or isinstance(edge[0], AccumulateGrad)


def set_edge(tensor: Tensor, edge: Any) -> None:
    """Give `tensor` another history. A gradient that it retains is the one of its new history."""
    old = tensor._autograd
    if old is not None and old[0] is not None:
        retained = getattr(old[0], "retained", None)
        if retained and retained.get(old[1]) is not None and retained[old[1]]() is tensor and edge is not None:
            edge[0].retained = {**getattr(edge[0], "retained", {}), edge[1]: retained.pop(old[1])}
    tensor._autograd = edge
    if tensor._view is not None and tensor._vc is not None:
        tensor._view.version = tensor._vc[0]
    elif (old is None) != (edge is None):  # its views learn whether their base requires grad
        for view in live_views(tensor):
            if view._autograd is None or view._autograd is NOWHERE:
                view._autograd = None if edge is None else NOWHERE
