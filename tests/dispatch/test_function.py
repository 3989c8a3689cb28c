"""Operators made of one Python function: binding, modes, alias information."""
from __future__ import annotations

import pytest

import reftorch as torch
from reftorch.dispatch.function import COMPOSITES, Function
from reftorch.dispatch.mode import DispatchMode
from reftorch.dispatch.operator import REGISTRY

FUNCTIONS = {name: op for name, op in REGISTRY.items() if isinstance(op, Function)}


class Log(DispatchMode):
    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_see_operators_and_not_composites():
    x = torch.ones(2, 3, requires_grad=True)
    with Log() as log:
        y = x.reshape(6)[1:].to(torch.float64)
        y.sum().backward()
    assert log.seen[:4] == ["view", "slice", "_to_copy", "sum"] and "slice_backward" in log.seen
    assert x.grad.tolist() == [[0, 1, 1], [1, 1, 1]]


def test_a_mode_may_replace_the_result():
    class Instead(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return 5 if func.__name__ == "clone" else func(*args, **(kwargs or {}))
    with Instead():
        assert torch.ones(2).clone() == 5


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_schema_says_what_is_shared(name):
    op = FUNCTIONS[name]
    assert op.writes == name.endswith("_") and not (op.writes and op.is_view)
    assert op.doc and op.function.__doc__.startswith(str(op.schemas[0]))


@pytest.mark.parametrize(("view", "shares"), [
    (lambda x: x.view(6), True), (lambda x: x.t(), True), (lambda x: x[0], True), (lambda x: x.expand(2, 2, 3), True),
    (lambda x: x.detach(), True), (lambda x: x.view(torch.int32), True), (lambda x: x.clone(), False),
    (lambda x: x.to(torch.float64), False), (lambda x: x.t().reshape(6), False), (lambda x: x.t().contiguous(), False)])
def test_views_share_memory_and_version(view, shares):
    x = torch.ones(2, 3)
    result = view(x)
    x.add_(1)
    assert (result.untyped_storage() is x.untyped_storage()) == shares
    assert result._version == (1 if shares else 0)


def test_view_of_a_view_has_the_first_tensor_as_base():
    x = torch.ones(2, 3)
    assert x.t()[0]._base is x and x._base is None and not x.detach()._is_view()


def test_geometry_is_worked_out_once_for_each_input():
    x, y = torch.arange(6).view(2, 3), torch.arange(6.0).view(2, 3)
    assert [t.select(1, 2).tolist() for t in (x, y, x.t().contiguous().t(), x)] == [[2, 5]] * 4


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: x.select("a", 0), r"select\(\): argument 'dim' \(position 1\) must be int, not str"),
    (lambda x: torch.select(x, 0, 1.5), r"select\(\): argument 'index' \(position 3\) must be int, not float"),
    (lambda x: torch.select([1], 0, 0), r"select\(\): argument 'input' \(position 1\) must be Tensor, not list"),
    (lambda x: x.permute(), "permute.. missing 1 required positional arguments: \"dims\""),
    (lambda x: x.permute(0, 1.5), "failed to unpack the object at pos 2"),
    (lambda x: torch.zeros(2, dtype="float"), r"zeros\(\): argument 'dtype' must be torch.dtype, not str"),
    (lambda x: torch.full((2,), "a"), r"full\(\): argument 'fill_value' \(position 2\) must be Number, not str"),
    (lambda x: x.copy_("a"), "copy_"),
])
def test_wrong_arguments(call, text):
    with pytest.raises(TypeError, match=text):
        call(torch.ones(2, 3))


def test_options_that_are_not_covered_are_refused():
    with pytest.raises(NotImplementedError, match="does not cover pin_memory=True"):
        torch.ones(2, pin_memory=True)
    assert torch.ones(2, layout=torch.strided, pin_memory=False).tolist() == [1, 1]


def test_public_names():
    assert torch.select is REGISTRY["select"].function and torch.flatten is COMPOSITES["flatten"]
    assert not hasattr(torch, "view") and not hasattr(torch, "select_backward") and not hasattr(torch, "_conj")
