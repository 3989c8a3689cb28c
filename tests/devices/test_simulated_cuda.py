"""The simulated CUDA device: its own memory, its own formulas, copies as the only way in and out."""
from __future__ import annotations

import numpy as np
import pytest

import reftorch as torch
from reftorch.numerics.arith import fma


@pytest.fixture
def pair():
    x = torch.tensor([1.0, 2.0, 3.0])
    return x, x.to("cuda")


def test_data_goes_there_and_back(pair):
    x, y = pair
    assert (str(y.device), y.is_cuda, str(x.device)) == ("cuda:0", True, "cpu")
    assert y.cpu().tolist() == x.tolist() == y.tolist()
    assert y.t().cpu().stride() == x.t().stride()
    z = torch.empty(3, 4, device="cuda:1").t()
    z.copy_(torch.arange(12.0).view(4, 3))
    assert z.cpu().tolist() == torch.arange(12.0).view(4, 3).tolist()


def test_the_host_cannot_look_inside(pair):
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\)"):
        pair[1].numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(pair[1])
    assert pair[1].data_ptr() >= 1 << 56


def test_devices_do_not_mix(pair):
    x, y = pair
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + y
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        y + x.to("cuda:1")
    assert (y + torch.tensor(1.0)).tolist() == [2.0, 3.0, 4.0]  # a 0-dim CPU tensor may join
    assert (y + 1).device == y.device


@pytest.mark.parametrize("name", ["cuda:2", "cuda:99"])
def test_a_device_that_is_not_there(name):
    with pytest.raises(RuntimeError, match="out of range|invalid device ordinal"):
        torch.zeros(1, device=name)


@pytest.mark.parametrize("bad", ["gpu", "cuda:", "cuda:x", ""])
def test_a_device_that_has_no_sense(bad):
    with pytest.raises(RuntimeError):
        torch.device(bad)


@pytest.mark.parametrize("value", [1.0, 0.3])
def test_addcmul_rounds_as_cuda_does(value):
    rng = np.random.default_rng(0)
    s, a, b = (rng.standard_normal(500).astype(np.float32) for _ in range(3))
    there = [torch.from_numpy(v).to("cuda") for v in (s, a, b)]
    v = np.float32(value)
    expected = fma(a, b, s) if value == 1 else fma(v, a * b, s)
    got = torch.addcmul(*there, value=value).cpu().numpy()
    assert (got.view(np.uint32) == expected.view(np.uint32)).all()
    on_cpu = torch.addcmul(*(torch.from_numpy(x) for x in (s, a, b)), value=value).numpy()
    assert (value == 1) == bool((on_cpu.view(np.uint32) == got.view(np.uint32)).all())


def test_the_spec_version_chooses_the_formula():
    rng = np.random.default_rng(1)
    s, a, b = (torch.from_numpy(rng.standard_normal(500).astype(np.float32)).to("cuda") for _ in range(3))
    try:
        torch.set_spec_version("2.11")
        before = torch.addcmul(s, a, b, value=0.3).tolist()
    finally:
        torch.set_spec_version("2.13")
    assert before != torch.addcmul(s, a, b, value=0.3).tolist()


def test_memory_is_given_back():
    x = torch.zeros(1000, device="cuda")
    ptr = x.data_ptr()
    del x
    assert torch.empty(1000, device="cuda").data_ptr() == ptr
