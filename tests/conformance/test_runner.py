"""The runner: what a subject does to its process costs the case in flight, and nothing is held that did not run."""
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import kit_standin
import pytest

from conformance.clause import CRASHED, DIVERGED, HELD, NOT_APPLICABLE, NOT_RUN, PROFILES
from conformance.report import SubjectResult, load
from conformance.runner import Job, Plan, Queue, Run, clause_status
from conformance.worker import digest, hold


def run(tmp_path: Path, *subjects: str, **options: Any) -> list[SubjectResult]:
    plan = Plan([f"kit_standin:{s}" for s in subjects], (), source=options.pop("source", "kit_standin:chapters"),
                out=tmp_path, jobs=2, **options)
    report = load(Run(plan).run())
    assert report.complete
    return report.subjects


def statuses(subject: SubjectResult, chapter: str = "addcmul") -> dict[str, str]:
    return {c["clause"]: c["status"] for c in subject.clauses if c["chapter"] == chapter}


def test_right_and_wrong_subjects_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = run(tmp_path, "Right", "Wrong")
    assert statuses(right) == statuses(right, "other") == {"C1": HELD, "C2": HELD, "C3": HELD, "C4": NOT_APPLICABLE}
    assert not right.divergences
    assert statuses(wrong) == {"C1": DIVERGED, "C2": HELD, "C3": DIVERGED, "C4": NOT_APPLICABLE}
    assert [(d["chapter"], d["clause"], d["witnesses"]) for d in wrong.divergences] == [
        ("addcmul", "C1", 6), ("other", "C1", 6)]
    assert sum(c["cases"] for c in right.clauses) == 24
    assert wrong.divergences[0]["units"] == ["float32", "float64"]


def test_a_crash_costs_one_case(tmp_path: Path) -> None:
    (subject,) = run(tmp_path, "Crashing", clauses=["addcmul.C1", "addcmul.C2"])
    assert statuses(subject) == {"C1": CRASHED, "C2": CRASHED, "C3": CRASHED}
    crashes = [v for v in subject.verdicts if v["status"] == CRASHED and v["clause"] == "C1"]
    assert sorted(v["fingerprint"] for v in crashes) == ["crashes: exit status 7", "crashes: killed by SIGSEGV"]
    assert [c["cases"] for c in subject.clauses if c["clause"] == "C1"] == [4]  # of six: the others ran
    found = {d["fingerprint"]: d for d in subject.divergences if d["clause"] == "C1"}
    assert found["crashes: killed by SIGSEGV"]["case"]["args"]["self"]["view"]["size"] == [12]
    assert found["crashes: exit status 7"]["case"]["args"]["self"]["view"]["size"] == [13]


def test_a_hang_costs_one_case(tmp_path: Path) -> None:
    (subject,) = run(tmp_path, "Hanging", clauses=["addcmul.C1"], time_limit=3.0)
    assert statuses(subject)["C1"] == CRASHED
    (crash,) = subject.divergences
    assert crash["fingerprint"] == "hangs" and "no answer within 3 s" in crash["got"]
    assert subject.clauses[0]["cases"] == 5


def test_garbage_on_the_streams_does_not_disturb(tmp_path: Path) -> None:
    (subject,) = run(tmp_path, "Garbage", clauses=["C1"])
    assert statuses(subject)["C1"] == HELD
    log = b"".join(p.read_bytes() for p in (tmp_path / "logs").glob("*.log"))
    assert b"garbage" in log and b"more of it" in log


def test_a_subject_that_raises_is_said_to(tmp_path: Path) -> None:
    (subject,) = run(tmp_path, "Raising", clauses=["addcmul.C1"])
    (crash,) = subject.divergences
    assert crash["status"] == CRASHED and "KeyError" in crash["fingerprint"] and crash["witnesses"] == 6


def test_giving_up_after_several_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.runner.CRASHES", 1)
    (subject,) = run(tmp_path, "Crashing", clauses=["addcmul.C1"])
    assert {v["status"] for v in subject.verdicts} == {CRASHED, NOT_RUN}
    assert any("given up" in reason for reason, _ in subject.not_run())


def test_subjects_that_cannot_run(tmp_path: Path) -> None:
    absent, broken = run(tmp_path, "Absent", "Unstartable")
    assert absent.unavailable == "its library is not installed" and not absent.clauses
    assert "SIGABRT" in broken.unavailable


def test_a_failure_of_the_kit_is_no_ones_else(tmp_path: Path) -> None:
    (subject,) = run(tmp_path, "Right", source="kit_standin:failing_chapters", clauses=["C2", "C5"])
    assert statuses(subject) == {"C2": HELD, "C5": CRASHED}
    (crash,) = subject.divergences
    assert "the kit failed, not the subject: RuntimeError: a mistake in the kit" in crash["got"]


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    def cases(folder: str, seed: int) -> list[Any]:
        (subject,) = run(tmp_path / folder, "Wrong", seed=seed, clauses=["C1"])
        return [(d["id"], d["case"]) for d in subject.divergences]
    first = cases("a", 1)
    assert first == cases("b", 1)
    assert [i for i, _ in first] == [i for i, _ in cases("c", 2)]  # the cause, and so the name, is the same


def test_lines_are_strict_json(tmp_path: Path) -> None:
    run(tmp_path, "Wrong")
    lines = (tmp_path / "results.jsonl").read_text().splitlines()

    def refuse(word: str) -> None:
        raise AssertionError(word)
    kinds = Counter(json.loads(line, parse_constant=refuse)["type"] for line in lines)
    assert kinds["run"] == kinds["subject"] == kinds["end"] == 1 and kinds["clause"] == 8 and kinds["divergence"] == 2


class TestHold:
    """What one clause concludes, without processes."""

    @staticmethod
    def hold(subject: Any, check: Any = kit_standin.Values, **more: Any) -> Counter[tuple[str, str]]:
        clause = kit_standin.Clause("C1", "", "", check)
        verdicts, _ = hold(clause, None, subject, subject.place(), PROFILES["smoke"], Random(0), **more)
        return Counter((v.status, v.unit) for v in verdicts)

    def test_partly_not_run(self) -> None:
        found = self.hold(kit_standin.Partial())
        assert found == {(HELD, "float32"): 1, (NOT_RUN, "float32"): 1, (NOT_RUN, "float64"): 1}

    def test_nothing_ran(self) -> None:
        class Nothing(kit_standin.Right):
            def compute(self, c: Any) -> Any:
                raise NotImplementedError("it cannot")
        assert set(self.hold(Nothing())) == {(NOT_RUN, "float32"), (NOT_RUN, "float64")}

    def test_a_check_without_a_conclusion_holds_if_it_saw_something(self) -> None:
        class Silent(kit_standin.Dtype):
            def conclude(self) -> Any:
                return ()

        class Idle(Silent):
            def cases(self, rng: Random, budget: object) -> Any:
                return iter(())
        assert self.hold(kit_standin.Right(), Silent) == {(HELD, ""): 1}
        assert self.hold(kit_standin.Right(), Idle) == {(NOT_RUN, ""): 1}

    def test_skipped_cases_are_crashes(self) -> None:
        cases = list(kit_standin.Values(None, kit_standin.Right().place()).cases(Random(0), None))
        found = self.hold(kit_standin.Right(), skip={2: (digest(cases[2]), "crashes", "it crashed")})
        assert found[CRASHED, "float32"] == 1

    def test_a_check_that_makes_other_cases_is_found_out(self) -> None:
        with pytest.raises(RuntimeError, match="other cases every time"):
            self.hold(kit_standin.Right(), skip={2: (12345, "crashes", "it crashed")})


def test_a_worker_stays_in_its_chapter_and_helps_at_the_end() -> None:
    queue = Queue([Job({}, chapter, str(i)) for chapter, n in (("a", 2), ("b", 4)) for i in range(n)])
    assert queue.take(None).chapter == "b"  # type: ignore[union-attr]
    assert queue.take(None).chapter == "a"  # type: ignore[union-attr]
    assert [queue.take("a").chapter for _ in range(3)] == ["a", "b", "b"]  # type: ignore[union-attr]
    assert queue.left == 1 and queue.take("b") and queue.take("b") is None


def test_the_gravest_status_counts() -> None:
    assert clause_status([HELD, NOT_RUN]) == HELD and clause_status([HELD, DIVERGED, CRASHED]) == CRASHED
    assert clause_status([NOT_APPLICABLE, NOT_RUN]) == NOT_RUN and clause_status([]) == NOT_RUN
