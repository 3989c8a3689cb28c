"""Every pair of dtypes in every pair of tiers, against PyTorch."""
from __future__ import annotations

import itertools

import pytest

import reftorch.devices  # noqa: F401  (registers them)
from reftorch.core import dtype as dtypes
from reftorch.core.device import as_device
from reftorch.core.layout import Layout
from reftorch.core.promotion import can_cast, promote_types, result_type
from reftorch.core.tensor import empty_strided

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

NAMES = [d.name for d in dtypes.DTYPES.values() if d is not dtypes.float4_e2m1fn_x2]  # PyTorch asserts inside on most pairs
NUMBERS = [True, 2, 2.5, 2.5j]


def attempt(function, *args):
    """The result's name, or the error; torch.complex32 and our refusal of it are one."""
    try:
        result = str(function(*args))
        return "complex32 is not covered" if result == "torch.complex32" else result
    except NotImplementedError as e:
        assert "complex32" in str(e)
        return "complex32 is not covered"
    except RuntimeError as e:
        return f"RuntimeError: {str(e)[:40]}"


@pytest.mark.parametrize("a", NAMES)
def test_promote_types(a):
    for b in NAMES:
        ours = attempt(promote_types, dtypes.DTYPES[a], dtypes.DTYPES[b])
        theirs = attempt(torch.promote_types, getattr(torch, a), getattr(torch, b))
        assert ours == theirs, (a, b)


@pytest.mark.parametrize("a", NAMES)
def test_can_cast(a):
    for b in NAMES:
        assert can_cast(dtypes.DTYPES[a], dtypes.DTYPES[b]) == torch.can_cast(getattr(torch, a), getattr(torch, b)), b


def tensor_pair(name, dims):
    ours = empty_strided(Layout.of((2,) * dims), dtypes.DTYPES[name], as_device("cpu"))
    return ours, torch.empty((2,) * dims, dtype=getattr(torch, name))


@pytest.mark.parametrize("a", NAMES)
def test_result_type_over_tiers(a):
    for b, da, db in itertools.product(NAMES, (0, 1), (0, 1)):
        (x, tx), (y, ty) = tensor_pair(a, da), tensor_pair(b, db)
        assert attempt(result_type, x, y) == attempt(torch.result_type, tx, ty), (a, da, b, db)
    for number, dims in itertools.product(NUMBERS, (0, 1)):
        x, tx = tensor_pair(a, dims)
        assert attempt(result_type, x, number) == attempt(torch.result_type, tx, number), (a, dims, number)
        assert attempt(result_type, number, x) == attempt(torch.result_type, number, tx), (a, dims, number)


@pytest.mark.parametrize("default", ["float32", "float64", "bfloat16", "float16"])
def test_numbers_follow_the_default_dtype(default):
    try:
        dtypes.set_default_dtype(dtypes.DTYPES[default])
        torch.set_default_dtype(getattr(torch, default))
        # Under float16 a complex number is complex32, which is not covered: an error here, whatever it meets.
        for name, number in itertools.product(NAMES, NUMBERS[:3] if default == "float16" else NUMBERS):
            x, tx = tensor_pair(name, 1)
            assert attempt(result_type, x, number) == attempt(torch.result_type, tx, number), (name, number)
    finally:
        dtypes.set_default_dtype(dtypes.float32)
        torch.set_default_dtype(torch.float32)
