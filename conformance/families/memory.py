"""Clauses about memory: what a call may read, write and share."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np

from .. import generate
from ..case import CANARY, Case, Outcome, View
from ..clause import DIVERGED, Budget, Clause, Verdict
from ..fingerprint import same
from .base import Checking, Unit, allowed_in_place, has_out_form, some_call, spread, unexpected_error, units


def mask_of(case: Case, view: View) -> np.ndarray:
    """Which bytes of its buffer belong to elements of a view."""
    mask = np.zeros_like(case.buffers[view.buffer])
    lit = view.of(mask)
    if lit.size:
        whole = np.ndarray((*lit.shape, lit.itemsize), np.uint8, mask, view.offset * lit.itemsize, (*lit.strides, 1))
        whole[...] = 1
    return mask.astype(bool)


def form_calls(op: object, unit: Unit, rng: Random, form: str) -> Case:
    """A call in a form, its written tensor strided so that there is memory between its elements."""
    size = generate.shape(rng)
    between = ("stepped", "rows", "permuted", "offset", "contiguous")
    if form == "in-place":
        return some_call(op, unit, rng, size, 0.3, between, form=form, fixed=("self",))  # type: ignore[arg-type]
    case = some_call(op, unit, rng, size, 0.3, generate.LAYOUTS)  # type: ignore[arg-type]
    return case


class Untouched(Checking):
    """M1: after the call every byte but those of the written-to tensor's elements is what it was."""

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        forms = ["functional"] + ["in-place"] * self.op.has_in_place + ["out="] * self.op.has_out
        for form in forms:
            for unit in spread(units(self.op, self.place, budget), 4 if self.place.costly else budget.cases // 2, rng):
                if form == "in-place" and not allowed_in_place(self.op, self.place, unit):
                    continue
                case = form_calls(self.op, unit, rng, form)
                if form == "out=":
                    if not has_out_form(self.op, unit.pattern):
                        continue
                    meta = self.reference.meta(self.op, case)
                    kind = rng.choice(("stepped", "rows", "permuted", "offset"))
                    case = generate.with_out(case, meta.dtype.name, generate.layout(rng, meta.layout.size, kind))
                case.unit = form
                yield case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if outcome.error is not None:
            return "only calls that raise were tried"
        written = case.args["self"] if case.form == "in-place" else case.out
        want = {}
        for index, before in enumerate(case.buffers):
            mask = np.zeros(before.shape, bool)
            if isinstance(written, View) and written.buffer == index:
                mask = mask_of(case, written)
            after = outcome.buffers[index]
            # What the call may write is taken as it came: the values are other clauses' matter.
            want[index] = np.where(mask, after[:before.size], before)
        inputs = "another byte is written"
        return self.differs(case, outcome, inputs, buffers=want)


class Fresh(Checking):
    """M2: a functional result lives in memory of its own."""

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in spread(units(self.op, self.place, budget), 4 if self.place.costly else budget.cases, rng):
            case = some_call(self.op, unit, rng, layouts=("contiguous", "permuted", "offset"))
            case.unit = "functional"
            yield case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if outcome.error is not None or not outcome.bits.size if outcome.bits is not None else True:
            return "no result that has elements"
        return self.differs(case, outcome, "the result is or shares an argument", shares=(), same_object=())


class Unread(Checking):
    """M3: bytes that belong to no element decide nothing. Each call runs twice, with other bytes around its elements."""

    def __init__(self, *args: object):
        super().__init__(*args)  # type: ignore[arg-type]
        self.first: dict[int, Outcome] = {}

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        all_units = units(self.op, self.place, budget)
        for i, unit in enumerate(spread(all_units, 3 if self.place.costly else budget.cases // 2, rng)):
            case = some_call(self.op, unit, rng, (rng.choice((1, 5, 33, 67)),) if rng.random() < 0.5 else None, 0.2,
                             ("stepped", "rows", "offset", "expanded", "contiguous"))
            case.unit = "functional"
            case.note["pair"] = i
            yield case
            yield other_surroundings(case)

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if outcome.error is not None or outcome.bits is None:
            return unexpected_error(case, outcome)
        if not outcome.bits.size:
            return "only empty tensors were tried"
        if not case.note.get("changed"):
            if "pair" in case.note:
                self.first[case.note["pair"]] = outcome
            return "only one of two calls ran"
        before = self.first.pop(case.note.get("pair", -1), None)
        if before is None:
            return self.wrong_value(case, outcome, "the result depends on bytes outside the elements")
        assert before.bits is not None
        if before.bits.dtype == outcome.bits.dtype and same(before.bits, outcome.bits, outcome.dtype).all():
            return None
        return Verdict(DIVERGED, case.unit, "the result depends on bytes outside the elements", case=case,
                       expected="the bits that other surroundings give", got="other bits",
                       wanted={"bits": [before.bits]})


def other_surroundings(case: Case) -> Case:
    """The same call with every byte outside its elements changed."""
    buffers = []
    for index, buffer in enumerate(case.buffers):
        mask = np.zeros(buffer.shape, bool)
        for view in case.views().values():
            if view.buffer == index:
                mask |= mask_of(case, view)
        buffers.append(np.where(mask, buffer, np.uint8(CANARY ^ 0xFF)))
    return replace(case, buffers=buffers, note={**case.note, "changed": True})


CLAUSES = (
    Clause("M1", "A call writes the elements of its result or its target and no other byte: inputs, and what lies between "
                 "and around elements, stay as they are.", "memory safety; the schema's alias annotations", Untouched),
    Clause("M2", "The result of a functional call is a new tensor in memory of its own.",
           "the schema: the result carries no alias annotation", Fresh),
    Clause("M3", "No byte outside the operands' elements has any influence.", "memory safety", Unread),
)
