"""Factories make what PyTorch's make; NumPy arrays are shared or copied where PyTorch does."""
from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import reftorch

from .test_views import both_refuse, outcome

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

CALLS = Path(__file__).with_name("factories.txt").read_text().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_call(call):
    ours, theirs = (outcome(call, {"torch": library, "np": np}) for library in (reftorch, torch))
    assert ours == theirs or both_refuse(ours, theirs)


def test_from_numpy_shares():
    array = np.arange(6.0).reshape(2, 3)
    tensor = reftorch.from_numpy(array.T)
    tensor[0, 1] = 100
    assert array[1, 0] == 100
    array[0, 0] = 7
    assert tensor[0, 0].item() == 7
    assert reftorch.as_tensor(array).data_ptr() == array.ctypes.data
    assert reftorch.tensor(array).data_ptr() != array.ctypes.data


def test_from_numpy_keeps_the_array():
    tensor = reftorch.from_numpy(np.full(1000, 3.0))
    reftorch.zeros(1000, dtype=reftorch.float64)
    assert tensor.sum().item() == 3000


def test_numpy_shares():
    tensor = reftorch.zeros(3)
    array = tensor.numpy()
    del tensor
    array[1] = 5
    assert reftorch.from_numpy(array).tolist() == [0, 5, 0]


def test_read_only_array_warns():
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        reftorch.from_numpy(array)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_devices(device):
    made = [reftorch.zeros(2, device=device), reftorch.full((2,), 0, device=device, dtype=reftorch.float32),
            reftorch.tensor([0.0, 0.0], device=device), reftorch.ones(2).to(device).mul_(0),
            reftorch.empty(2, device=device).zero_()]
    assert all(t.device.type == device and t.tolist() == [0, 0] for t in made)
    assert reftorch.arange(3, device=device).to(reftorch.bfloat16).cpu().tolist() == [0, 1, 2]
    assert reftorch.ones_like(made[0]).device == made[0].device
    with pytest.raises(RuntimeError, match="at least two devices"):
        reftorch.ones(2) + reftorch.ones(2, device="cuda")


@pytest.mark.parametrize("tensor", [
    reftorch.ones(2, 3), reftorch.arange(6).view(2, 3).t(), reftorch.tensor([1.5, 2.5], dtype=reftorch.bfloat16),
    reftorch.tensor(True), reftorch.zeros(0, 3), reftorch.ones(2, device="cuda"), reftorch.ones(2, requires_grad=True)])
def test_copies(tensor):
    for made in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):  # noqa: S301
        assert reftorch.equal(made, tensor) and made.stride() == tensor.stride() and made.device == tensor.device
        assert made.dtype is tensor.dtype and made.requires_grad == tensor.requires_grad
        assert made.untyped_storage() is not tensor.untyped_storage()
    assert copy.copy(tensor).untyped_storage() is tensor.untyped_storage()


def test_what_is_not_covered_says_so():
    assert not hasattr(reftorch, "softmax") and reftorch.bool is not bool
    with pytest.raises(AttributeError, match="does not cover torch.softmax"):
        reftorch.softmax  # noqa: B018
    with pytest.raises(NotImplementedError, match="does not cover pin_memory"):
        reftorch.zeros(2, pin_memory=True)
    with pytest.raises(NotImplementedError, match="not covered"):
        reftorch.ones(2, dtype=reftorch.float8_e4m3fn).to(reftorch.float32)
