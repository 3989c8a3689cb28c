"""nextafter against PyTorch: every clause of its contract."""
from __future__ import annotations

import numpy as np
import pytest

import reftorch

from ._common import FLOATS, NARROW, agreement, bits_of, dtypes, forms, gradients, layouts, same, torch, twins, values

CALLS = {
    "plain": lambda ns, x, y: ns.nextafter(x, y),
    "equal": lambda ns, x: ns.nextafter(x, x),
    "up": lambda ns, x: ns.nextafter(x, ns.tensor(float("inf"))),
    "down": lambda ns, x: ns.nextafter(x, ns.tensor(float("-inf"))),
    "to zero": lambda ns, x: ns.nextafter(x, ns.tensor(-0.0)),
}

test_values = values("nextafter", CALLS, FLOATS)
test_dtypes = dtypes({"plain": CALLS["plain"]})
test_layouts = layouts({"plain": CALLS["plain"]})
test_forms = forms("nextafter", {"plain": CALLS["plain"]})
test_gradients = gradients({"plain": CALLS["plain"]})
test_kinks = agreement(
    "(lambda x, y: torch.autograd.grad([torch.nextafter(x, y)], [x, y], [t([1., 2., 3., 4.])]))("
    "t([1., 2., 0., nan], requires_grad=True), t([1., 3., -0., 1.], requires_grad=True))")
test_specials = agreement(
    "torch.nextafter(t([0., -0., 1., nan, inf, 0., -0.]), t([1., 1., 1., 1., 0., -0., 0.]))",
    "1 / torch.nextafter(t([0., -0.]), t([-0., 0.]))", "torch.nextafter(f, d)", "torch.nextafter(f, t(2., 'float64'))",
    "torch.nextafter(f, i)", "torch.nextafter(i, f)", "torch.nextafter(h, bf)", "torch.nextafter(h, t(inf))")
test_errors = agreement("torch.nextafter(f, 1)", "torch.nextafter(1, f)", "torch.nextafter(i, i)", "torch.nextafter(c, c)",
                        "torch.nextafter(f, f2)", "torch.nextafter(f, f, out=i)", "r.nextafter_(f)",
                        "torch.nextafter(i[:0], i[:0])")


@pytest.mark.parametrize("toward", [float("inf"), float("-inf"), 0.0])
@pytest.mark.parametrize("dtype", NARROW)
def test_every_code(dtype, toward):
    theirs, ours = twins(np.arange(1 << 16, dtype=np.uint16).view({"float16": np.float16}.get(dtype, np.uint16)), dtype)
    found = reftorch.nextafter(ours, reftorch.tensor(toward))
    assert np.all(same(bits_of(found), bits_of(torch.nextafter(theirs, torch.tensor(toward))), dtype))
