"""Seeded faults: right subjects with one thing wrong, each of which the kit must notice.

A fault is a deliberately wrong implementation of one thing, patched into reftorch while the subject runs a case and
taken out again before the kit judges it: the kit's own reference is the same code, and must stay right. The modules
here hold the faults, by kind; each is a decorated function whose docstring says what is wrong:

    @wrong_formula("addcmul", "E1")     a scalar formula that the operator computes with
    @wrong_call("add", "O1")            a function that is called in place of the operator
    @fault("add", "P1")                 a function that gives a context in which something else is wrong

with the operator and the keys of the clauses that are meant to catch it. `reftorch faults` tries them all.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import pkgutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from reftorch.dispatch.pointwise import Pointwise

from ..case import Case, Outcome
from ..clause import CRASHED, DIVERGED, PROFILES, Subject
from ..execute import Call, execute
from ..subjects.reftorch_devices import Reftorch
from ..worker import hold, load_chapters

Patch = Callable[[], contextlib.AbstractContextManager[Any]]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    op: the operator that it is in. caught_by: keys of the clauses that are meant to notice; alone: no other clause does.
    kind: its module. device: where the subject runs. dtypes: what it is about, None for any. patch: makes the context in
    which the operator is wrong. wrap: given the call and the case, the function to call instead.
    """

    name: str
    summary: str
    op: str
    caught_by: tuple[str, ...]
    kind: str
    device: str = "cpu"
    dtypes: tuple[str, ...] | None = None
    alone: bool = False
    patch: Patch = contextlib.nullcontext
    wrap: Callable[[Call, Case], Call] | None = None

    def subject(self) -> Subject:
        return Faulty(self)


class Faulty(Reftorch):
    """reftorch with a fault, which is there while a case runs and at no other time."""

    def __init__(self, fault: Fault):
        super().__init__(fault.device)
        self.fault = fault
        self.name = f"{self.name}, {fault.name}"

    def run(self, case: Case) -> Outcome:
        import reftorch
        op = operator(self.fault.op)
        op.forget()  # plans that were made without the fault, and afterwards those that were made with it
        try:
            with self.fault.patch():
                return execute(reftorch, case, self.device, self.fault.wrap)
        finally:
            op.forget()


@dataclass(frozen=True)
class Caught:
    """caught: whether a clause that was meant to notice did. clauses: all that did, of those that were tried."""

    caught: bool
    clauses: tuple[str, ...]
    seconds: float


def operator(name: str) -> Pointwise:
    return getattr(importlib.import_module(f"reftorch.ops.{name}"), name)  # type: ignore[no-any-return]


# ---- the registry ----
_registered: dict[str, Fault] = {}


def register(function: Callable[..., Any], op: str, caught_by: tuple[str, ...], **how: Any) -> None:
    """Add the fault that `function` describes by its name, its docstring and its module."""
    name, kind = function.__name__.strip("_").replace("_", "-"), function.__module__.rpartition(".")[2]
    summary = " ".join((function.__doc__ or "").split())
    assert summary and caught_by and name not in _registered, f"{name}: no docstring, no clause, or a second of its name"
    _registered[name] = Fault(name, summary, op, caught_by, kind, **how)


def fault(op: str, *caught_by: str, **about: Any) -> Callable[[Patch], Patch]:
    """Decorator: a function that gives the context in which the operator is wrong. about: device, dtypes, alone."""
    def add(patch: Patch) -> Patch:
        register(patch, op, caught_by, patch=patch, **about)
        return patch
    return add


def wrong_call(op: str, *caught_by: str, **about: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: function(call, case, **tensors) is called where `call(**tensors)` should be."""
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        register(function, op, caught_by, wrap=lambda call, case: functools.partial(function, call, case), **about)
        return function
    return add


def wrong_formula(op: str, *caught_by: str, compiled: bool = True, when: dict[str, Any] | None = None,
                  **about: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a scalar formula for the calls that have its parameters and these dtypes; see `tools.computing`."""
    def add(formula: Callable[..., Any]) -> Callable[..., Any]:
        from .tools import computing
        where = {k: v for k, v in about.items() if k in ("device", "dtypes")}
        register(formula, op, caught_by, patch=lambda: computing(op, formula, compiled, when, **where), **about)
        return formula
    return add


def faults() -> dict[str, Fault]:
    """Every fault by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(_registered)


# ---- trying them ----
def run_fault(name: str, profile: str = "smoke", seed: int = 0, every: bool = False) -> Caught:
    """Hold the faulty subject to its operator's chapter, in this process.

    The clauses that are meant to notice come first, and the first that does ends it; every: all clauses are tried. Only
    the dtypes are tried that the fault is about.
    """
    start = time.perf_counter()
    found, budget = faults()[name], PROFILES[profile]
    chapter = load_chapters()[found.op]
    clauses = sorted((c for c in chapter.clauses() if c.check is not None), key=lambda c: c.key not in found.caught_by)
    if found.dtypes is not None:
        budget = replace(budget, dtypes=found.dtypes)
    subject = found.subject()
    noticed: list[str] = []
    for clause in clauses:
        rng = Random(f"{seed} {found.op}.{clause.key}")
        verdicts, _ = hold(clause, chapter.op, subject, subject.place(), budget, rng)
        if any(v.status in (DIVERGED, CRASHED) for v in verdicts):
            noticed.append(clause.key)
            if not every:
                break
    return Caught(bool(set(noticed) & set(found.caught_by)), tuple(noticed), time.perf_counter() - start)


def run(names: Sequence[str] = (), jobs: int = 0, echo: Callable[[str], Any] = print) -> bool:
    """Try these faults, or all, and tell of each; whether all were caught."""
    from .score import run as run_all
    return run_all(names, jobs, echo)
