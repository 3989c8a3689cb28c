"""Reproduction scripts: they run alone, say what is wrong, and exit with 1 exactly while it is."""
from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import kit_standin
import numpy as np
import pytest
import torch
from kit_standin import unfused

from conformance import wanted
from conformance.case import CANARY, Case, Outcome, View
from conformance.clause import CRASHED, DIVERGED, Verdict
from conformance.execute import execute
from conformance.report import load
from conformance.repro import CANNOT_RUN, identity, replay, script
from conformance.runner import Plan, Run
from conformance.shrink import by_element, shrink
from conformance.subjects import Spelling, make_subject
from reftorch.ops.add import add
from reftorch.ops.addcmul import addcmul

EAGER = Spelling()


def run_here(path: Path) -> tuple[Any, str]:
    """Exit code and output of a script, in this process: torch is loaded already."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    return ended.value.code, out.getvalue()


def verdict(case: Case, want: dict[str, Any], **more: Any) -> Verdict:
    got = execute(torch, case)
    shown = {"dtype": got.dtype, "grad_dtypes": got.grad_dtypes}
    return Verdict(DIVERGED, "float32", "wrong", case=case, expected="this", got="that", wanted=want,
                   evidence={"shown": shown}, **more)


def exit_code(tmp_path: Path, case: Case, want: dict[str, Any], spelling: Spelling = EAGER) -> int:
    path = tmp_path / "repro.py"
    path.write_text(script(verdict(case, want), "torch", "addcmul.C1", "What it says.", spelling))
    code, _ = run_here(path)
    assert bool(code) == bool(wanted.differences(want, case, execute(torch, case)))  # the kit agrees with the script
    return int(code)


def buffer(values: Any, dtype: type = np.float32) -> np.ndarray:
    return np.array(values, dtype).view(np.uint8)


def simple(form: str = "functional", **views: Any) -> Case:
    args = {"self": View(0, "float32", (3,), (1,)), "tensor1": View(1, "float32", (3,), (1,)),
            "tensor2": View(2, "float32", (3,), (1,)), "value": 2}
    out, grad = views.pop("out", None), views.pop("grad", None)
    return Case("addcmul", form, args | views, [buffer([1, 2, 3]), buffer([1, 1, np.nan]), buffer([4, 5, 6]),
                                                np.full(40, CANARY, np.uint8)], out, grad)


NAN = np.array([0x7FC00001], np.uint32).view(np.float32)[0]
RIGHT = np.array([9, 12, NAN], np.float32)
WRONG = np.array([9, 12.000001, NAN], np.float32)
GRAD = View(2, "float32", (3,), (1,))
TRACKED = View(0, "float32", (3,), (1,), requires_grad=True)
OUT = View(3, "float32", (3,), (2,), 1)


def after(value: int) -> np.ndarray:
    """The canaries, with the result in OUT; one byte is `value`."""
    memory = np.full(40, CANARY, np.uint8)
    OUT.of(memory)[...] = np.array([9, 12, np.nan], np.float32)
    memory[0] = value
    return memory


@pytest.mark.parametrize(("case", "right", "wrong"), [
    (simple(), {"bits": RIGHT}, {"bits": WRONG}),
    (simple(), {"bits": [WRONG, RIGHT]}, {"bits": [WRONG, WRONG + 1]}),
    (simple(), {"unlike": WRONG}, {"unlike": RIGHT}),
    (simple(), {"between": (RIGHT - 1, RIGHT + 1)}, {"between": (WRONG, WRONG)}),
    (simple(), {"dtype": "float32", "size": (3,)}, {"dtype": "float64"}),
    (simple(), {"stride": (1,), "offset": 0, "device": "cpu"}, {"stride": (2,)}),
    (simple(), {"requires_grad": False, "grad_fn": None}, {"requires_grad": True}),
    (simple(), {"same_object": (), "shares": ()}, {"same_object": ("self",)}),
    (simple("in-place"), {"same_object": ("self",), "shares": ["self"]}, {"shares": []}),
    (simple("in-place"), {"versions": {"self": 1, "tensor1": 0}}, {"versions": {"self": 0}}),
    (simple("out=", out=OUT), {"buffers": {3: after(CANARY)}}, {"buffers": {3: after(0)}}),
    (simple("out=", out=OUT), {"out_size": (3,), "out_stride": (2,)}, {"out_size": (4,)}),
    (simple("out=", out=View(3, "float32", (1,), (1,))), {"warning": "was resized"}, {"warning": None}),
    (simple(), {"error": None}, {"error": {"type": "RuntimeError", "text": "no such error"}}),
    (simple("in-place", self=TRACKED), {"error": {"type": "Exception", "text": "leaf Variable", "phase": "forward"}},
     {"error": None}),
    (simple(self=TRACKED, grad=GRAD), {"grads": {"self": np.array([4, 5, 6], np.float32)}},
     {"grads": {"self": np.array([4, 5, 7], np.float32)}}),
    (simple(self=TRACKED, grad=GRAD), {"grad_dtypes": {"self": "float32"}}, {"grads": {"self": None}}),
    (simple("in-place", self=replace(TRACKED, leaf=False), grad=GRAD),
     {"grads": {"self": np.array([4, 5, 6], np.float32)}}, {"grads": {"self": None}}),
], ids=lambda x: ",".join(x) if isinstance(x, dict) else "")
def test_each_thing_that_can_be_wanted(tmp_path: Path, case: Case, right: dict[str, Any],
                                       wrong: dict[str, Any]) -> None:
    assert exit_code(tmp_path, case, right) == 0
    assert exit_code(tmp_path, case, wrong) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "complex64", "complex128", "int8", "uint8",
                                   "int64", "bool"])
def test_dtypes(tmp_path: Path, dtype: str) -> None:
    x = View(0, dtype, (2, 2), (1, 2))
    case = Case("eq", "functional", {"self": x, "other": View(1, dtype, (), ())}, [np.ones(64, np.uint8)] * 2)
    case = case if dtype == "bool" else replace(case, op="mul")
    right = execute(torch, case).bits
    assert right is not None
    wrong = right.copy()
    wrong.reshape(-1).view(np.uint8)[0] ^= 1
    assert exit_code(tmp_path, case, {"bits": right}) == 0 and exit_code(tmp_path, case, {"bits": wrong}) == 1


@pytest.mark.parametrize("kind", ["empty", "shared", "odd", "many", "alike", "scalar"])
def test_layouts(tmp_path: Path, kind: str) -> None:
    x, other = View(0, "float32", (4,), (1,)), 2.5
    buffers = [buffer([1, 2, 3, 4])]
    if kind == "empty":
        x = View(0, "float32", (0, 2), (2, 1))
    elif kind == "shared":  # one buffer, two dtypes
        other = View(0, "int16", (4,), (2,), 1)  # type: ignore[assignment]
    elif kind == "odd":  # bytes that are no whole element
        x, buffers = View(0, "float32", (2,), (2,), 1), [np.full(19, 64, np.uint8)]
    elif kind == "many":
        x, buffers = View(0, "float32", (400,), (1,)), [buffer(np.arange(400))]
    elif kind == "alike":
        x, buffers = View(0, "float32", (400,), (1,)), [buffer(np.full(400, 3))]
    elif kind == "scalar":
        other = float("-inf")
    case = Case("mul", "functional", {"self": x, "other": other}, buffers)
    assert exit_code(tmp_path, case, {"bits": execute(torch, case).bits}) == 0
    if kind != "empty":
        text = (tmp_path / "repro.py").read_text()
        assert all(len(line) <= 120 for line in text.splitlines()) and len(text.splitlines()) < 80
        assert exit_code(tmp_path, case, {"unlike": execute(torch, case).bits}) == 1


def test_other_spellings(tmp_path: Path) -> None:
    for name in ("torch-refs", "torch-aot-eager", "reftorch"):
        subject = make_subject(name)
        want = {"bits": subject.run(simple()).bits}
        path = tmp_path / "repro.py"
        path.write_text(script(verdict(simple(), want), name, "addcmul.C1", "Text.", subject.spelling))  # type: ignore
        assert run_here(path)[0] is False, name


def test_it_says_when_it_cannot_run(tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    absent = Spelling(("import no_such as torch",))
    path.write_text(script(verdict(simple(), {"bits": WRONG}), "x", "a.C1", "Text.", absent))
    code, out = run_here(path)
    assert code == CANNOT_RUN and "cannot run: No module named" in out
    path.write_text(script(verdict(simple(), {"bits": WRONG}), "torch", "a.C1", "Text.", EAGER, "xpu"))
    assert run_here(path)[0] == CANNOT_RUN


def test_a_crash_is_seen_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    died = Verdict(CRASHED, "float32", "crashes", "it died", case=simple())
    for setup, code in (("import numpy", 1), ("import reftorch as torch", 0)):  # without torch, the call dies
        path.write_text(script(died, "x", "a.C1", "Text.", Spelling((setup,))).replace(
            "self = ", "self = 0 and " if code else "self = ").replace("tensor1 = ", "tensor1 = 0 and " if code else
                                                                       "tensor1 = ").replace(
            "tensor2 = ", "tensor2 = 0 and " if code else "tensor2 = "))
        assert run_here(path)[0] is bool(code)


def test_texts_cannot_break_out_of_the_script(tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    hostile = replace(verdict(simple(), {"bits": RIGHT}), expected='""" + 1/0 + r"""', got="a\\", unit='"""')
    path.write_text(script(hostile, "torch", "a.C1", 'Text """ \\', EAGER))
    assert run_here(path)[0] is False


def test_names_are_stable() -> None:
    name = identity("torch", "addcmul.C1", "x")
    assert name == identity("torch", "addcmul.C1", "x") != identity("torch", "addcmul.C1x", "")
    assert len(identity("a", "b", "c")) == 8


def test_from_torch_to_a_script_in_a_clean_process(tmp_path: Path) -> None:
    plan = Plan(["kit_standin:Torch"], (), chapters=["addcmul"], clauses=["C1"], source="kit_standin:chapters",
                out=tmp_path, jobs=1)
    (subject,) = load(Run(plan).run()).subjects
    (found,) = subject.divergences
    assert found["reproduced"] and found["replay"] == "reproduced in a clean process"
    path = Path(found["script"])
    assert path.name == f"repro_{found['id']}.py"
    again = subprocess.run([sys.executable, path.name], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 1 and again.stdout.startswith("element 0: expected 0x")
    text = path.read_text()
    assert "import conformance" not in text and "addcmul.C1" in text
    assert found["case"]["args"]["self"]["view"]["size"] == [1]  # one element is enough
    essential = [line for line in text.split("failures = []")[1].splitlines() if line]
    assert len(essential) < 12


def test_scripts_are_stopped_in_time(tmp_path: Path) -> None:
    path = tmp_path / "repro.py"
    path.write_text("import time; time.sleep(30)")
    assert replay(path, seconds=0.5).code is None


# ---- shrinking ----
def judge_by(diverges: Any) -> Any:
    def judge(case: Case) -> Verdict | None:
        return Verdict(DIVERGED, "u", "f", case=case) if diverges(case) else None
    return judge


def small(case: Case, diverges: Any, op: Any = addcmul) -> Case:
    found = shrink(case, judge_by(diverges), op, 20)
    assert found is not None and found.case is not None
    return found.case


def elements(case: Case, name: str = "self") -> list[float]:
    return [float(x) for x in np.asarray(case.bits(name)).reshape(-1)]


class TestShrink:
    def test_one_bad_element_is_found(self) -> None:
        case = kit_standin.case(Random(0), 5000)
        case.bits("self")[3210] = 77.0
        case.buffers = [b.copy() for b in case.buffers]
        found = small(case, lambda c: 77.0 in c.bits("self"))
        assert elements(found) == [77.0] and elements(found, "tensor1") == [1.0] and "value" not in found.args

    def test_the_position_matters(self) -> None:
        def block(c: Case) -> bool:  # an element in a complete block of 32 diverges
            x = c.bits("self").reshape(-1)
            return bool((x[:x.size // 32 * 32] > 0).any())
        found = small(kit_standin.case(Random(0), 1000), block)
        assert len(elements(found)) == 32 and len(set(elements(found))) == 1

    def test_layout_gradients_and_form_go_if_they_do_not_matter(self) -> None:
        case = simple("in-place", self=View(3, "float32", (3,), (2,), 1, requires_grad=True, leaf=False), grad=GRAD)
        case.buffers[3][4:] = buffer(np.arange(9))
        found = small(case, lambda c: 4.0 in elements(c))
        view = found.args["self"]
        assert isinstance(view, View) and found.form == "functional" and found.grad is None
        assert (view.size, view.stride, view.offset, view.requires_grad) == ((1,), (1,), 0, False)
        assert all(b.size == 4 for b in found.buffers)

    def test_they_stay_if_they_do(self) -> None:
        case = simple("in-place", self=View(3, "float32", (3,), (2,), 1))

        def strided(c: Case) -> bool:
            view = c.args["self"]
            return isinstance(view, View) and c.form == "in-place" and view.stride == (2,)
        found = small(case, strided)
        assert found.form == "in-place" and found.args["self"] == replace(case.args["self"], buffer=0)

    def test_zero_dim_operands_keep_their_dimension(self) -> None:
        args = {"self": View(0, "float32", (4, 4), (1, 4)), "other": View(1, "float64", (), ())}
        case = Case("add", "functional", args, [buffer(np.arange(16)), buffer([0.1], np.float64)])
        found = small(case, lambda c: 7.0 in elements(c), add)
        assert found.args["other"].size == () and elements(found) == [7.0]  # type: ignore[union-attr]

    def test_numbers_become_simple(self) -> None:
        found = small(kit_standin.case(Random(0), 4), lambda c: c.args.get("value", 1) not in (0, 1))
        assert found.args["value"] == 2.0

    def test_digits_that_do_not_matter_go(self) -> None:
        def not_simple(c: Case) -> bool:
            x = elements(c)
            return len(x) == 1 and x[0] not in (0, 0.5, 1, 2, 3)
        found = small(kit_standin.case(Random(0), 1), not_simple)
        assert int(found.bits("self").view(np.uint32)[0]) & 0xFFFFF == 0

    def test_what_does_not_diverge_alone_is_left(self) -> None:
        assert shrink(simple(), lambda c: None, addcmul) is None

    def test_judged_element_by_element(self) -> None:
        """A subject that is wrong in whole blocks of 8, judged by what each element should be."""
        def run(c: Case) -> Outcome:
            bits = unfused(c).reshape(-1).copy()
            bits[:bits.size // 8 * 8] += np.float32(0.25)
            return Outcome(dtype="float32", bits=bits, size=bits.shape, stride=(1,))
        case = kit_standin.case(Random(0), 100)
        judge = by_element(Verdict(DIVERGED, case=case, wanted={"bits": unfused(case)}), run)
        found = shrink(case, judge, addcmul) if judge else None
        assert found is not None and found.case is not None
        assert len(elements(found.case)) == 8 and len(set(elements(found.case))) == 1
        assert (found.wanted["bits"][0] == unfused(found.case)).all()
        assert by_element(Verdict(DIVERGED, case=case, wanted={"stride": (1,)}), run) is None


def test_a_crash_becomes_small(tmp_path: Path) -> None:
    plan = Plan(["kit_standin:CrashingOnLarge"], (), clauses=["addcmul.C1"], source="kit_standin:chapters",
                out=tmp_path, jobs=1)
    (subject,) = load(Run(plan).run()).subjects
    (crash,) = subject.divergences
    assert crash["fingerprint"] == "crashes: killed by SIGSEGV" and crash["note"] == ""
    case = Case.from_json(crash["case"])
    assert len(elements(case)) == 1 and elements(case)[0] > 1.5
