"""What a tensor is without operators: geometry, values in Python and NumPy, sharing, errors. Against PyTorch."""
from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import reftorch

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

DATA = [[1.5, -2.0, 0.0], [float("inf"), 4.0, -0.0]]
DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "uint8", "bool", "complex64"]


def both(dtype, data=((1, 0, 2), (3, 4, 5))):
    return tuple(ns.tensor(data, dtype=getattr(ns, dtype)) for ns in (reftorch, torch))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_says_the_same_as_pytorchs(dtype):
    x, y = both(dtype)
    for view in (lambda t: t, lambda t: t.t(), lambda t: t[1], lambda t: t[:, ::2], lambda t: t[0, 1],
                 lambda t: t.expand(4, 2, 3)):
        a, b = view(x), view(y)
        assert (a.stride(), tuple(a.shape), a.storage_offset(), a.ndim, a.numel(), a.is_contiguous(), a.itemsize) == (
            b.stride(), tuple(b.shape), b.storage_offset(), b.ndim, b.numel(), b.is_contiguous(), b.itemsize)
        assert a.tolist() == b.tolist()
        assert str(a.dtype) == str(b.dtype) and a.nbytes == b.nbytes
        assert repr(a.size()) == repr(b.size())


def test_values_come_out_exactly():
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        x, y = both(dtype, DATA)
        assert x.tolist() == y.tolist()
        assert math.copysign(1, x[1, 2].item()) == -1
        assert type(x[0, 0].item()) is float
    assert type(both("int32")[0][0, 0].item()) is int
    assert type(both("bool")[0][0, 0].item()) is bool


@pytest.mark.parametrize("call", [
    lambda ns, t: t.item(), lambda ns, t: float(t), lambda ns, t: bool(t), lambda ns, t: bool(t[:0]),
    lambda ns, t: len(t[0, 0]), lambda ns, t: list(t[0, 0]), lambda ns, t: t.size(2), lambda ns, t: t.stride(-3),
    lambda ns, t: ns.set_default_dtype(ns.int64), lambda ns, t: [1, 2][t[0, 0]],
    lambda ns, t: t.requires_grad_().numpy(), lambda ns, t: t.bfloat16().numpy(),
])
def test_errors_are_pytorchs(call):
    raised = []
    for ns in (reftorch, torch):
        with pytest.raises(Exception) as error:
            call(ns, ns.tensor(((1.0, 2.0), (3.0, 4.0))))
        raised.append((type(error.value), str(error.value).split("\n")[0].rstrip(".")[:60]))
    assert raised[0] == raised[1]


def test_numpy_shares_memory_both_ways():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = reftorch.from_numpy(array[:, ::2])
    array[1, 2] = 50
    assert x.tolist() == [[0, 2], [3, 50]] and x.stride() == (3, 2)
    back = x.numpy()
    back[0, 0] = -1
    assert array[0, 0] == -1 and np.shares_memory(back, array)


def test_memory_lives_as_long_as_any_view_of_it():
    x = reftorch.zeros(1000)
    array, storage = x[500:].numpy(), weakref.ref(x.untyped_storage())
    del x
    gc.collect()
    others = [reftorch.ones(1000) for _ in range(4)]
    assert storage() is not None and not array.any()
    del array, others
    gc.collect()
    assert storage() is None


def test_a_storage_that_is_not_ours_cannot_be_resized():
    x = reftorch.from_numpy(np.zeros(3))
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(10)


def test_views_share_the_version_counter_and_copies_do_not():
    x = reftorch.zeros(2, 3)
    view, copy, detached = x.t()[0], x.clone(), x.detach()
    x.add_(1)
    view.mul_(2)
    assert (x._version, view._version, detached._version, copy._version) == (2, 2, 2, 0)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e8m0fnu", "float4_e2m1fn_x2"])
def test_storage_types_hold_bits_and_refuse_arithmetic(name):
    codes = reftorch.arange(256, dtype=reftorch.uint8)
    x = codes.view(getattr(reftorch, name))
    assert x.view(reftorch.uint8).tolist() == list(range(256))
    assert x.clone().t().view(reftorch.uint8).tolist() == list(range(256))
    assert x.to("cuda").cpu().view(reftorch.uint8).tolist() == list(range(256))
    for call in (lambda: x + x, lambda: x.to(reftorch.float32), lambda: x.tolist()):
        with pytest.raises((NotImplementedError, RuntimeError)):
            call()


def test_names_that_are_not_covered_say_so():
    with pytest.raises(AttributeError, match="does not cover torch.fft"):
        reftorch.fft  # noqa: B018
    assert not hasattr(reftorch, "no_such_thing")


@pytest.mark.parametrize("text", ["cpu", "cuda", "cuda:1"])
def test_devices_read_like_pytorchs(text):
    ours, theirs = reftorch.device(text), torch.device(text)
    assert (str(ours), repr(ours), ours.type, ours.index) == (str(theirs), repr(theirs), theirs.type, theirs.index)
    assert ours == reftorch.device(text) and hash(ours) == hash(reftorch.device(text))
