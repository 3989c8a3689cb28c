"""The Python binding of an operator, generated from its schema as PyTorch's is.

For `addcdiv` this makes `function(input, tensor1, tensor2, *, value=1, out=None)`, the method, the in-place method
and the operators (`x + y`). Python itself then sorts positional and keyword arguments. The function's body is the
short way of a call: look the plan up under the Metas, run it, tell autograd if something requires grad. Whatever the
tables do not know goes the long way, through `op.call`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.tensor import Tensor
from . import boundary
from .function import COMPOSITES
from .operator import FUNCTIONAL, INPLACE, REQUIRED, Operator, Parameter
from .state import state

# A table misses with KeyError for a new call, AttributeError where a number or nothing stands for a tensor, and
# TypeError for what cannot be looked up.
_FUNCTION = """
def {name}({signature}):
{out}    if not state.special:
        try:
            run = plans[{key}]
        except AttributeError:
            run = plans.get({any_key})
            if run is None or {any_tracked}:
                return call(({args},))
            return run({args})
        except (KeyError, TypeError):
            return call(({args},))
        result = run({args})
        if ({tracked}) and state.grad_enabled:
            boundary.record(op, ({args},), result, FUNCTIONAL)
        return result
    return call(({args},))
"""

_OUT = """\
    if out is not None:
        return write({args}, out)
"""

_WRITE = """
def {name}({args}, out):
    if not state.special:
        try:
            into = plans_out[{out_key}]
        except (AttributeError, KeyError, TypeError):
            return call(({args},), out)
        if not ({tracked} or out._autograd is not None) and {apart} and out._vc is not None:
            into(out, {args})
            out._vc[0] += 1
            return out
    return call(({args},), out)
"""

_IN_PLACE = """
def {name}({signature}):
    if not state.special:
        try:
            into = plans_in_place[{any_key}]
        except (AttributeError, KeyError, TypeError):
            return call(({args},), None, INPLACE)
        if not ({any_tracked}) and {apart} and self._vc is not None:
            into(self, {args})
            self._vc[0] += 1
            return self
    return call(({args},), None, INPLACE)
"""

_SPECIAL = """
def {name}({operands}):
    if not state.special:
        try:
            run = plain_plans[{key}]
        except AttributeError:
            run = plain_plans.get({any_key})
            if run is not None and not ({any_tracked}):
                return run({operands})
        except KeyError:
            pass
        else:
            result = run({operands})
            if ({tracked}) and state.grad_enabled:
                boundary.record(op, ({args},), result, FUNCTIONAL)
            return result
    if not isinstance({last}, operand_types):
        return NotImplemented
    return call(({args},))
"""

_REFLECTED = {"__add__": "__radd__", "__sub__": "__rsub__", "__mul__": "__rmul__", "__truediv__": "__rtruediv__"}
_UPDATED = {"__add__": "__iadd__", "__sub__": "__isub__", "__mul__": "__imul__", "__truediv__": "__itruediv__"}
_OPERAND_TYPES = (Tensor, bool, int, float, complex)


def bind(op: Any) -> None:
    """Give `op` its public forms: op.function, its aliases among the COMPOSITES, and the methods on Tensor."""
    names = [p.name for p in op.parameters]
    key = _tuple(_any_key(p, p.name) for p in op.parameters)
    op.key = eval(f"lambda {', '.join(names)}: {key}", {"Tensor": Tensor})
    for name in (op.name, *op.aliases):
        function = _function(op, name, method=False)
        if name == op.name:
            op.function = function
        else:
            COMPOSITES[name] = function
        if op.has_method:
            setattr(Tensor, name, _function(op, name, method=True))
        if op.has_in_place:
            setattr(Tensor, name + "_", _in_place(op, name + "_"))
    for name in op.operators:
        setattr(Tensor, name, _special(op, name))
        if name in _REFLECTED:
            setattr(Tensor, _REFLECTED[name], _guarded(op.reflected or (lambda self, other: op.function(other, self))))
        if name in _UPDATED and op.has_in_place:
            setattr(Tensor, _UPDATED[name], _guarded(getattr(Tensor, op.name + "_")))


def _function(op: Operator, name: str, method: bool) -> Callable[..., Any]:
    called = {p.name: "input" if p.name == "self" and not method else p.name for p in op.parameters}
    parameters = list(op.parameters)
    if method:  # the tensor itself comes first, wherever the schema has it
        parameters.sort(key=lambda p: p.name != "self")
    parts = _parts(op, called)
    if not op.has_out or method:
        return _made(op, name, _FUNCTION, signature=_signature(parameters, called), out="", **parts)
    apart = _apart("out", [(p, called[p.name]) for p in parameters])
    out_key = _tuple([*(_key(p, called[p.name]) for p in op.parameters), "out._meta"])
    write = _made(op, name, _WRITE, apart=apart, out_key=out_key, **parts)
    return _made(op, name, _FUNCTION, write, signature=_signature(parameters, called, ("out=None",)),
                 out=_OUT.format(**parts), **parts)


def _in_place(op: Operator, name: str) -> Callable[..., Any]:
    called = {p.name: p.name for p in op.parameters}
    apart = _apart("self", [(p, p.name) for p in op.parameters if p.name != "self"])
    return _made(op, name, _IN_PLACE, signature=_signature(op.parameters, called), apart=apart, **_parts(op, called))


def _special(op: Operator, name: str) -> Callable[..., Any]:
    """As the method, but NotImplemented for operands that are no tensors or numbers."""
    operands = [p for p in op.parameters if p.is_operand]
    parts = _parts(op, {p.name: p.name for p in op.parameters})
    parts["key"] = _tuple(_key(p, p.name) for p in operands)
    parts["any_key"] = _tuple(_any_key(p, p.name) for p in operands)
    parts["args"] = ", ".join(p.name if p.is_operand else repr(p.default) for p in op.parameters)
    return _made(op, name, _SPECIAL, operands=", ".join(p.name for p in operands), last=operands[-1].name, **parts)


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    def special(self: Tensor, other: Any) -> Any:
        return method(self, other) if isinstance(other, _OPERAND_TYPES) else NotImplemented
    return special


def _apart(target: str, parameters: list[tuple[Parameter, str]]) -> str:
    """A test that each operand is `target` itself or lies in other memory."""
    tests = [f"({name} is {target} or not isinstance({name}, Tensor) or {name}._storage is not {target}._storage)"
             for p, name in parameters if p.is_operand]
    return " and ".join(tests) or "True"


def _parts(op: Operator, called: dict[str, str]) -> dict[str, str]:
    """What the templates share. key, tracked: for a call with tensors only; any_key, any_tracked: for any call."""
    def tracked(p: Parameter) -> str:
        return f"{called[p.name]}._autograd is not None"

    def any_tracked(p: Parameter) -> str:
        return f"isinstance({called[p.name]}, Tensor) and {tracked(p)}"
    operands = [p for p in op.parameters if p.is_operand]
    return {
        "key": _tuple(_key(p, called[p.name]) for p in op.parameters),
        "any_key": _tuple(_any_key(p, called[p.name]) for p in op.parameters),
        "args": ", ".join(called[p.name] for p in op.parameters),
        "tracked": " or ".join((any_tracked if p.is_scalar else tracked)(p) for p in operands),
        "any_tracked": " or ".join(any_tracked(p) for p in operands)}


def _key(p: Parameter, name: str) -> str:
    if p.is_scalar:
        return _any_key(p, name)
    return f"{name}._meta" if p.is_operand else f"{name}.__class__" if p.is_number else name


def _any_key(p: Parameter, name: str) -> str:
    return f"({name}._meta if isinstance({name}, Tensor) else {name}.__class__)" if p.is_operand else _key(p, name)


def _tuple(items: Iterable[str]) -> str:
    return f"({', '.join(items)},)"


def _signature(parameters: Sequence[Parameter], called: dict[str, str], last: Sequence[str] = ()) -> str:
    def text(p: Parameter) -> str:
        return called[p.name] if p.default is REQUIRED else f"{called[p.name]}={p.default!r}"
    keywords = [text(p) for p in parameters if p.kwarg_only] + list(last)
    return ", ".join([text(p) for p in parameters if not p.kwarg_only] + (["*", *keywords] if keywords else []))


def _made(op: Any, name: str, template: str, write: Callable[..., Any] | None = None, /,
          **parts: str) -> Callable[..., Any]:
    space = {"state": state, "plans": op.plans, "plain_plans": op.plain_plans, "plans_in_place": op.plans_in_place,
             "plans_out": op.plans_out, "call": op.call, "boundary": boundary, "op": op, "FUNCTIONAL": FUNCTIONAL,
             "INPLACE": INPLACE, "Tensor": Tensor, "operand_types": _OPERAND_TYPES, "write": write}
    exec(compile(template.format(name=name, **parts), f"<binding of {op.name}>", "exec"), space)
    function: Callable[..., Any] = space[name]
    function.__module__ = "reftorch"
    function.__doc__ = "\n".join(map(str, op.schemas)) + "\n\n" + op.doc
    return function
