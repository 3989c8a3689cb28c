"""The specification held against itself: whatever the kit reports of a right subject is a false alarm."""
from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

import reftorch
from conformance import generate, wanted
from conformance.case import Case
from conformance.chapter import chapters
from conformance.clause import DIVERGED, PROFILES, Place
from conformance.execute import execute
from conformance.families.base import Checking, Uncovered
from conformance.reference import Reference
from conformance.runner import Plan, Run
from conformance.subjects.reftorch_devices import Reftorch
from conformance.worker import hold

CHAPTERS = chapters()
CPU = Place("cpu", "eager", "2.13")
GENERATED = 200_000


def alarm(case: Case, device: str = "cpu") -> list[str]:
    """What the compiled device shows otherwise than the reference, which reads the same formulas with NumPy."""
    op = CHAPTERS[case.op].op
    checking = Checking(op, Place(device, "eager", "2.13"))
    try:
        right = checking.expected(case)
    except Uncovered:
        return []
    got = execute(reftorch, case, device)
    want = wanted.from_outcomes(right, got, case)
    if "bits" in want and got.bits is not None and case.form != "out=" and checking.fits(case, got, got.dtype)[0].all():
        for key in ("bits", "buffers"):  # complex arithmetic, within its bound
            want.pop(key, None)
    return wanted.differences(want, case, got) if want else []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(generate.cases())
def test_any_call_shows_what_the_reference_shows(case: Case) -> None:
    real = all("complex" not in v.dtype for v in case.views().values())
    found = alarm(case)
    assert not found or not real, found


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_random_calls(device: str) -> None:
    rng = Random(11)
    for _ in range(400):
        case = generate.random_case(rng, CHAPTERS[rng.choice(list(CHAPTERS))].op,
                                    [d for d in generate.COMPUTING if "complex" not in d])
        if not any(isinstance(v, complex) for v in case.args.values()):
            assert not alarm(case, device), case


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_clause_holds_in_smoke(name: str) -> None:
    chapter, subject = CHAPTERS[name], Reftorch("cpu")
    for clause in chapter.clauses():
        if clause.check is not None:
            verdicts, _ = hold(clause, chapter.op, subject, CPU, PROFILES["smoke"], Random(f"test {name}.{clause.key}"))
            assert verdicts and not [v for v in verdicts if v.status == DIVERGED], f"{name}.{clause.key}: {verdicts}"


def test_the_reference_leaves_devices_as_they_were() -> None:
    from reftorch.core.device import as_device
    before = as_device("cpu"), as_device("cuda:0")
    Reference(CPU).outcome(generate.random_case(Random(0), CHAPTERS["add"].op))
    assert (as_device("cpu"), as_device("cuda:0")) == before
    assert as_device("cpu") is before[0]


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_two_hundred_thousand_cases_raise_no_false_alarm(tmp_path: Path) -> None:
    """The standard profile on both devices with one seed after another, in worker processes, as `reftorch conform`."""
    cases, seed = 0, 0
    while cases < GENERATED:
        for subject in ("reftorch", "reftorch-cuda"):
            path = Run(Plan(subjects=(subject,), profile="standard", seed=seed, out=tmp_path / f"{subject}{seed}")).run()
            records = [json.loads(line) for line in path.read_text().splitlines()]
            cases += sum(r["cases"] for r in records if r["type"] == "clause")
            wrong = [r for r in records if r["type"] == "verdict" and r["status"] in ("diverged", "crashed")]
            assert not wrong, wrong[0]
        seed += 1
