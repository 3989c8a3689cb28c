"""execute(): the same observations from PyTorch and from reftorch, for every form, layout and kind of trouble."""
from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import reftorch
from conformance.case import CANARY, Case, View
from conformance.execute import NotRun, call_text, execute, literal
from conformance.subjects import covered_version, make_subject, subjects

NAMESPACES = [(torch, "cpu"), (reftorch, "cpu"), (reftorch, "cuda")]
IDS = ["torch", "reftorch", "reftorch-cuda"]


def buffer(values: Any, dtype: type = np.float32) -> np.ndarray:
    return np.array(values, dtype).view(np.uint8)


def vector(index: int, n: int = 4, dtype: str = "float32", **more: Any) -> View:
    return View(index, dtype, (n,), (1,), **more)


def addcmul(form: str = "functional", grad: bool = False, **views: View) -> Case:
    """1..4 + 0.5 * 2 * (10, 20, 30, 40), with a spare buffer of canaries."""
    args = {"self": vector(0, requires_grad=grad), "tensor1": vector(1, requires_grad=grad), "tensor2": vector(2),
            "value": 0.5}
    buffers = [buffer([1, 2, 3, 4]), buffer([2, 2, 2, 2]), buffer([10, 20, 30, 40]), np.full(64, CANARY, np.uint8)]
    out = views.pop("out", None)
    return Case("addcmul", form, {**args, **views}, buffers, out, vector(1) if grad else None)


RESULT = [11.0, 22.0, 33.0, 44.0]


@pytest.mark.parametrize(("namespace", "device"), NAMESPACES, ids=IDS)
class TestOutcome:
    def test_functional(self, namespace: Any, device: str) -> None:
        got = execute(namespace, addcmul(), device)
        assert got.error is None
        assert got.bits is not None and got.bits.tolist() == RESULT
        assert (got.dtype, got.device, got.size, got.stride, got.offset) == ("float32", device, (4,), (1,), 0)
        assert got.same_object == got.shares == () and not got.requires_grad and got.grad_fn is None
        assert all((a == b).all() for a, b in zip(got.buffers, addcmul().buffers, strict=True))

    def test_method(self, namespace: Any, device: str) -> None:
        got = execute(namespace, addcmul("method"), device)
        assert got.bits is not None and got.bits.tolist() == RESULT

    def test_in_place(self, namespace: Any, device: str) -> None:
        got = execute(namespace, addcmul("in-place"), device)
        assert got.same_object == got.shares == ("self",)
        assert got.versions == {"self": (0, 1), "tensor1": (0, 0), "tensor2": (0, 0)}
        assert got.buffers[0].view(np.float32).tolist() == RESULT

    def test_out_into_a_strided_view_leaves_its_surroundings(self, namespace: Any, device: str) -> None:
        out = View(3, "float32", (4,), (3,), 2)
        got = execute(namespace, addcmul("out=", out=out), device)
        assert got.same_object == ("out",) and got.versions["out"] == (0, 1) and got.offset == 2
        assert out.of(got.buffers[3]).tolist() == RESULT
        out.of(got.buffers[3])[...] = out.of(np.full(64, CANARY, np.uint8))
        assert (got.buffers[3] == CANARY).all()

    def test_out_is_resized_with_a_warning(self, namespace: Any, device: str) -> None:
        got = execute(namespace, addcmul("out=", out=View(3, "float32", (2,), (1,))), device)
        assert got.error is None and got.out_size == (4,) and got.out_stride == (1,)
        assert any("was resized" in w for w in got.warnings)

    def test_out_may_grow_past_its_memory(self, namespace: Any, device: str) -> None:
        case = addcmul("out=", out=View(3, "float32", (0,), (1,)))
        case.buffers[3] = np.empty(0, np.uint8)
        got = execute(namespace, case, device)
        assert got.bits is not None and got.bits.tolist() == RESULT and got.buffers[3].size == 0

    def test_strides_offsets_and_shared_memory(self, namespace: Any, device: str) -> None:
        case = addcmul(self=View(2, "float32", (2,), (2,), 1), tensor1=View(0, "float32", (2,), (0,), 2),
                       tensor2=View(2, "float32", (2, 2), (1, 2)))
        got = execute(namespace, case, device)
        assert got.bits is not None and got.bits.tolist() == [[35.0, 85.0], [50.0, 100.0]]

    def test_bfloat16(self, namespace: Any, device: str) -> None:
        codes = buffer([0x3F80, 0x4000], np.uint16)
        x = View(0, "bfloat16", (2,), (1,))
        got = execute(namespace, Case("add", "functional", {"self": x, "other": x}, [codes]), device)
        assert got.bits is not None and got.bits.dtype == np.uint16 and got.bits.tolist() == [0x4000, 0x4080]

    def test_no_elements(self, namespace: Any, device: str) -> None:
        x = View(0, "float64", (0, 3), (3, 1))
        got = execute(namespace, Case("abs", "functional", {"self": x}, [np.empty(0, np.uint8)]), device)
        assert got.error is None and got.size == (0, 3) and got.bits is not None and got.bits.shape == (0, 3)

    def test_gradients(self, namespace: Any, device: str) -> None:
        got = execute(namespace, addcmul(grad=True), device)
        assert got.requires_grad and got.grad_fn == "AddcmulBackward0"
        assert {k: v.tolist() for k, v in got.grads.items() if v is not None} == {
            "self": [2, 2, 2, 2], "tensor1": [10, 20, 30, 40]}
        assert got.grad_dtypes == {"self": "float32", "tensor1": "float32"}

    def test_in_place_on_the_result_of_a_copy_has_a_gradient(self, namespace: Any, device: str) -> None:
        case = addcmul("in-place", grad=True, self=vector(0, requires_grad=True, leaf=False))
        got = execute(namespace, case, device)
        assert got.error is None and got.same_object == ("self",)
        assert got.grads["self"] is not None and got.grads["self"].tolist() == [2, 2, 2, 2]
        assert got.buffers[0].view(np.float32).tolist() == RESULT

    def test_in_place_on_a_leaf_is_an_error_of_the_forward_call(self, namespace: Any, device: str) -> None:
        got = execute(namespace, addcmul("in-place", grad=True), device)
        assert got.error is not None and (got.error.type, got.error.phase) == ("RuntimeError", "forward")
        assert "leaf Variable that requires grad" in got.error.text
        assert got.grads == {"self": None, "tensor1": None}

    def test_error_in_backward(self, namespace: Any, device: str) -> None:
        got = execute(namespace, replace(addcmul(), grad=vector(1)), device)
        assert got.error is not None and got.error.phase == "backward" and got.bits is not None

    def test_error_names_its_bases(self, namespace: Any, device: str) -> None:
        bools = {n: View(0, "bool", (4,), (1,)) for n in ("self", "tensor1", "tensor2")}
        got = execute(namespace, Case("addcmul", "functional", bools, [np.zeros(4, np.uint8)]), device)
        assert got.error is not None and got.error.type == "NotImplementedError" and "RuntimeError" in got.error.bases

    def test_a_missing_argument_is_an_error(self, namespace: Any, device: str) -> None:
        case = addcmul()
        del case.args["tensor2"]
        got = execute(namespace, case, device)
        assert got.error is not None and got.error.type == "TypeError"


def test_a_host_operand_stays_on_the_host() -> None:
    case = Case("mul", "functional", {"self": vector(0), "other": View(1, "float32", (), (), on_host=True)},
                [buffer([1, 2, 3, 4]), buffer([3])])
    got = execute(reftorch, case, "cuda")
    assert got.device == "cuda" and got.bits is not None and got.bits.tolist() == [3, 6, 9, 12]


def test_what_the_namespace_lacks_is_not_run() -> None:
    class Empty:
        from_numpy, uint8, float32 = torch.from_numpy, torch.uint8, torch.float32
    with pytest.raises(NotImplementedError, match="no function addcmul"):
        execute(Empty, addcmul())
    with pytest.raises(NotImplementedError, match="no method maximum_"):
        execute(torch, Case("maximum", "in-place", {"self": vector(0), "other": vector(0)}, addcmul().buffers))


def test_a_transform_replaces_the_call() -> None:
    got = execute(torch, addcmul(), transform=lambda call, case: lambda **t: call(**t) * 2)
    assert got.bits is not None and got.bits.tolist() == [2 * x for x in RESULT]

    def refuse(**tensors: Any) -> Any:
        raise NotRun("it cannot say this")
    with pytest.raises(NotImplementedError, match="cannot say"):
        execute(torch, addcmul(), transform=lambda call, case: refuse)


def test_what_is_no_tensor_is_an_error_of_the_result() -> None:
    got = execute(torch, addcmul(), transform=lambda call, case: lambda **t: 7)
    assert got.error is not None and got.error.phase == "result" and "returned int" in got.error.text


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_person_who_stops_the_run_is_obeyed(stop: type[BaseException]) -> None:
    def interrupted(**tensors: Any) -> Any:
        raise stop
    with pytest.raises(stop):
        execute(torch, addcmul(), transform=lambda call, case: interrupted)


def test_warnings_do_not_leak() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute(torch, addcmul("out=", out=View(3, "float32", (2,), (1,))))


@pytest.mark.parametrize(("form", "functions", "text"), [
    ("functional", "torch", "torch.addcmul(self, tensor1, tensor2, value=0.5)"),
    ("method", "torch", "self.addcmul(tensor1, tensor2, value=0.5)"),
    ("in-place", "torch", "self.addcmul_(tensor1, tensor2, value=0.5)"),
    ("in-place", "torch._refs", "torch._refs.addcmul_(self, tensor1, tensor2, value=0.5)"),
    ("out=", "torch", "torch.addcmul(self, tensor1, tensor2, value=0.5, out=out)"),
])
def test_call_text(form: str, functions: str, text: str) -> None:
    assert call_text(addcmul(form, **({"out": vector(3)} if form == "out=" else {})), functions) == text


def test_call_text_for_odd_parameters() -> None:
    where = Case("where", "method", {"condition": vector(0), "self": vector(1), "other": 2.0}, [])
    assert call_text(where) == "self.where(condition, 2.0)"
    assert call_text(replace(where, form="functional")) == "torch.where(condition, self, 2.0)"
    clamp = Case("clamp", "functional", {"self": vector(0), "max": 1}, [])
    assert call_text(clamp) == "torch.clamp(self, max=1)"
    assert call_text(Case("abs", "functional", {"self": vector(0), "wrong": "x"}, [])) == "torch.abs(self, wrong='x')"
    assert call_text(Case("div", "functional", {"self": vector(0), "other": None, "rounding_mode": "floor"}, [])) == (
        "torch.div(self, None, rounding_mode='floor')")


@pytest.mark.parametrize("value", [0.1, -0.0, float("inf"), -float("inf"), 1, True, 1 + 2j, complex(-0.0, float("inf")),
                                   "floor", None])
def test_literals_are_exact(value: Any) -> None:
    again = eval(literal(value))
    assert type(again) is type(value) and repr(again) == repr(value)


def test_cases_survive_json() -> None:
    case = addcmul("out=", grad=True, out=View(3, "float32", (4,), (3,), 2), self=vector(0, leaf=False))
    case.args |= {"value": complex(0.1, float("inf")), "flag": True, "none": None}
    again = Case.from_json(case.to_json())
    assert again.args == case.args and again.out == case.out and again.grad == case.grad
    assert all((a == b).all() for a, b in zip(again.buffers, case.buffers, strict=True))


class TestSubjects:
    def test_discovery_finds_every_file(self) -> None:
        names = {"torch", "torch-refs", "torch-inductor", "torch-aot-eager", "reftorch", "reftorch-cuda"}
        assert names <= set(subjects())

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(LookupError, match="torch-inductor"):
            make_subject("tarch")

    def test_names_by_path(self) -> None:
        assert make_subject("kit_standin:Right").name == "right"
        with pytest.raises(LookupError, match="no subject"):
            make_subject("kit_standin:Nobody")

    def test_entry_points(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from importlib.metadata import EntryPoint
        entry = EntryPoint("mine", "kit_standin:Right", "reftorch.subjects")
        monkeypatch.setattr("conformance.subjects.entry_points", lambda group: [entry])
        assert make_subject("mine").name == "right"

    def test_a_missing_device_is_said(self) -> None:
        assert "xpu" in (make_subject("torch", "xpu").unavailable() or "")

    def test_versions(self) -> None:
        assert covered_version("2.12.1+cu126") == "2.12"
        assert covered_version("2.99.0a0") == covered_version("3.0") == "2.13"
        assert covered_version("2.1.0") == "2.11"

    def test_refs_have_no_methods_but_in_place_functions(self) -> None:
        refs = make_subject("torch-refs")
        with pytest.raises(NotImplementedError, match="no methods"):
            refs.run(addcmul("method"))
        got = refs.run(addcmul("in-place"))
        assert got.same_object == ("self",) and got.buffers[0].view(np.float32).tolist() == RESULT

    def test_aot_eager_compiles_a_call_once(self) -> None:
        compiled = make_subject("torch-aot-eager")
        assert compiled.place().costly
        for _ in range(2):
            got = compiled.run(addcmul())
            assert got.bits is not None and got.bits.tolist() == RESULT
        assert len(compiled._compiled) == 1  # type: ignore[attr-defined]
        with pytest.raises(NotImplementedError, match="cannot capture"):
            compiled.run(addcmul("out=", out=View(3, "float32", (4,), (3,), 2)))
