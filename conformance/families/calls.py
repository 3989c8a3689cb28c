"""Particular calls that a chapter names: what they give, or how they are refused, is what the operator's file says."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from reftorch.dispatch.operator import REQUIRED
from reftorch.dispatch.pointwise import Pointwise

from .. import generate
from ..case import Case, Outcome, Value
from ..clause import Budget, Check, Place, Verdict
from ..generate import Layout
from .base import Checking, unexpected_error
from .in_place import same_error
from .promotion import stable

N = 5


def calls(**named: dict[str, Any]) -> Callable[[Pointwise, Place], Check]:
    """A check of these calls, by what they show.

    Each gives arguments by name: a dtype's name for an operand that is a tensor of it, 'dtype grad' for one that
    requires grad, anything else as it is. `form`: 'in-place', or 'out=' with `out` a dtype.
    """
    return partial(Calls, named=named)


class Calls(Checking):
    def __init__(self, op: Pointwise, place: Place, named: dict[str, dict[str, Any]]):
        super().__init__(op, place)
        self.named = named

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for name, given in self.named.items():
            for _ in range(2 if self.place.costly else 5):
                yield self.call(rng, name.replace("_", " "), dict(given))

    def call(self, rng: Random, unit: str, given: dict[str, Any]) -> Case:
        gen, memory, form = generate.generator(rng), generate.Memory(), given.pop("form", "functional")

        def tensor(text: str) -> Any:
            dtype, _, grad = text.partition(" ")
            return memory.place(generate.values(gen, dtype, N, "near"), dtype, Layout((N,), (1,), 0),
                                requires_grad=bool(grad))

        args: dict[str, Value] = {}
        for p in self.op.parameters:
            value = given.pop(p.name, None if p.default is REQUIRED else p.default)
            args[p.name] = tensor(value) if p.is_operand and isinstance(value, str) else value
        out = tensor(given.pop("out")) if form == "out=" else None
        assert not given, f"{self.op.name} has no parameter {', '.join(given)}"
        return Case(self.op.name, form, args, memory.buffers, out=out, unit=unit)

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if right.error is not None:
            return same_error(self, case, outcome)
        if outcome.error is not None:
            return unexpected_error(case, outcome)
        if right.dtype != outcome.dtype:
            return self.differs(case, outcome, f"{outcome.dtype} instead of {right.dtype}", dtype=right.dtype)
        if right.requires_grad != outcome.requires_grad:
            said = f"requires_grad is {outcome.requires_grad}"
            return self.differs(case, outcome, said, requires_grad=right.requires_grad)
        if right.warnings and (wrong := self.differs(case, outcome, "no warning", warning=stable(right.warnings[0]))):
            return wrong
        if case.form != "functional":
            return None
        return self.wrong_value(case, outcome, "another value")


# The rules for alpha are the same for add and sub.
alphas = calls(
    fraction_for_integers=dict(self="int32", other="int32", alpha=0.5),
    complex_for_floats=dict(self="float32", other="float32", alpha=1j),
    bool_for_floats=dict(self="float32", other="float32", alpha=True),
    too_large=dict(self="float32", other="float32", alpha=1e300),
    too_large_for_int8=dict(self="int8", other="int8", alpha=300),
    integer_for_floats=dict(self="float64", other="float64", alpha=3),
)
