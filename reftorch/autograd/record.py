"""From an operator's derivative functions to nodes: what `boundary.record` does after each call that is tracked.

The parameters of a derivative function say what it needs. `grad` is the gradient of the result (`grads`: a list, for an
operator with several results), `result` the result, any other name an argument of the operator; `<name>_meta` is the
argument's Meta and `<name>_offset` its storage offset, for what needs no data. Arguments are looked at once, when an
operator is first recorded; a call then only fills a node in.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import FLOATING
from ..core.tensor import Tensor
from ..dispatch.function import Function
from ..dispatch.view import untracked_alias
from .accumulate import AccumulateGrad
from .history import gradient_edge
from .node import RELEASED, Edge, Node, fit, modified, next_number, version_to_save

ARGUMENT, META, OFFSET, RESULT = range(4)

# A value of the environment in which derivative functions run: where it comes from.
Source = tuple[int, int]
GRAD = 0  # the environment's first entry


class Plan:
    """What to save, and what to run, when exactly these arguments of an operator want gradients.

    sources: what a node saves, in the order in which backward checks it (by name, as PyTorch does; the result last).
    steps: (argument number among the differentiable ones, function, places of its parameters in [grad, *saved]).
    """

    __slots__ = ("rule", "sources", "steps", "saves_self", "saves_result")

    def __init__(self, rule: Rule, mask: int):
        self.rule = rule
        wanted = [(k, f, list(inspect.signature(f).parameters)) for k, f in enumerate(rule.functions) if mask >> k & 1]
        names = {name for _, _, parameters in wanted for name in parameters} - {"grad", "grads"}
        ordered = sorted(names, key=lambda name: (name == "result", name))
        self.sources: list[Source] = [rule.source(name) for name in ordered]
        self.steps = [(k, f, tuple(ordered.index(name) + 1 if name in names else GRAD for name in parameters))
                      for k, f, parameters in wanted]
        self.saves_self = (ARGUMENT, 0) in self.sources
        self.saves_result = "result" in names


class Rule:
    """The derivatives of one operator, ready for use: the differentiable arguments, and a plan for each set of them."""

    def __init__(self, op: Any):
        self.op = op
        self.names = [p.name for p in op.parameters]
        inputs = [(i, name) for i, name in enumerate(self.names) if name in op.derivative_of]
        if not inputs:  # nothing is known: fail in backward, not before
            inputs = [(i, p.name) for i, p in enumerate(op.parameters) if p.is_operand]
        self.inputs = tuple((1 << k, i) for k, (i, _) in enumerate(inputs))
        self.several = any("grads" in inspect.signature(f).parameters for f in op.derivative_of.values())
        self.wraps_numbers = not isinstance(op, Function)
        self.functions = [op.derivative_of.get(name) or self._unknown for _, name in inputs]
        self.plans: dict[int, Plan] = {}
        self.name = getattr(op, "node_name", None) or "".join(
            part.capitalize() for part in op.name.strip("_").split("_")) + "Backward0"
        self.classes: dict[str, type[Recorded]] = {}
        self.fixed = self.node_class(self.name) if isinstance(self.name, str) else None

    def source(self, name: str) -> Source:
        """What a parameter of a derivative function stands for."""
        if name == "result":
            return RESULT, 0
        for kind, suffix in ((ARGUMENT, ""), (META, "_meta"), (OFFSET, "_offset")):
            if name.endswith(suffix) and (argument := name[:len(name) - len(suffix)]) in self.names:
                return kind, self.names.index(argument)
        raise TypeError(f"{self.op}: a derivative asks for {name!r}, which is no argument")

    def _unknown(self, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative of '{self.op.name}' is not covered")

    def node_class(self, name: str) -> type[Recorded]:
        """The Node class of this name; the class is what a node prints as, so PyTorch's name is the class's."""
        found = self.classes.get(name)
        if found is None:
            found = self.classes[name] = type(name, (Recorded,), {"__slots__": (), "__module__": __name__})
        return found

    def plan(self, mask: int) -> Plan:
        made = self.plans[mask] = Plan(self, mask)
        return made


class Recorded(Node):
    """The node of an operator call.

    saved: the plan's sources. versions: of saved tensors, None for what is no tensor. A saved result is kept as an alias
    outside the graph, since the result itself keeps this node alive.
    """

    __slots__ = ("plan", "saved", "versions", "outputs", "_result_node")

    plan: Plan
    saved: Sequence[Any] | None
    versions: Sequence[int | None]

    def name(self) -> str:
        name = type(self).__name__
        return f"torch::autograd::{name}" if name == "CopyBackwards" else name

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        # A number that a Tensor parameter got counts as a tensor; one that a Scalar parameter got does not.
        return tuple(edge or (None, 0) for edge, meta in zip(self.edges, self.metas)
                     if meta is not None or self.plan.rule.wraps_numbers)

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
        for (_, i), edge in zip(self.plan.rule.inputs, self.edges):
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
                found[k] = grad if grad._meta is meta else fit(grad, meta, self, k)
        return found

    def release(self) -> None:
        if self.saved and any(v is not None for v in self.versions):
            self.saved = None


def rule_of(op: Any) -> Rule:
    try:
        return op.rule  # type: ignore[no-any-return]
    except AttributeError:
        op.rule = Rule(op)
        return op.rule  # type: ignore[no-any-return]


def make_node(op: Any, args: Sequence[Any], always: bool = False) -> Recorded | None:
    """The node of a call, with everything saved but the result; None if nothing requires grad, unless `always`."""
    try:
        rule = op.rule
    except AttributeError:
        rule = rule_of(op)
    mask = tracked = 0
    edges, metas = [], []
    for bit, i in rule.inputs:
        argument = args[i]
        edge = meta = None
        if isinstance(argument, Tensor):
            meta = argument._meta
            edge = argument._autograd
            if edge is not None:
                if argument._view is not None:
                    edge = gradient_edge(argument)
                tracked = 1
                if edge[0] is None:  # NOWHERE
                    edge = None
                else:
                    mask |= bit
        edges.append(edge)
        metas.append(meta)
    if not tracked and not always:
        return None
    node = (rule.fixed or rule.node_class(rule.name(*args)))()
    plan = node.plan = rule.plans.get(mask) or rule.plan(mask)
    node.edges, node.metas, node.number, node.outputs = edges, metas, next_number(), 1
    if plan.sources:
        _save(node, plan, args)
    else:
        node.saved = node.versions = ()
    return node


def _save(node: Recorded, plan: Plan, args: Sequence[Any]) -> None:
    saved: list[Any] = []
    versions: list[int | None] = []
    for kind, i in plan.sources:
        value, version = args[i], None
        if kind == ARGUMENT:
            if isinstance(value, Tensor):
                version = version_to_save(value)
        elif kind == META:
            value = value._meta
        elif kind == OFFSET:
            value = value.storage_offset()
        saved.append(value)
        versions.append(version)
    node.saved, node.versions = saved, versions


def save_result(node: Recorded, result: Tensor) -> None:
    """Fill in the saved result, after the call."""
    node._result_node = None
    for i, (kind, _) in enumerate(node.plan.sources):
        if kind == RESULT:
            node.saved[i] = untracked_alias(result)  # type: ignore[index]
            node.versions[i] = version_to_save(result)  # type: ignore[index]


def record(op: Any, args: Sequence[Any], result: Any, form: str) -> None:
    """Give the result of a call its place in the graph, if it is floating and something requires grad."""
    if result.__class__ is tuple:
        return _record_several(op, args, result)
    if not isinstance(result, Tensor) or result._meta.dtype.category < FLOATING:
        return
    node = make_node(op, args)
    if node is not None:
        if node.plan.saves_result:
            save_result(node, result)
        result._autograd = (node, 0)


def _record_several(op: Any, args: Sequence[Any], results: tuple[Tensor, ...]) -> None:
    if not results or results[0]._meta.dtype.category < FLOATING:
        return
    node = make_node(op, args)
    if node is not None:
        node.outputs = len(results)
        for i, result in enumerate(results):
            result._autograd = (node, i)

