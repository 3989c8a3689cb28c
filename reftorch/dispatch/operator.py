"""The registry of operators, and what one operator is.

An operator's file makes one Operator (in practice a Pointwise, see pointwise.py), hangs its checks, legal formulas and
derivatives on it by decorator, and is then complete: the public function, the method, the in-place method and the
out= form are bound from the schema strings, as PyTorch's bindings are.
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.spec import SPEC_VERSIONS, spec_version
from ..core.tensor import Tensor
from .mode import through_modes
from .schema import FunctionSchema, parse_schema
from .state import state

REGISTRY: dict[str, Operator] = {}

FUNCTIONAL, INPLACE, OUT = "functional", "in-place", "out="


@dataclass(frozen=True)
class On:
    """Where a formula is legal: a device type, a way of running, and a range of releases.

    mode: 'eager', 'inductor' (torch.compile) or 'refs' (PyTorch's reference decompositions).
    since is the first release, until the first one that no longer has it.
    """

    device: str
    mode: str = "eager"
    since: str = SPEC_VERSIONS[0]
    until: str | None = None

    def admits(self, device: str, mode: str, version: str) -> bool:
        order = SPEC_VERSIONS.index
        return (self.device == device and self.mode == mode and order(version) >= order(self.since)
                and (self.until is None or order(version) < order(self.until)))

    def __str__(self) -> str:
        span = "" if self.since == SPEC_VERSIONS[0] else f" since {self.since}"
        return f"{self.device} {self.mode}{span}{f' before {self.until}' if self.until else ''}"


@dataclass(frozen=True)
class Formula:
    """One way to compute an operator, as a scalar function.

    name: its first docstring line. on: where it is legal. categories, dtypes: the compute types it is for (None: all).
    when: the option values it is for. It takes exactly the operands that a call gives, by name.
    """

    function: Callable[..., Any]
    on: tuple[On, ...]
    categories: tuple[int, ...] | None = None
    dtypes: tuple[str, ...] | None = None
    when: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        doc = self.function.__doc__
        assert doc, f"{self.function.__qualname__} has no docstring to name it"
        return doc.strip().splitlines()[0]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(p for p in inspect.signature(self.function).parameters if p != "R")

    @property
    def rounds_inside(self) -> bool:
        """Whether it rounds to the tensor's dtype on the way (a parameter R)."""
        return "R" in inspect.signature(self.function).parameters


@dataclass(frozen=True)
class Parameter:
    """One parameter of the Python binding.

    types: the schema types it may have over all overloads. takes_number: whether a Python number may be given.
    scalar_first: whether the first overload has a Scalar there.
    """

    name: str
    types: frozenset[str]
    kwarg_only: bool
    default: Any
    takes_number: bool = False
    scalar_first: bool = False

    @property
    def is_operand(self) -> bool:
        return "Tensor" in self.types

    @property
    def is_number(self) -> bool:
        return not self.is_operand and "Scalar" in self.types

    @property
    def is_scalar(self) -> bool:
        """Whether it is an operand that is a Scalar in the first overload, and so mostly a number: clamp's bounds."""
        return self.is_operand and self.scalar_first


REQUIRED = inspect.Parameter.empty


def gpu(mode: str = "eager", **span: str) -> tuple[On, ...]:
    """Both kinds of GPU; span: since, until."""
    return On("cuda", mode, **span), On("xpu", mode, **span)


GPU, GPU_INDUCTOR = gpu(), gpu("inductor")
CPU_COMPILED = (On("cpu", "inductor"), On("cpu", "refs"))
EVERYWHERE = (On("cpu"), *CPU_COMPILED, *GPU, *GPU_INDUCTOR)


class Operator:
    """A named operator with its overloads.

    schemas: the functional overloads in PyTorch's grammar, e.g. 'add.Tensor(Tensor self, ...) -> Tensor'; in-place
    and out= forms follow from them. in_place, out, method: which forms the Python binding has. operators: the special
    methods it is ('__add__'). reflected: reflected(x, number) is `number + x`, where that is not the operator with its
    operands swapped. aliases: other names of all forms. numbers: Tensor parameters for which the binding takes a Python
    number all the same. node_name: what autograd calls the node of a call, if that is not <Name>Backward0; a function of
    the arguments where it depends on the overload.
    """

    node_name: str | Callable[..., str] | None = None

    def __init__(self, *schemas: str, in_place: bool = True, out: bool = True, method: bool = True,
                 operators: Sequence[str] = (), reflected: Callable[..., Any] | None = None,
                 aliases: Sequence[str] = (), numbers: Sequence[str] = ()):
        self.schemas: tuple[FunctionSchema, ...] = tuple(parse_schema(s) for s in schemas)
        self.name = self.schemas[0].name.rpartition("::")[2]
        self.has_in_place, self.has_out, self.has_method = in_place, out, method
        self.operators, self.reflected, self.aliases = tuple(operators), reflected, tuple(aliases)
        self.numbers = frozenset(numbers)
        self.function: Callable[..., Any]  # the public function
        self.parameters = _merge_parameters(self.schemas, numbers)
        self.module: str = sys._getframe(2).f_globals["__name__"]
        self.formulas: list[Formula] = []
        self.derivative_of: dict[str, Callable[..., Any]] = {}
        self.checks: list[Callable[..., None]] = []
        if self.name in REGISTRY:
            raise RuntimeError(f"operator '{self.name}' is registered already")
        REGISTRY[self.name] = self

    # ---- what an operator's file adds ----
    def formula(self, *on: On, categories: tuple[int, ...] | None = None, dtypes: tuple[str, ...] | None = None,
                **when: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: a legal formula. With several for one place, the first is the one this library computes with."""
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.formulas.append(Formula(function, on, categories, dtypes, when))
            return function
        return add

    def check(self, function: Callable[..., None]) -> Callable[..., None]:
        """Decorator: an error clause. Called with the arguments by name; may look at metadata and types, not values."""
        self.checks.append(function)
        return function

    def derivatives(self, /, **of: Callable[..., Any]) -> None:
        """For each differentiable argument, the gradient of the loss with respect to it.

        A function's parameters name what it needs: `grad`, arguments of the operator, `result`. What it names among
        tensors is saved for backward. Written in operators, so it can be differentiated again.
        """
        self.derivative_of.update(of)

    # ---- formulas ----
    def formulas_for(self, given: Sequence[str], options: dict[str, Any], category: int | None = None,
                     dtype: str | None = None) -> Iterator[Formula]:
        """The formulas that compute this call, legal anywhere or not at all."""
        for f in self.formulas:
            if (set(f.parameters) == set(given) and (f.categories is None or category in f.categories)
                    and (f.dtypes is None or dtype in f.dtypes)
                    and all(options.get(k) == v for k, v in f.when.items())):
                yield f

    def legal_formulas(self, given: Sequence[str], options: dict[str, Any], category: int, dtype: str, device: str,
                       mode: str = "eager", version: str | None = None) -> list[Formula]:
        """The formulas legal for this call there; the first is the one this library computes with."""
        version = version or spec_version()
        return [f for f in self.formulas_for(given, options, category, dtype)
                if any(on.admits(device, mode, version) for on in f.on)]

    # ---- calls ----
    def call(self, args: tuple[Any, ...], out: Tensor | None, form: str) -> Any:
        """Run the operator on `args`, one for each parameter in order."""
        raise NotImplementedError

    @property
    def doc(self) -> str:
        """The contract: the docstring of the operator's file."""
        return inspect.getdoc(sys.modules.get(self.module)) or ""

    def bound(self, args: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip((p.name for p in self.parameters), args, strict=True))

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


def _merge_parameters(schemas: Sequence[FunctionSchema], numbers: Sequence[str]) -> tuple[Parameter, ...]:
    """One list of parameters for all overloads: types are united; what an overload lacks is optional."""
    merged: dict[str, Parameter] = {}
    longest = max(schemas, key=lambda s: len(s.arguments))
    for argument in longest.arguments:
        types: set[str] = set()
        for schema in schemas:
            for a in schema.arguments:
                if a.name == argument.name:
                    types.add(str(a.type).rstrip("?"))
                    if str(a.type).endswith("?"):
                        types.add("None")
        lacking = any(argument.name not in [a.name for a in schema.arguments] for schema in schemas)
        default = argument.default_value if argument.has_default else None if lacking else REQUIRED
        merged[argument.name] = Parameter(argument.name, frozenset(types), argument.kwarg_only, default,
                                          "Scalar" in types or argument.name in numbers,
                                          any(a.name == argument.name and a.type.base == "Scalar"
                                              for a in schemas[0].arguments))
    return tuple(merged.values())


class Handle:
    """What a dispatch mode receives as `func`: one form of one operator. Calling it goes on with the call."""

    def __init__(self, op: Operator, form: str):
        self.op, self.form = op, form
        self.__name__ = op.name + ("_" if form == INPLACE else "")

    def __call__(self, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        names = [p.name for p in self.op.parameters]
        given = dict(zip(names, args, strict=False), **kwargs)
        values = tuple(given.get(p.name, p.default) for p in self.op.parameters)
        if state.modes:
            return through_modes(self, values, {} if out is None else {"out": out})
        return self.op.call(values, out, self.form)

    def __repr__(self) -> str:
        return f"<{self.op.name}{'_' if self.form == INPLACE else '.out' if self.form == OUT else ''}>"
