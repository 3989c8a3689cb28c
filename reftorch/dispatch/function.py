"""Operators that are one Python function: views, copies, factories, reductions.

    @function("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
    def select(self, dim, index):
        ...
    select.derivatives(self=lambda grad, self_meta, dim, index: ...)

The schema gives the Python binding (names, defaults, types that are checked), says whether `self` is written, and
whether the result shares its memory. The body takes the parameters it needs by name; one that it leaves out may
only be given its default. Like every operator it goes through the dispatch modes, and through autograd.

`composite` is for functions that PyTorch too builds from other operators: modes and autograd see only those.
"""
from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..core.layout import Layout
from ..core.meta import Meta
from ..core.tensor import Tensor
from . import boundary
from .arguments import conversion, left_out, missing, want_gradients
from .mode import through_modes
from .operator import FUNCTIONAL, REQUIRED, Handle, Operator, Parameter
from .state import state
from .view import alias, refuse_inference_tensor

# Public functions that are composed of operators: name -> function.
COMPOSITES: dict[str, Callable[..., Any]] = {}


class Function(Operator):
    """An operator around a Python function. Calling the object calls the public function.

    writes: it changes `self`. is_view: the result shares memory with `self`. public: it has a function of its name.
    differentiable: autograd hears of its calls. factory: not differentiable, and takes requires_grad=.
    numbers: Tensor parameters for which a Python number will do.
    """

    def __init__(self, body: Callable[..., Any], *schemas: str, public: bool = True, method: bool = True,
                 differentiable: bool = True, factory: bool = False, numbers: Sequence[str] = ()):
        super().__init__(*schemas, in_place=False, out=False, method=method, numbers=numbers)
        self.module, self.public, self.factory = body.__module__, public, factory
        self.writes = self.schemas[0].is_inplace
        self.is_view = not self.writes and any(r.type.alias_info is not None for s in self.schemas for r in s.returns)
        taken = inspect.signature(body).parameters
        self.parameters = tuple(_parameter(p, taken) for p in self.parameters)
        differentiable = differentiable and not factory
        self.tensors = () if not differentiable else tuple(i for i, p in enumerate(self.parameters) if p.is_operand)
        self.body, self.body_doc = body, inspect.getdoc(body) or ""
        self.taken = tuple(i for i, p in enumerate(self.parameters) if p.name in taken)
        self.function = _bind(self, method=False)
        if method:
            setattr(Tensor, self.name, _bind(self, method=True))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def doc(self) -> str:
        return self.body_doc

    def call(self, args: tuple[Any, ...], out: Tensor | None = None, form: str = FUNCTIONAL) -> Any:
        if state.modes:
            return through_modes(Handle(self, FUNCTIONAL), args, {})
        tracked = state.grad_enabled and not state.inference and any(
            [isinstance(args[i], Tensor) and args[i]._autograd is not None for i in self.tensors])
        passed = [args[i] for i in self.taken]
        if self.writes:
            target = args[0]
            pending = boundary.before_write(self, args, target) if tracked else None
            refuse_inference_tensor(target)
            self.body(*passed)
            if target._vc is not None:
                target._vc[0] += 1
            if pending is not None:
                boundary.after_write(pending, target)
            return target
        result = self.body(*passed)
        if tracked:
            boundary.record(self, args, result, FUNCTIONAL)
        elif state.inference and not self.is_view and isinstance(result, Tensor):
            result._vc = None
        return result


def function(*schemas: str, **options: Any) -> Callable[[Callable[..., Any]], Function]:
    """Decorator: make the body an operator. See Function for the options; method: it is also Tensor.X."""
    return lambda body: Function(body, *schemas, **options)


def view(*schemas: str, **options: Any) -> Callable[[Callable[..., Any]], Function]:
    """Decorator: make an operator from the geometry of a view.

    The geometry is a function of the input's Meta and the arguments; it returns sizes, strides and an offset in elements,
    or raises. That depends on nothing else, so it is worked out once for the same arguments.
    """
    def decorate(geometry: Callable[..., Any]) -> Function:
        known: dict[Any, tuple[Meta, int]] = {}

        @functools.wraps(geometry)
        def body(self: Tensor, *args: Any) -> Tensor:
            meta = self._meta
            try:
                made, offset = known[meta, args]
            except KeyError:
                size, stride, offset = geometry(meta, *args)
                made, offset = Meta.of(meta.dtype, meta.device, Layout.of(size, stride)), offset * meta.dtype.itemsize
                if len(known) >= 4096:
                    known.clear()
                known[meta, args] = made, offset
            return alias(self, made, self._offset + offset)

        first, *rest = inspect.signature(geometry).parameters.values()
        body.__signature__ = inspect.Signature([first.replace(name="self"), *rest])  # type: ignore[attr-defined]
        return Function(body, *schemas, **options)
    return decorate


def composite(public: bool = True, method: bool = True,
              name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: attach a function that is built from operators as a method, and as a public function."""
    def attach(body: Callable[..., Any]) -> Callable[..., Any]:
        body.__module__ = "reftorch"
        body.__name__ = name or body.__name__
        if method:
            setattr(Tensor, body.__name__, body)
        if public:
            COMPOSITES[body.__name__] = body
        return body
    return attach


def _parameter(p: Parameter, taken: Any) -> Parameter:
    """`p` without alias marks and list sizes in its types, and with the body's default where overloads differ."""
    types = frozenset(re.sub(r"\(.*?\)|(?<=\[)\d+(?=\])", "", t).replace("SymInt", "int") for t in p.types)
    if any(re.search(r"\[\d+\]", t) for t in p.types):  # int[2] takes one int for all
        types |= {"int"}
    if p.takes_number:
        types |= {"Scalar"}
    default = p.default
    if default is REQUIRED and p.name in taken and taken[p.name].default is not inspect.Parameter.empty:
        default = taken[p.name].default
    if default is None:
        types |= {"None"}
    return Parameter(p.name, types, p.kwarg_only, default)


_CALL = """
def {name}({signature}):
{conversions}    if state.special:
        result = call(({args}))
    else:
        result = body({passed})
{after}    return result
"""

_RECORD = """        if ({tracked}) and state.grad_enabled:
            boundary.record(op, ({args}), result, FUNCTIONAL)
"""

_WRITE = """
def {name}({signature}):
{conversions}    return call(({args}))
"""


def _bind(op: Function, method: bool) -> Callable[..., Any]:
    """The Python function of `op`: sorts and converts the arguments, calls the body, tells autograd."""
    name_of = {p.name: "input" if p.name == "self" and not method else p.name for p in op.parameters}
    positional = [p for p in op.parameters if not p.kwarg_only]
    # view(2, 3) for view((2, 3)): methods and factories whose last positional argument is a list of ints
    last = positional[-1] if positional else None
    varargs = last if last is not None and last.types == {"int[]"} and (method or not op.parameters[0].is_operand) else None
    space: dict[str, Any] = {"state": state, "call": op.call, "body": op.body, "boundary": boundary, "op": op,
                             "FUNCTIONAL": FUNCTIONAL, "Tensor": Tensor, "left_out": left_out, "missing": missing,
                             "want_gradients": want_gradients}
    signature: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    for i, p in enumerate(op.parameters):
        name, position = name_of[p.name], None if p.kwarg_only else i + (0 if method else 1)
        if p is varargs:
            signature.append(f"*{name}_")
            keywords.insert(0, f"{name}=None")
            lines.append(f"if {name} is None: {name} = {name}_ or missing({op.name!r}, {name!r})")
        else:
            (keywords if p.kwarg_only else signature).append(name if p.default is REQUIRED else f"{name}={p.default!r}")
        if i not in op.taken:
            lines.append(f"if {name} is not {p.default!r}: left_out({op.name!r}, {name!r}, {name})")
        elif (found := conversion(p.types, name)) is not None and not (method and i == 0):
            space[f"convert_{name}"] = found[1]
            lines.append(f"if {found[0]}: {name} = convert_{name}({name}, {op.name!r}, {name!r}, {position})")
    if op.factory:
        keywords.append("requires_grad=False")
    if keywords:
        signature += keywords if varargs else ["*", *keywords]
    args = "".join(name_of[p.name] + ", " for p in op.parameters)
    after = ""
    if op.factory:
        after = "    if requires_grad: want_gradients(result)\n"
    elif op.tensors:
        tracked = " or ".join(_tracked(op.parameters[i], name_of[op.parameters[i].name]) for i in op.tensors)
        after = _RECORD.format(tracked=tracked, args=args)
    source = (_WRITE if op.writes else _CALL).format(
        name=op.name, signature=", ".join(signature), conversions="".join(f"    {line}\n" for line in lines), args=args,
        passed=", ".join(name_of[op.parameters[i].name] for i in op.taken), after=after)
    exec(compile(source, f"<binding of {op.name}>", "exec"), space)
    made = space[op.name]
    made.__module__ = "reftorch"
    made.__doc__ = "\n".join(map(str, op.schemas)) + "\n\n" + op.body_doc
    return made  # type: ignore[no-any-return]


def _tracked(p: Parameter, name: str) -> str:
    test = f"{name}._autograd is not None"
    return test if p.types == {"Tensor"} else f"{name}.__class__ is Tensor and {test}"
