"""From an operator's derivative functions to a table: what to save for backward, and what to run then.

The parameters of a derivative function say what it needs. `grad` is the gradient of the result (`grads`: a list, for an
operator with several results), `result` the result, any other name an argument of the operator; `<name>_meta` is the
argument's Meta and `<name>_offset` its storage offset, for what needs no data. They are looked at once, when an operator
is first recorded; as in dispatch/bind.py, the work of each call is then done by a function generated for the operator.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from .history import gradient_edge
from .node import next_number, version_to_save

ARGUMENT, META, OFFSET, RESULT = range(4)

# What a derivative function gets: (kind, number of the argument).
Source = tuple[int, int]
GRAD = 0  # its place in the environment [grad, *saved]


class Plan:
    """What to save, and what to run, when exactly these arguments of an operator want gradients.

    sources: what a node saves, in the order in which backward checks it (by name, as PyTorch does; the result last).
    steps: (argument number among the differentiable ones, function, places of its parameters in [grad, *saved]).
    save: save(node, args), None if there is nothing to save.
    """

    __slots__ = ("rule", "sources", "steps", "save", "saves_self", "saves_result")

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
        self.save = _save_function(self.sources) if self.sources else None


class Rule:
    """The derivatives of one operator, ready for use: the differentiable arguments, and a plan for each set of them.

    make: make(args, always=False) gives the node of a call, with everything saved but the result; None if nothing requires
    grad, unless `always`.
    """

    def __init__(self, op: Any, node_class: type):
        self.op, self.base = op, node_class
        self.names = [p.name for p in op.parameters]
        # A number that a Tensor parameter got is a tensor in PyTorch: it has an edge, and is saved and released.
        self.wrapped = frozenset(i for i, name in enumerate(self.names) if name in op.numbers)
        # Without any derivative, fail in backward and not before.
        known = op.derivative_of or dict.fromkeys((p.name for p in op.parameters if p.is_operand), self._unknown)
        self.inputs = tuple(i for i, name in enumerate(self.names) if name in known)
        self.functions = [known[self.names[i]] for i in self.inputs]
        self.several = any("grads" in inspect.signature(f).parameters for f in self.functions)
        self.plans: dict[int, Plan] = {}
        self.classes: dict[str, type] = {}
        self.make: Callable[..., Any] = self._make_function()

    def _unknown(self, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative of '{self.op.name}' is not covered")

    def plan(self, mask: int) -> Plan:
        made = self.plans[mask] = Plan(self, mask)
        return made

    def source(self, name: str) -> Source:
        """What a parameter of a derivative function stands for."""
        if name == "result":
            return RESULT, 0
        for kind, suffix in ((ARGUMENT, ""), (META, "_meta"), (OFFSET, "_offset")):
            if name.endswith(suffix) and (argument := name[:len(name) - len(suffix)]) in self.names:
                return kind, self.names.index(argument)
        raise TypeError(f"{self.op}: a derivative asks for {name!r}, which is no argument")

    def node_class(self, name: str) -> type:
        """The Node class of this name; the class is what a node prints as, so it has PyTorch's name."""
        found = self.classes.get(name)
        if found is None:
            found = self.classes[name] = type(name, (self.base,), {"__slots__": (), "__module__": __name__})
        return found

    def _make_function(self) -> Callable[..., Any]:
        name = self.op.node_name or "".join(
            part.capitalize() for part in self.op.name.strip("_").split("_")) + "Backward0"
        space: dict[str, Any] = {"Tensor": Tensor, "valid_edge": _valid_edge, "plans": self.plans, "plan_of": self.plan,
                                 "next_number": next_number, "classes": self.node_class, "name": name}
        cls = "classes(name(*args))"
        if isinstance(name, str):
            space["Class"], cls = self.node_class(name), "Class"
        inputs = "".join(_INPUT.format(k=k, i=i, bit=1 << k) for k, i in enumerate(self.inputs))
        source = _MAKE.format(inputs=inputs, cls=cls, edges="".join(f"e{k}, " for k in range(len(self.inputs))),
                              metas="".join(f"m{k}, " for k in range(len(self.inputs))))
        exec(compile(source, f"<record of {self.op.name}>", "exec"), space)
        return space["make"]  # type: ignore[no-any-return]


# A view's edge may have to be worked out; it may also lead nowhere (see dispatch/view.py).
_INPUT = """
    a = args[{i}]
    e{k} = m{k} = None
    if a.__class__ is Tensor or isinstance(a, Tensor):
        m{k} = a._meta
        if a._autograd is not None:
            e{k} = a._autograd if a._view is None else valid_edge(a)
            tracked = True
            if e{k} is not None:
                mask |= {bit}
"""

_MAKE = """
def make(args, tracked=False):
    mask = 0
{inputs}
    if not tracked:
        return None
    node = {cls}()
    plan = node.plan = plans.get(mask) or plan_of(mask)
    node.edges, node.metas, node.number = ({edges}), ({metas}), next_number()
    if plan.save is None:
        node.saved = node.versions = ()
    else:
        plan.save(node, args)
    return node
"""


def _valid_edge(view: Tensor) -> Any:
    edge = gradient_edge(view)
    return edge if edge is None or edge[0] is not None else None


def _save_function(sources: Sequence[Source]) -> Callable[..., None]:
    lines, saved, versions = [], [], []
    for j, (kind, i) in enumerate(sources):
        saved.append(f"args[{i}]" + {ARGUMENT: "", META: "._meta", OFFSET: ".storage_offset()", RESULT: ""}[kind])
        versions.append("None")
        if kind == ARGUMENT:
            lines.append(f"    a{j} = args[{i}]\n")
            saved[j] = f"a{j}"
            versions[j] = (f"a{j}._vc[0] if a{j}.__class__ is Tensor and a{j}._vc is not None else "
                           f"version_to_save(a{j}) if isinstance(a{j}, Tensor) else None")
    source = (f"def save(node, args):\n{''.join(lines)}    node.saved = [{', '.join(saved)}]\n"
              f"    node.versions = [{', '.join(versions)}]\n")
    space: dict[str, Any] = {"Tensor": Tensor, "version_to_save": version_to_save}
    exec(compile(source, "<save>", "exec"), space)
    return space["save"]  # type: ignore[no-any-return]
