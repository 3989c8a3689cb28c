"""What `boundary.record` does after each call that is tracked: a node for the result.

The table of an operator's derivatives is in derivatives.py; a call only fills a node in.
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..core.dtype import FLOATING
from ..core.tensor import Tensor
from ..dispatch.view import untracked_alias
from .accumulate import AccumulateGrad
from .derivatives import ARGUMENT, GRAD, RESULT, Plan, Rule
from .history import gradient_edge
from .node import RELEASED, Edge, Node, fit, modified, version_to_save


class Recorded(Node):
    """The node of an operator call.

    saved: the plan's sources. versions: of saved tensors, None for what is no tensor. A saved result is kept as an alias
    outside the graph, since the result itself keeps this node alive.
    """

    __slots__ = ("plan", "saved", "versions", "count", "_result_node")

    plan: Plan
    count: int
    _result_node: weakref.ref[Node] | None
    saved: Sequence[Any] | None
    versions: Sequence[int | None]

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.count if self.plan.rule.several else 1

    def name(self) -> str:
        name = type(self).__name__
        return f"torch::autograd::{name}" if name == "CopyBackwards" else name

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        rule = self.plan.rule
        return tuple(edge or (None, 0) for edge, meta, i in zip(self.edges, self.metas, rule.inputs)
                     if meta is not None or i in rule.wrapped)

    def environment(self) -> list[Any]:
        """[None, *what was saved]. Raises RuntimeError if it was released, or overwritten since."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(RELEASED)
        values = [None, *saved]
        for i, (source, version) in enumerate(zip(self.plan.sources, self.versions), 1):
            if version is not None:
                tensor = values[i]
                if source[0] == RESULT:
                    tensor = values[i] = self._result(tensor)
                elif tensor._autograd is None and self._was_interior(source[1]):
                    raise RuntimeError("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
                                       "This is not supported, please use out-of-place `.detach()` instead")
                found = tensor._vc[0]
                if found != version:
                    raise modified(tensor, found, version, gradient_edge(tensor))
        return values

    def _was_interior(self, argument: int) -> bool:
        """Whether this argument had a history, other than being a leaf."""
        for i, edge in zip(self.plan.rule.inputs, self.edges):
            if i == argument:
                return edge is not None and not isinstance(edge[0], AccumulateGrad)
        return False

    def _result(self, alias: Tensor) -> Tensor:
        """The saved result with its place in the graph."""
        result = untracked_alias(alias)
        node = self._result_node() if self._result_node is not None else self
        result._autograd = (node or self, 0)
        return result

    def apply(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        values = self.environment()
        metas = self.metas
        found: list[Tensor | None] = [None] * len(metas)
        if all(g is None for g in grads):
            return found
        values[GRAD] = grads if self.plan.rule.several else grads[0]
        for k, function, places in self.plan.steps:
            grad = function(*[values[place] for place in places])
            if grad is not None:
                meta = metas[k]
                found[k] = grad if grad._meta is meta else fit(grad, meta, self, k)  # type: ignore[arg-type]
        return found

    def release(self) -> None:
        if self.saved:
            wrapped = self.plan.rule.wrapped
            if any(version is not None or kind == ARGUMENT and i in wrapped
                   for version, (kind, i) in zip(self.versions, self.plan.sources)):
                self.saved = None


def rule_of(op: Any) -> Rule:
    try:
        return op.rule  # type: ignore[no-any-return]
    except AttributeError:
        op.rule = Rule(op, Recorded)
        return op.rule  # type: ignore[no-any-return]


def record(op: Any, args: Sequence[Any], result: Any, form: str) -> None:
    """Give the result of a call its place in the graph, if it is floating and something requires grad."""
    try:
        rule = op.rule
    except AttributeError:
        rule = rule_of(op)
    if result.__class__ is not Tensor and not isinstance(result, Tensor):
        return _record_several(rule, args, result)
    if result._meta.dtype.category < FLOATING:
        return
    node = rule.make(args)
    if node is not None:
        if node.plan.saves_result:
            save_result(node, result)
        result._autograd = (node, 0)


def _record_several(rule: Rule, args: Sequence[Any], results: tuple[Tensor, ...]) -> None:
    if results and results[0]._meta.dtype.category >= FLOATING and (node := rule.make(args)) is not None:
        node.count = len(results)
        for i, result in enumerate(results):
            result._autograd = (node, i)


def save_result(node: Recorded, result: Tensor) -> None:
    """Fill in the saved result, after the call."""
    node._result_node = None
    for i, (kind, _) in enumerate(node.plan.sources):
        if kind == RESULT:
            node.saved[i] = untracked_alias(result)  # type: ignore[index]
            node.versions[i] = version_to_save(result)  # type: ignore[index]
