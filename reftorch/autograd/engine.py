"""Backward: gradients from the outputs through the graph, each node when all that uses it has run.

Nodes that are ready run youngest first (leaves at once), and gradients of one tensor are added in the order in which they
arrive, so sums are rounded as in PyTorch. Source: torch/csrc/autograd/engine.cpp, input_buffer.cpp.
"""
from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ..core.options import contiguous_format
from ..core.tensor import Tensor
from ..dispatch.state import state
from .accumulate import AccumulateGrad
from .node import Edge, Node


def run(roots: Sequence[tuple[Edge, Tensor]], keep_graph: bool, create_graph: bool, wanted: Sequence[Edge] | None = None,
        accumulate: bool = True) -> list[Tensor | None]:
    """Send the gradients of `roots` back.

    wanted: stop there: only nodes on the way to these edges run. accumulate: wanted leaves get their .grad; else the
    gradients that arrive at `wanted` are returned. create_graph: record what the derivatives do.
    """
    uses = _uses([edge[0] for edge, _ in roots])
    needed = None
    if wanted is not None:
        targets = {edge[0] for edge in wanted}
        needed = _leading_to(targets, uses) | (targets if accumulate else set())
    captured: dict[Edge, Tensor | None] = {} if accumulate or wanted is None else {edge: None for edge in wanted}
    capturing = {node for node, _ in captured}
    arrived: dict[Node, dict[int, Tensor | None]] = {}
    ready: list[tuple[float, int, Node]] = []
    before, state.grad_enabled = state.grad_enabled, create_graph
    try:
        for (node, number), weight in roots:
            _add(arrived.setdefault(node, {}), number, weight)
        for i, node in enumerate(arrived):
            if not uses[node] and (needed is None or node in needed or node in capturing):
                heappush(ready, (-node.number, i, node))
        pushed = len(ready)
        while ready:
            node = heappop(ready)[2]
            at = arrived.pop(node)
            grads: list[Tensor | None] = [at.get(i) for i in range(node.outputs)]
            at.clear()
            retained = getattr(node, "retained", None)
            if retained:
                _retain(retained, grads)
            if node in capturing:
                for i, grad in enumerate(grads):
                    if (node, i) in captured:
                        captured[node, i] = grad
                if node not in needed:  # type: ignore[operator]
                    continue
            edges = node.edges
            found = node.apply(grads)
            if not keep_graph:
                node.release()
            for edge, grad in zip(edges, found):
                if edge is None or edge[0] is None:
                    continue
                follower = edge[0]
                uses[follower] -= 1
                if needed is None or follower in needed or follower in capturing:
                    _add(arrived.setdefault(follower, {}), edge[1], grad)
                    if not uses[follower]:
                        pushed += 1
                        heappush(ready, (-follower.number, pushed, follower))
    finally:
        state.grad_enabled = before
    return [captured.get(edge) for edge in wanted or ()]


def _add(grads: dict[int, Tensor | None], number: int, grad: Tensor | None) -> None:
    old = grads.get(number)
    grads[number] = grad if old is None else old if grad is None else old + grad  # type: ignore[operator]


def _uses(roots: Sequence[Node]) -> dict[Node, int]:
    """For every node that the roots lead to, how many edges of such nodes lead to it."""
    uses = dict.fromkeys(roots, 0)
    stack = list(uses)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and (node := edge[0]) is not None:
                if node in uses:
                    uses[node] += 1
                else:
                    uses[node] = 1
                    stack.append(node)
    return uses


def _leading_to(targets: set[Node], nodes: dict[Node, int]) -> set[Node]:
    """The nodes from which some edge leads on towards a target."""
    found: set[Node] = set()
    # An edge leads to an older node or to a leaf, so from the oldest on, what follows is known already.
    for node in sorted(nodes, key=lambda n: -1 if isinstance(n, AccumulateGrad) else n.number):
        if any(edge is not None and (edge[0] in found or edge[0] in targets) for edge in node.edges):
            found.add(node)
    return found


def _retain(retained: dict[int, Any], grads: list[Tensor | None]) -> None:
    """Keep the gradients of tensors that asked for it with retain_grad."""
    for i, ref in retained.items():
        tensor, grad = ref(), grads[i]
        if tensor is not None and grad is not None:
            old = tensor.__dict__.get("_grad")
            tensor.__dict__["_grad"] = grad.clone(memory_format=contiguous_format) if old is None else old + grad
