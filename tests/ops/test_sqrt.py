"""sqrt against its contract, and against PyTorch, whose own root (MKL's) may be one unit low."""
from __future__ import annotations

import numpy as np
import pytest

import reftorch
from reftorch.numerics.bounds import complex_sqrt

from ._common import (
    INTS,
    NARROW,
    WIDE,
    agreement,
    bits_of,
    bounded,
    dtypes,
    gradients,
    layouts,
    same,
    sample,
    torch,
    twins,
    values,
)

CALLS = {"plain": lambda ns, x: ns.sqrt(x)}

test_narrow = values("sqrt", CALLS, NARROW)
test_wide = values("sqrt", CALLS, (*WIDE, *INTS, "bool"), ulp=1)
test_complex = bounded(CALLS, lambda x: (np.sqrt(x.value), 2 * complex_sqrt(x.value, x.format_name)))
test_dtypes = dtypes(CALLS)
test_layouts_of_squares = layouts({"squares": lambda ns, x: ns.sqrt(ns.sign(x) * ns.sign(x) * 4)})
test_specials = agreement("t([0., -0., inf, -inf, -1., nan, 4., 2.25]).sqrt()", "t([0, 1, 4, -1]).sqrt()", "b.sqrt()")
test_targets = agreement("i.sqrt_()", "torch.sqrt(t([4, 9]), out=torch.empty(2, dtype=torch.float64))",
                         "torch.sqrt(f, out=i)", "torch.sqrt(base[:4], out=base[1:5])", "t([4., 9.]).sqrt_()")
test_errors = agreement("torch.sqrt(2.)", "torch.sqrt('a')", "torch.sqrt(f, f)", "r.sqrt_()")
test_kinks = agreement(
    "(lambda x: torch.autograd.grad([x.sqrt()], [x], [t([1.] * 5)]))(t([0., -0., 4., -1., inf], requires_grad=True))")
test_gradients = gradients({"of squares": lambda ns, x: ns.sqrt(x * x)}, NARROW, twice=False)


@pytest.mark.parametrize("dtype", WIDE)
def test_correctly_rounded(dtype):
    """NumPy's root is the processor's instruction, which IEEE 754 defines."""
    bits = sample(dtype, (5000,))
    with np.errstate(all="ignore"):
        assert np.all(same(bits_of(reftorch.sqrt(twins(bits, dtype)[1])), np.sqrt(bits), dtype))


@pytest.mark.parametrize("dtype", NARROW)
def test_every_code(dtype):
    theirs, ours = twins(np.arange(1 << 16, dtype=np.uint16).view({"float16": np.float16}.get(dtype, np.uint16)), dtype)
    assert np.all(same(bits_of(ours.sqrt()), bits_of(torch.sqrt(theirs)), dtype))
