"""A mode sees every call: functions, methods, operators, in-place, out=, views, factories."""
from __future__ import annotations

import pytest

import reftorch as torch
from reftorch.dispatch.mode import DispatchMode
from reftorch.dispatch.state import state


class Recorder(DispatchMode):
    def __init__(self, tag="", log=None):
        self.tag, self.log = tag, [] if log is None else log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append(self.tag + repr(func))
        return func(*args, **(kwargs or {}))


def test_every_kind_of_call_is_seen():
    x, y, o = torch.ones(2, 3), torch.ones(3), torch.empty(2, 3)
    calls = [lambda: torch.add(x, y), lambda: x.add(y), lambda: x + y, lambda: 2 - x, lambda: x.mul_(y),
             lambda: torch.neg(x, out=o), lambda: x.t(), lambda: x[0], lambda: x.clone(), lambda: torch.zeros(3),
             lambda: x == y, lambda: -x, lambda: abs(x), lambda: x.to(torch.float64), lambda: x.__setitem__(0, 1.0)]
    for call in calls:
        with Recorder() as mode:
            call()
        assert mode.log, call.__code__


def test_results_are_the_same_under_a_mode():
    x = torch.tensor([1.0, -2.0, 3.0])
    plain = torch.addcmul(x, x, x, value=0.3).tolist()
    with Recorder():
        assert torch.addcmul(x, x, x, value=0.3).tolist() == plain


def test_the_innermost_mode_sees_a_call_first_and_may_pass_it_on():
    log = []
    x = torch.ones(2)
    with Recorder("outer ", log), Recorder("inner ", log):
        x + x
    assert [entry.split()[0] for entry in log] == ["inner", "outer"]


def test_a_mode_may_replace_the_result():
    class Twice(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * 2

    x = torch.ones(2)
    with Twice():
        y = x + x
    assert y.tolist() == [4.0, 4.0]


def test_the_stack_is_empty_after_an_error():
    class Refuse(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    x = torch.ones(2)
    with pytest.raises(ValueError, match="no"), Refuse():
        x + x
    assert state.modes == () and not state.special


def test_a_mode_without_a_handler_says_so():
    x = torch.ones(2)
    with pytest.raises(NotImplementedError, match="__torch_dispatch__"), DispatchMode():
        x + x


def test_autograd_records_what_a_mode_passes_on():
    x = torch.ones(2, requires_grad=True)
    with Recorder():
        y = x * 3
    y.backward(torch.ones(2))
    assert x.grad.tolist() == [3.0, 3.0]
