"""Graphs are freed when nothing refers to them, at once and whatever their size."""
from __future__ import annotations

import gc
import weakref

import pytest

import reftorch as torch


def leaf():
    return torch.ones(3, requires_grad=True)


MAKERS = {
    "saved inputs": lambda x: x * x,
    "saved result": lambda x: x.sqrt(),
    "saved result, in place": lambda x: (x * 2).sqrt_(),
    "view": lambda x: (x * 2)[1:],
    "written through a view": lambda x: write(x * 2),
    "copied": lambda x: torch.zeros(3).copy_(x),
    "several results": lambda x: (x * 1).unbind()[0],
    "regenerated view": lambda x: regenerated(x * 2),
}


def write(y):
    y[0] = 5
    return y


def regenerated(y):
    v = y[1:]
    y.mul_(2)
    assert v.grad_fn.name() == "AsStridedBackward0"
    return v


@pytest.mark.parametrize("name", MAKERS)
def test_no_cycles(name):
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = MAKERS[name](x)
        node, storage = weakref.ref(y.grad_fn), weakref.ref(y.untyped_storage())
        del y
        assert node() is None and storage() is None
        gone = weakref.ref(x)
        del x
        assert gone() is None
    finally:
        gc.enable()


def test_saved_tensors_are_released_by_backward():
    x = leaf()
    y = x * 2
    saved = weakref.ref(y)
    z = (y * y).sum()
    del y
    assert saved() is not None
    z.backward()
    assert saved() is None


def test_nothing_is_saved_that_is_not_needed():
    x = leaf()
    y = x * 2
    kept = weakref.ref(y)
    z = y + 1
    del y
    assert kept() is None and z.requires_grad


def test_large_graph():
    x = leaf()
    y = x
    for _ in range(100_000):
        y = -y
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    del y


def test_views_of_one_base_are_forgotten():
    base = torch.ones(4)
    for _ in range(10_000):
        base[1:]
    assert len(base.__dict__["_views"]) < 100
