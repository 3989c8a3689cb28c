"""Clauses, the checks that hold a subject to them, and what a check can conclude."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from reftorch.dispatch.pointwise import Pointwise

from .case import Case, Outcome

HELD, DIVERGED, NOT_APPLICABLE, NOT_RUN, CRASHED = "held", "diverged", "not applicable", "not run", "crashed"


@dataclass(frozen=True)
class Place:
    """Where a subject runs, which decides what is legal there.

    device: 'cpu', 'cuda', ... mode: 'eager', 'inductor' or 'refs'. version: the spec version, e.g. '2.13'.
    costly: each new operator, dtype and shape costs seconds (a compiler), so checks try few of them.
    """

    device: str
    mode: str
    version: str
    costly: bool = False


# What a costly subject is held to unless a clause is asked for by name: which formula, and which dtype.
AFFORDABLE = ("E1", "P1")


@dataclass(frozen=True)
class Budget:
    """How much a profile tries. cases: per clause, roughly. elements: per value sample. dtypes: None means all."""

    name: str
    cases: int
    elements: int
    dtypes: tuple[str, ...] | None = None


PROFILES = {
    "smoke": Budget("smoke", 20, 4096, ("float32", "bfloat16", "int64", "bool")),
    "standard": Budget("standard", 120, 40_000),
    "deep": Budget("deep", 2000, 400_000),
}


@dataclass
class Verdict:
    """What a check concluded about one unit of a clause (a dtype, a form, an error).

    fingerprint: names the cause of a divergence stably over runs; the same cause has the same one. formula: the
    bit-exact formula found. distance: the worst distance in units in the last place. case: the smallest witness.
    expected, got: for people. reason: why not applicable or not run.
    wanted: what a right outcome of `case` shows, as far as this divergence is about it, in the form that
    conformance/wanted.py describes: {'bits': array}, {'stride': (2, 1)}, {'error': {'type': 'RuntimeError', 'text': 'part
    of it'}}, {'error': None}, ... The reproduction script checks exactly that. Empty: the script checks what differs
    from reftorch's own outcome of the case.
    """

    status: str
    unit: str = ""
    fingerprint: str = ""
    reason: str = ""
    formula: str | None = None
    distance: float | None = None
    case: Case | None = None
    expected: str = ""
    got: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    wanted: dict[str, Any] = field(default_factory=dict)


class Check(Protocol):
    """One clause held against one subject. Made anew for each run; may keep state between cases.

    cases() must give the same cases for the same seed: after a crash it is run again without the guilty one.
    """

    def cases(self, rng: Random, budget: Budget) -> Iterator[Case]: ...

    def see(self, case: Case, outcome: Outcome) -> Iterable[Verdict]:
        """Judge one case; may give nothing yet."""
        ...

    def conclude(self) -> Iterable[Verdict]:
        """What only all cases together show (which formula it is)."""
        ...


@dataclass(frozen=True)
class Clause:
    """One numbered sentence of the contract.

    key: 'C1' for the operator's own (from its docstring), 'E1', 'I1', ... for a family's. check: makes the check;
    None for a clause that other clauses' checks cover, which `covered_by` names.
    """

    key: str
    text: str
    source: str
    check: Callable[[Pointwise, Place], Check] | None
    covered_by: str = ""


class Subject(Protocol):
    """An implementation under test. Third parties register theirs in the entry-point group `reftorch.subjects`."""

    name: str

    def unavailable(self) -> str | None:
        """Why it cannot run here, or None."""
        ...

    def place(self) -> Place: ...

    def environment(self) -> dict[str, str]:
        """What results may depend on: versions, CPU capability, thread count."""
        ...

    def run(self, case: Case) -> Outcome: ...
