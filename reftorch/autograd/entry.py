"""backward and grad: the two ways to run the engine.

Source: torch/autograd/__init__.py, torch/csrc/autograd/python_engine.cpp.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from . import engine
from .accumulate import AccumulateGrad
from .history import gradient_edge
from .node import Edge, Node, fit

Tensors = Tensor | Sequence[Tensor]


def backward(tensors: Tensors, grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
             retain_graph: bool | None = None, create_graph: bool = False, inputs: Tensors | None = None) -> None:
    """Add to the .grad of every leaf the gradient of `tensors` with respect to it, weighted with grad_tensors.

    grad_tensors: of the tensors' shapes; None stands for 1 where a tensor has one element. retain_graph: keep what was
    saved, so that backward can run again (default: create_graph). create_graph: make the gradients differentiable.
    inputs: accumulate into these only.
    Raises RuntimeError for a tensor that does not require grad, a gradient of another shape, a graph that was freed, and
    a saved tensor that was overwritten.
    """
    outputs = _tuple(tensors)
    weights = (None,) * len(outputs) if grad_tensors is None else _tuple(grad_tensors)
    targets = None if inputs is None else _tuple(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _roots(outputs, _weights(outputs, weights))
    wanted = None
    if targets is not None:
        for target in targets:
            target.retain_grad()
        wanted = [_wanted(target) for target in targets]
    engine.run(roots, create_graph if retain_graph is None else retain_graph, create_graph, wanted)


def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
         retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
         allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs`, weighted with grad_outputs, with respect to `inputs`; no .grad changes.

    allow_unused: give None for an input that does not matter, instead of raising. materialize_grads: give zeros instead.
    Other arguments and errors as for backward.
    """
    if is_grads_batched:
        raise NotImplementedError("grad(): reftorch does not cover is_grads_batched=True")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    results, targets = _tuple(outputs), _tuple(inputs)
    weights = (None,) * len(results) if grad_outputs is None else _tuple(grad_outputs)
    made = _weights(results, weights)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots = _roots(results, made)
    found = engine.run(roots, create_graph if retain_graph is None else retain_graph, create_graph,
                       [_wanted(target) for target in targets], accumulate=False)
    if materialize_grads:
        return tuple(target.new_zeros(target.shape) if g is None else g for g, target in zip(found, targets))
    if not allow_unused:
        for i, g in enumerate(found):
            if g is None:
                raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                                   "Set allow_unused=True if this is the desired behavior.")
    return tuple(found)


def _tuple(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _wanted(target: Any) -> Edge:
    if not isinstance(target, Tensor):
        raise TypeError(f"element of inputs must be Tensor, not {type(target).__name__}")
    edge = gradient_edge(target)
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge if edge[0] is not None else (_Unreachable(), 0)


class _Unreachable(AccumulateGrad):
    """Stands for a tensor that requires grad but that no graph leads to."""

    __slots__ = ()

    def __init__(self) -> None:
        self.edges = self.metas = ()


def _weights(outputs: Sequence[Tensor], weights: Sequence[Tensor | None]) -> list[Tensor | None]:
    """A gradient for each output, as given or 1."""
    made: list[Tensor | None] = []
    for i, (out, weight) in enumerate(zip(outputs, weights)):
        if isinstance(weight, Tensor):
            if weight.shape != out.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {weight.shape} and output[{i}] has "
                                   f"a shape of {out.shape}.")
            if weight.is_complex() != out.is_complex():
                raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. "
                                   f"Mismatch in dtype: grad_output[{i}] has a dtype of {weight.dtype} and output[{i}] has "
                                   f"a dtype of {out.dtype}.")
        elif weight is not None:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
        elif out.requires_grad:
            if out.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not out.is_floating_point():
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
            weight = out.new_ones(out.shape)
        made.append(weight)
    return made


def _roots(outputs: Sequence[Tensor], weights: Sequence[Tensor | None]) -> list[tuple[Edge, Tensor]]:
    roots: list[tuple[Edge, Tensor]] = []
    for i, (out, weight) in enumerate(zip(outputs, weights)):
        edge = gradient_edge(out)
        if edge is None or edge[0] is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if weight is None:
            raise RuntimeError(f"element {i} of gradients tuple is None, but the corresponding Tensor requires grad")
        roots.append((edge, fit(weight, out._meta, _root, i)))
    return roots


_root = Node()
