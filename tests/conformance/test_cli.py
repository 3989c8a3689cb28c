"""The command line: exit codes, messages, and that asking for help costs nothing."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kit_standin
import pytest
from click.testing import CliRunner, Result

from conformance import cli
from conformance.changes import changed_formulas
from reftorch.ops.addcdiv import addcdiv
from reftorch.ops.where import where

ROOT = Path(__file__).parents[2]


def invoke(*args: Any) -> Result:
    return CliRunner().invoke(cli.main, [str(a) for a in args])


class Kit:
    """`reftorch conform` on the stand-in chapters, in a folder of its own."""

    def __init__(self, out: Path):
        self.out, self.known = out / "out", out / "known.json"

    def conform(self, subject: str, *more: Any) -> Result:
        return invoke("conform", "--source", "kit_standin:chapters", "--subject", f"kit_standin:{subject}", "--out",
                      self.out, "--jobs", 1, "--chapter", "addcmul", *more)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


class TestConform:
    def test_all_held(self, kit: Kit, tmp_path: Path) -> None:
        result = kit.conform("Right", "--junit", tmp_path / "new" / "junit.xml")
        assert result.exit_code == 0, result.output
        assert "3/3 clauses: addcmul, 12 cases" in result.output and "0 new and 0 known" in result.output
        assert {p.name for p in kit.out.iterdir()} == {"results.jsonl", "report.md", "report.html", "logs"}
        assert (tmp_path / "new" / "junit.xml").read_text().startswith("<?xml")

    def test_regression_and_its_script(self, kit: Kit) -> None:
        result = kit.conform("Wrong")
        assert result.exit_code == 1 and "1 divergences or crashes are not in the baseline" in result.output
        (script,) = kit.out.glob("repro_*.py")
        name = script.stem.removeprefix("repro_")
        assert f"[{name}]" in result.output
        shown = invoke("repro", name[:5], "--out", kit.out, "--show")
        assert shown.exit_code == 0 and shown.output.rstrip() == script.read_text().rstrip()
        ran = invoke("repro", name, "--out", kit.out)
        assert ran.exit_code == 77 and "cannot run: No module named 'no_such_library'" in ran.output
        again = invoke("report", "--out", kit.out)
        assert again.exit_code == 1 and f"[{name}]" in again.output

    def test_unavailable(self, kit: Kit) -> None:
        result = kit.conform("Absent")
        assert result.exit_code == 3 and "its library is not installed" in result.output
        assert kit.conform("Absent", "--subject", "kit_standin:Right").exit_code == 3

    def test_nothing_is_tried_of_what_no_clause_matches(self, kit: Kit) -> None:
        result = kit.conform("Right", "--clause", "addcmul.C99")
        assert result.exit_code == 2 and "no clause matches" in result.output

    def test_a_covered_clause_runs_those_that_cover_it(self, kit: Kit) -> None:
        result = kit.conform("Right", "--clause", "addcmul.C3")
        assert result.exit_code == 0 and "2 clauses held" in result.output and "1/1 clauses" in result.output

    def test_only_what_does_not_apply_is_nothing(self, kit: Kit) -> None:
        assert kit.conform("Right", "--clause", "C4").exit_code == 3

    @pytest.mark.parametrize(("args", "message"), [
        (["--subject", "tarch"], "torch-inductor"),
        (["--profile", "huge"], "huge"),
        (["--spec-version", "1.0"], "2.12"),
        (["--baseline", "no/such/file.json"], "no baseline file"),
        (["--update-baseline"], "needs --baseline"),
        (["--baseline", "x.json", "--update-baseline"], "--reason"),
        (["--baseline", "x.json", "--update-baseline", "--reason", "r", "--expires", "soon"], "2026-12-31"),
        (["--jobs", "-1"], "-1"),
        (["--time-limit", "0"], "0.1"),
        (["--no-such-option"], "--no-such-option"),
    ])
    def test_wrong_use(self, args: list[str], message: str) -> None:
        result = invoke("conform", *args)
        assert result.exit_code == 2 and message in result.output

    def test_a_file_that_is_no_baseline(self, kit: Kit) -> None:
        kit.known.write_text("{}")
        result = kit.conform("Right", "--baseline", kit.known)
        assert result.exit_code == 2 and "is not a baseline" in result.output


def test_the_life_of_a_baseline_entry(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    update = ("--baseline", kit.known, "--update-baseline", "--reason", "it is like that")
    monkeypatch.setenv("KIT_WRONG", "1")
    assert "1 added" in kit.conform("Changing", *update).output
    (entry,) = json.loads(kit.known.read_text())["entries"]
    assert entry["environment"] == {"cpu_capability": ["AVX512"], "torch": ["9.9.1"]}
    known = kit.conform("Changing", "--baseline", kit.known)
    assert known.exit_code == 0 and "0 new and 1 known" in known.output and "it is like that" in known.output

    monkeypatch.setenv("KIT_CAPABILITY", "AVX2")  # on another processor it hides nothing
    assert kit.conform("Changing", "--baseline", kit.known).exit_code == 1
    monkeypatch.delenv("KIT_WRONG")  # nor does it fail there
    other = kit.conform("Changing", "--baseline", kit.known)
    assert other.exit_code == 0 and "not applicable here" in other.output

    monkeypatch.delenv("KIT_CAPABILITY")
    stale = kit.conform("Changing", "--baseline", kit.known)
    assert stale.exit_code == 4 and "no longer shows here" in " ".join(stale.output.split())
    assert kit.conform("Changing", "--baseline", kit.known, "--clause", "C2").exit_code == 0  # C1 did not run
    assert kit.conform("Changing", "--baseline", kit.known, "--profile", "smoke").exit_code == 0  # less was tried
    assert "1 dropped" in kit.conform("Changing", *update).output
    assert json.loads(kit.known.read_text())["entries"] == []


def test_a_script_that_does_not_exist(kit: Kit) -> None:
    result = invoke("repro", "00000000", "--out", kit.out)
    assert result.exit_code == 2 and "there: none" in result.output
    assert invoke("report", "--out", kit.out).exit_code == 2


class TestSpecification:
    @pytest.fixture(autouse=True)
    def chapters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("conformance.worker.load_chapters", kit_standin.chapters)

    def test_explain_a_clause(self) -> None:
        result = invoke("explain", "addcmul.C1")
        assert result.exit_code == 0
        for words in ("The result is the formula.", "source: nowhere", "Held if every element is s + (v*t1)*t2",
                      "fma(v*t1, t2, s)", "cpu eager", "cuda eager since 2.12"):
            assert words in result.output

    def test_explain_a_chapter(self) -> None:
        result = invoke("explain", "addcmul")
        assert result.exit_code == 0 and "addcmul.C4" in result.output and "checked by: C1" in result.output

    @pytest.mark.parametrize(("what", "message"), [
        ("nothing", "no chapter 'nothing'"), ("addcmul.X9", "addcmul has C1")])
    def test_explain_what_is_not_there(self, what: str, message: str) -> None:
        result = invoke("explain", what)
        assert result.exit_code == 2 and message in result.output

    def test_changes(self) -> None:
        result = invoke("changes", "2.11", "2.12")
        assert result.exit_code == 0
        assert "addcmul.C1" in result.output and "2.12: fma(t1, t2, s) if v == 1 else fma(v, t1*t2, s)" in result.output
        assert invoke("changes", "2.12", "2.13").output == "nothing changed from 2.12 to 2.13\n"
        assert invoke("changes", "2.11", "9.9").exit_code == 2

    def test_list(self) -> None:
        assert "addcmul" in invoke("list").output and "addcmul.C2   It has a dtype." in invoke("list", "clauses").output
        assert "torch-inductor" in invoke("list", "subjects").output


def test_changed_formulas() -> None:
    places = {where: (c.before, c.after) for c in changed_formulas(addcdiv, "2.11", "2.12") for where in c.where}
    assert places["cuda eager: float16, bfloat16, float32, float64"] == ("fma(v, t1/t2, s) or s + v*(t1/t2)",
                                                                        "s + t1/t2 if v == 1 else fma(v, t1/t2, s)")
    assert not any(where.startswith("cpu") for where in places)
    assert changed_formulas(where, "2.11", "2.12") == []


def test_doctor_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    names = dict.fromkeys(["kit_standin:Absent", "kit_standin:Right"])
    monkeypatch.setattr("conformance.subjects.subjects", lambda: names)
    monkeypatch.setattr("conformance.doctor.CHAPTERS", "kit_standin:chapters")
    result = invoke("doctor")
    assert result.exit_code == 0, result.output
    assert "one rounding" in result.output and "not available: its library is not installed" in result.output
    assert "cpu eager, specification 2.13" in result.output
    monkeypatch.setattr("conformance.doctor.KERNEL", "raise ImportError('llvmlite is broken')")
    broken = invoke("doctor")
    assert broken.exit_code == 1 and "BROKEN: ImportError: llvmlite is broken" in broken.output


COMMANDS = sorted(cli.main.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0 and len(result.output) > 150


def test_help_imports_nothing_heavy() -> None:
    code = ("import sys; from conformance import cli; from click.testing import CliRunner;"
            "CliRunner().invoke(cli.main, ['conform', '--help']);"
            "print([m for m in ('numpy', 'torch', 'numba', 'rich', 'jinja2', 'reftorch') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_progress_in_a_pipe_is_plain_lines(kit: Kit) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "conformance.cli", "conform", "--source", "kit_standin:chapters", "--subject",
         "kit_standin:Right", "--out", str(kit.out)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and "\x1b" not in done.stdout and "6/6 clauses" in done.stdout


def test_an_interrupted_run_is_incomplete(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr("conformance.runner.Holding.covered", stop)
    result = kit.conform("Right")
    assert result.exit_code == 3 and "INCOMPLETE" in result.output and "addcmul" in result.output
