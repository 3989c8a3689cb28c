"""Clauses of in-place methods, x.op_(...)."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from .. import generate
from ..case import Case, Outcome, View
from ..clause import Budget, Clause, Verdict
from .base import EAGER_ONLY, Checking, Twins, Unit, allowed_in_place, some_call, spread, stored, units
from .promotion import stable

BETWEEN = ("contiguous", "stepped", "rows", "permuted", "offset")


class InPlace(Checking):
    """In-place calls that need no conversion of the target."""

    inapplicable = "the operator has no in-place form"

    def chosen(self, budget: Budget, rng: Random, share: float = 1.0) -> Iterator[Unit]:
        if not self.op.has_in_place:
            return
        fitting = [u for u in units(self.op, self.place, budget) if allowed_in_place(self.op, self.place, u)]
        count = 4 if self.place.costly else max(int(budget.cases * share), len(fitting) if share == 1.0 else 0)
        yield from spread(fitting, count, rng)

    def call(self, unit: Unit, rng: Random, size: Any = None, **more: Any) -> Case:
        return some_call(self.op, unit, rng, size, 0.3, BETWEEN, form="in-place", fixed=("self",), **more)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in self.chosen(budget, rng):
            yield self.call(unit, rng)

    def unexpected(self, case: Case, outcome: Outcome, right: Outcome) -> Verdict | str | None:
        """For clauses about calls that succeed."""
        if right.error is not None:
            return "only calls that raise were tried; see I4"
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        return None


class ReturnsSelf(InPlace):
    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        found = self.unexpected(case, outcome, self.expected(case))
        return found or self.differs(case, outcome, "returns another object", same_object=("self",))


class SameValues(Twins, InPlace):
    """The bits of the functional result, converted to the dtype of self; the tensor keeps size, strides and offset."""

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        for unit in self.chosen(budget, rng):
            long = rng.random() < 0.3
            size = (rng.choice((33, 67, 130)),) if long else None
            case = self.call(unit, rng, size, kind=rng.choice(("near", "mixed")), empty=False)
            yield replace(case, form="functional", note={}), case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        excuse = self.excuse(case)
        found = self.unexpected(case, outcome, self.expected(case))
        if found is not None:
            return found
        view = case.args["self"]
        assert isinstance(view, View)
        kept = self.differs(case, outcome, "self changes its geometry", dtype=view.dtype, size=view.size, stride=view.stride,
                            offset=view.offset)
        if kept is not None:
            return kept
        return self.wrong_value(case, outcome, "another value than the functional form", view.dtype,
                                self._stored(case, excuse, view.dtype))

    def _stored(self, case: Case, bits: np.ndarray | None, to: str) -> np.ndarray | None:
        return None if bits is None else stored(bits, self.reference.meta(self.op, case).dtype.name, to)


class CountsVersion(InPlace):
    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in self.chosen(budget, rng, 0.5):
            size = rng.choice((None, (0,), ()))
            yield replace(self.call(unit, rng, size), unit="a call that succeeds")
        for case in refused(self, rng, budget):
            yield replace(case, unit="a call that raises")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if (outcome.error is None) != (right.error is None):
            return "only calls whose error is another clause's matter"
        grown = {name: after - before for name, (before, after) in right.versions.items()}
        return self.wrong_versions(case, outcome, grown)

    def wrong_versions(self, case: Case, outcome: Outcome, grown: dict[str, int]) -> Verdict | None:
        if all(after - before == grown[name] for name, (before, after) in outcome.versions.items()):
            return None
        said = {n: after - before for n, (before, after) in outcome.versions.items()}
        found = self.differs(case, replace(outcome, error=None), "counts writes otherwise", versions=grown)
        assert found is not None
        found.got = f"versions grow by {said}"
        return found


def refused(check: InPlace, rng: Random, budget: Budget) -> Iterator[Case]:
    """In-place calls, most of which have a result of another size or of a dtype that self cannot hold."""
    if not check.op.has_in_place:
        return
    every = [u for u in units(check.op, check.place, budget) if "self" in u.pattern.tensors]
    for unit in spread(every, 3 if check.place.costly else int(budget.cases * 0.4), rng):
        others = [n for n in unit.pattern.tensors if n != "self"]
        if others:
            bigger = check.call(unit, rng, (2, 3))
            small = some_call(check.op, unit, rng, (3,), layouts=BETWEEN, form="in-place")
            bigger.args["self"] = small.args["self"] if isinstance(small.args["self"], View) else bigger.args["self"]
            yield graft(bigger, small, "self")
            name = rng.choice(others)
            dtypes = {name: generate.operand_dtype(check.op, name, rng.choice(("float64", "complex64", "int64", "float32")))}
            yield check.call(unit, rng, (3,), dtypes=dtypes)
        for number in unit.pattern.numbers:
            case = check.call(unit, rng, (3,))
            case.args[number] = rng.choice((1.5, 2) if check.op.scalars else (1.5, 1j, 2))
            yield case
        yield check.call(unit, rng, (3,))


def graft(case: Case, donor: Case, name: str) -> Case:
    """The case with one tensor, and its buffer, taken from another case."""
    view = donor.views()[name]
    buffers = [*case.buffers, donor.buffers[view.buffer]]
    return replace(case, args={**case.args, name: replace(view, buffer=len(buffers) - 1)}, buffers=buffers)


class Refused(InPlace):
    modes = ("eager",)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in refused(self, rng, budget):
            if self.must_raise(case):
                error = self.expected(case).error
                assert error is not None
                yield replace(case, unit="another size" if "shape" in error.text else "a dtype self cannot hold")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        return same_error(self, case, outcome)


def same_error(check: Checking, case: Case, outcome: Outcome) -> Verdict | str | None:
    """Whether the case raises as expected: class, phase and the stable part of the text."""
    if check.place.mode != "eager":
        return EAGER_ONLY
    right = check.expected(case)
    if right.error is None:
        return "the specification allows the calls that were tried"
    # In which words a binding says which types it takes is not part of the contract; that it is a TypeError is.
    text = "" if right.error.type == "TypeError" else stable(right.error.text)
    want = {"type": right.error.type, "text": text, "phase": right.error.phase}
    got = outcome.error.type if outcome.error else "no error"
    if outcome.error is not None and right.error.type in (outcome.error.type, *outcome.error.bases):
        got = "another text"
    return check.differs(case, outcome, f"{got} instead of {right.error.type}", error=want)


class Overlaps(InPlace):
    """Targets that overlap themselves, or an input otherwise than element for element."""

    modes = ("eager",)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in self.chosen(budget, rng, 0.4):
            case = some_call(self.op, unit, rng, (3, 4), form="in-place")
            view = case.args["self"]
            assert isinstance(view, View)
            yield replace(case, args={**case.args, "self": replace(view, stride=(0, 1))}, unit="self overlaps itself")
            for name in unit.pattern.tensors:
                other = case.args[name]
                if name != "self" and isinstance(other, View) and other.dtype == view.dtype:
                    yield replace(case, args={**case.args, name: replace(view, offset=view.offset + 1)},
                                  unit="self overlaps an input")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        return same_error(self, case, outcome)


class WithItself(Twins, InPlace):
    """x.op_(x): an input that is self, element for element, is read before it is written."""

    inapplicable = "there is no second tensor of the same dtype"

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        for unit in self.chosen(budget, rng, 0.6):
            case = self.call(unit, rng, (rng.choice((1, 7, 70)),))
            view = case.args["self"]
            names = [n for n in unit.pattern.tensors if n != "self" and case.views()[n].dtype == view.dtype]  # type: ignore[union-attr]
            if names:
                case = replace(case, args={**case.args, **{n: view for n in names}}, unit="self is every input")
                yield replace(case, form="functional", note={}), case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        excuse = self.excuse(case)
        found = self.unexpected(case, outcome, self.expected(case))
        if found is not None:
            return found
        view = case.args["self"]
        assert isinstance(view, View)
        meta = self.reference.meta(self.op, case)
        bits = None if excuse is None else stored(excuse, meta.dtype.name, view.dtype)
        return self.wrong_value(case, outcome, "an input is overwritten before it is read", view.dtype, bits)


CLAUSES = (
    Clause("I1", "The in-place method returns self, the same object.", "the schema: Tensor(a!) self -> Tensor(a!)",
           ReturnsSelf),
    Clause("I2", "self then holds the functional result, converted to its dtype, and keeps dtype, size, strides and offset.",
           "ATen/TensorIterator.cpp; torch Broadcasting semantics, In-place semantics", SameValues),
    Clause("I3", "The version counter of self grows by one, for empty tensors too, and by nothing when the call raises.",
           "torch/csrc/autograd/variable.h, bump_version", CountsVersion),
    Clause("I4", "A result of another size than self, or of a dtype of a higher category than self's, is a RuntimeError.",
           "torch.can_cast; torch Broadcasting semantics, In-place semantics", Refused),
    Clause("I5", "self may not have two elements in one place in memory, nor overlap an input otherwise than element for "
                 "element: RuntimeError.", "ATen/MemoryOverlap.h, assert_no_internal_overlap, assert_no_partial_overlap",
           Overlaps),
    Clause("I6", "An input may be self, element for element: it is read before it is written.",
           "ATen/MemoryOverlap.h", WithItself),
)
