"""The Python binding of an operator, generated from its schema as PyTorch's is.

For `addcdiv` this makes `function(input, tensor1, tensor2, *, value=1, out=None)`, the method, the in-place method
and the operators (`x + y`). Python itself then sorts positional and keyword arguments. The function's body is the
short way of a call: look the plan up under the Metas, run it, tell autograd if something requires grad. Whatever the
table does not know goes the long way, through `op.call`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from . import boundary
from .function import COMPOSITES
from .operator import FUNCTIONAL, INPLACE, REQUIRED, Operator
from .state import state

# One look-up of the plan, or a miss: AttributeError where a number stands for a tensor, KeyError for a new call.
_BODY = """
def {name}({signature}):
    if {short_way}not state.special:
        try:
            run = plans[{key}]
        except (KeyError, AttributeError, TypeError):
            return call(({args},){out})
        result = run({args})
        if ({tracked}) and state.grad_enabled:
            boundary.record(op, ({args},), result, FUNCTIONAL)
        return result
    return call(({args},){out})
"""

_REFLECTED = {"__add__": "__radd__", "__sub__": "__rsub__", "__mul__": "__rmul__", "__truediv__": "__rtruediv__"}
_UPDATED = {"__add__": "__iadd__", "__sub__": "__isub__", "__mul__": "__imul__", "__truediv__": "__itruediv__"}


def bind(op: Any) -> None:
    """Give `op` its public forms: op.function, its aliases among the COMPOSITES, and the methods on Tensor."""
    op.function = _generate(op, op.name, method=False)
    for name in (op.name, *op.aliases):
        if name != op.name:
            COMPOSITES[name] = _generate(op, name, method=False)
        if op.has_method:
            setattr(Tensor, name, _generate(op, name, method=True))
        if op.has_in_place:
            setattr(Tensor, name + "_", _in_place(op, name + "_"))
    for dunder in op.operators:
        setattr(Tensor, dunder, _operator(op, dunder))


def _generate(op: Operator, name: str, method: bool) -> Callable[..., Any]:
    rename = {p.name: "input" if p.name == "self" and not method else p.name for p in op.parameters}
    parameters = list(op.parameters)
    if method:  # the tensor itself comes first, wherever the schema has it
        parameters.sort(key=lambda p: p.name != "self")
    signature, keywords = [], []
    for p in parameters:
        text = rename[p.name] if p.default is REQUIRED else f"{rename[p.name]}={p.default!r}"
        (keywords if p.kwarg_only else signature).append(text)
    if op.has_out and not method:
        keywords.append("out=None")
    if keywords:
        signature += ["*", *keywords]
    names = [rename[p.name] for p in op.parameters]
    operands = [rename[p.name] for p in op.parameters if p.is_operand]
    key = ", ".join(f"{rename[p.name]}._meta" if p.is_operand else
                    f"{rename[p.name]}.__class__" if p.is_number else rename[p.name] for p in op.parameters)
    with_out = op.has_out and not method
    source = _BODY.format(
        name=name, signature=", ".join(signature), short_way="out is None and " if with_out else "",
        key=key + ("," if len(names) == 1 else ""), args=", ".join(names), out=", out" if with_out else "",
        tracked=" or ".join(f"{n}._autograd is not None" for n in operands))
    return _compile(op, name, source)


def _compile(op: Any, name: str, source: str) -> Callable[..., Any]:
    space = {"state": state, "plans": op.plans, "call": op.call, "boundary": boundary, "op": op,
             "FUNCTIONAL": FUNCTIONAL}
    exec(compile(source, f"<binding of {op.name}>", "exec"), space)
    function = space[name]
    function.__module__ = "reftorch"  # type: ignore[attr-defined]
    function.__doc__ = "\n".join(map(str, op.schemas)) + "\n\n" + (op.doc or "")  # type: ignore[attr-defined]
    return function  # type: ignore[return-value]


def _in_place(op: Any, name: str) -> Callable[..., Any]:
    names = [p.name for p in op.parameters]
    others = [p for p in op.parameters if p.name != "self"]
    signature = ["self", *(p.name if p.default is REQUIRED else f"{p.name}={p.default!r}"
                           for p in others if not p.kwarg_only)]
    keywords = [f"{p.name}={p.default!r}" if p.default is not REQUIRED else p.name for p in others if p.kwarg_only]
    if keywords:
        signature += ["*", *keywords]
    source = f"def {name}({', '.join(signature)}):\n    return call(({', '.join(names)},), None, INPLACE)\n"
    space = {"call": op.call, "INPLACE": INPLACE}
    exec(compile(source, f"<binding of {name}>", "exec"), space)
    function = space[name]
    function.__module__ = "reftorch"  # type: ignore[attr-defined]
    return function  # type: ignore[return-value]


def _operator(op: Any, dunder: str) -> Callable[..., Any]:
    """The special method: the method itself, but NotImplemented for operands that are no tensors or numbers."""
    method = getattr(Tensor, op.name, op.function)
    if len([p for p in op.parameters if p.default is REQUIRED]) == 1:
        return method
    if dunder in _REFLECTED:
        reflected = op.reflected or (lambda self, other: op.function(other, self))
        setattr(Tensor, _REFLECTED[dunder], _guarded(reflected))
    if dunder in _UPDATED and op.has_in_place:
        setattr(Tensor, _UPDATED[dunder], _guarded(getattr(Tensor, op.name + "_")))
    return _fast_binary(op, dunder)


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    def special(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float, complex)):
            return NotImplemented
        return method(self, other)
    return special


def _fast_binary(op: Any, dunder: str) -> Callable[..., Any]:
    defaults = [p for p in op.parameters if p.name not in ("self", "other")]
    rest = "".join(f", {p.default!r}" for p in defaults)
    key = "".join(f", {p.default.__class__.__name__}" if p.is_number else f", {p.default!r}" for p in defaults)
    source = f"""
def {dunder}(self, other):
    if not state.special:
        try:
            run = plans[self._meta, other._meta{key}]
        except (KeyError, AttributeError):
            pass
        else:
            result = run(self, other{rest})
            if (self._autograd is not None or other._autograd is not None) and state.grad_enabled:
                boundary.record(op, (self, other{rest}), result, FUNCTIONAL)
            return result
    if not isinstance(other, (Tensor, bool, int, float, complex)):
        return NotImplemented
    return call((self, other{rest}))
"""
    space = {"state": state, "plans": op.plans, "call": op.call, "boundary": boundary, "op": op,
             "FUNCTIONAL": FUNCTIONAL, "Tensor": Tensor}
    exec(compile(source, f"<binding of {dunder}>", "exec"), space)
    return space[dunder]  # type: ignore[return-value]
