"""Seeded faults: the kit notices each of them, by a clause that is meant to, and nothing of a fault stays behind."""
from __future__ import annotations

import importlib
from random import Random
from types import MappingProxyType
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.chapter import chapters
from conformance.clause import DIVERGED, PROFILES
from conformance.cli import main
from conformance.faults import Fault, Faulty, faults, operator, run_fault
from conformance.worker import hold
from reftorch.core.device import as_device

FAULTS = faults()
OPERATORS = sorted({(f.op, f.device) for f in FAULTS.values()})


def own(key: str) -> bool:
    """Whether a clause is an operator's own, not a family's."""
    return key.startswith("C")


def checked() -> set[tuple[str, str]]:
    """Operator and key of every clause that has a check."""
    return {(name, c.key) for name, chapter in chapters().items() for c in chapter.clauses() if c.check is not None}


# ---- the set of faults ----
def test_there_are_enough() -> None:
    assert len(FAULTS) >= 48
    assert {f.op for f in FAULTS.values()} == set(chapters())


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_clauses_that_are_checked(name: str) -> None:
    fault = FAULTS[name]
    assert {(fault.op, key) for key in fault.caught_by} <= checked()
    assert fault.summary.endswith(".")


def test_every_clause_of_an_operators_own_has_a_fault() -> None:
    meant = {(f.op, key) for f in FAULTS.values() for key in f.caught_by}
    assert {c for c in checked() if own(c[1])} <= meant


def test_every_clause_of_a_family_has_a_fault_that_only_it_catches() -> None:
    """Own clauses name particular calls, which families may meet too; that a family's clause is needed must show."""
    alone = {key for f in FAULTS.values() if f.alone for key in f.caught_by}
    assert {key for _, key in checked() if not own(key)} == alone


# ---- catching them ----
@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_caught(name: str) -> None:
    caught = run_fault(name)
    assert caught.caught, f"{FAULTS[name].summary} Seen by {caught.clauses or 'no clause'}"


@pytest.mark.parametrize("name", [f.name for f in FAULTS.values() if f.alone])
def test_no_other_clause_catches_it(name: str) -> None:
    assert run_fault(name, every=True).clauses == FAULTS[name].caught_by


@pytest.mark.parametrize(("op", "device"), OPERATORS)
def test_without_a_fault_nothing_is_caught(op: str, device: str) -> None:
    """The same subject, machinery and cases, with nothing wrong."""
    subject = Faulty(Fault("nothing", "Nothing is wrong.", op, (), "", device))
    for clause in chapters()[op].clauses():
        if clause.check is not None:
            rng = Random(f"0 {op}.{clause.key}")
            verdicts, _ = hold(clause, operator(op), subject, subject.place(), PROFILES["smoke"], rng)
            wrong = [f"{v.unit}: {v.fingerprint}" for v in verdicts if v.status == DIVERGED]
            assert not wrong, f"{op}.{clause.key}"


# ---- and nothing else ----
def state(op: str, device: str) -> list[Any]:
    """The attributes of everything that faults patch."""
    modules = [importlib.import_module(f"reftorch.{name}") for name in
               ("dispatch.pointwise", "dispatch.boundary", "autograd.record", "autograd.in_place")]
    classes = [vars(modules[2])["Recorded"]]
    return [dict(MappingProxyType(vars(x))) for x in (*modules, *classes, operator(op), as_device(device).backend)]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_leaves_no_trace(name: str) -> None:
    fault = FAULTS[name]
    before = state(fault.op, fault.device)
    with fault.patch():
        inside = state(fault.op, fault.device)
    after = state(fault.op, fault.device)
    assert all(a == b for a, b in zip(before, after))
    assert fault.wrap is not None or any(a != b for a, b in zip(before, inside))


def test_the_score() -> None:
    result = CliRunner().invoke(main, ["faults", "--fault", "two-roundings", "--fault", "out-alias-*", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "2 of 2 faults caught" in result.output
    assert "caught by E1" in result.output
    assert CliRunner().invoke(main, ["faults", "--fault", "no-such-fault"]).exit_code == 2


def test_a_survivor_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance import faults as package
    harmless = Fault("harmless", "Nothing is wrong.", "sign", ("M2",), "values")
    monkeypatch.setitem(package._registered, "harmless", harmless)
    result = CliRunner().invoke(main, ["faults", "--fault", "harmless"])
    assert result.exit_code == 1
    assert "0 of 1 faults caught" in result.output and "not caught: harmless" in result.output
