"""minimum against PyTorch: every clause of its contract."""
from __future__ import annotations

import numpy as np

from ._common import FLOATS, INTS, agreement, carrier, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x, y: ns.minimum(x, y)}
TIES = {
    "zeros": lambda ns, x: ns.minimum(x * 0, x * -0.0),
    "equal": lambda ns, x: ns.minimum(x, x),
    "0-dim": lambda ns, x: ns.minimum(x, ns.tensor(0.3, dtype=ns.float64)),
}

test_floats = values("minimum", CALLS | TIES, FLOATS)
test_integers = values("minimum", CALLS, (*INTS, "bool"))
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("minimum", CALLS, in_place=False)
test_gradients = gradients(CALLS)
test_gradients_of_ties = gradients(CALLS, draw=lambda dtype, shape, *_: carrier(np.zeros(shape), dtype))
test_nan = agreement("torch.minimum(t([nan, 1.]), t([1., nan]))", "torch.minimum(t([inf, -inf]), t([nan, 0.]))")
test_promotion = agreement("torch.minimum(h, t(1e6))", "torch.minimum(i8, t(300))", "torch.minimum(i8, t([300]))",
                           "torch.minimum(i, t(1.5))")
test_kinks = agreement(
    "(lambda x, y: torch.autograd.grad([torch.minimum(x, y)], [x, y], [t([1.] * 5)]))("
    "t([0., 1., nan, -0., inf], requires_grad=True), t([0., 2., 1., 0., inf], requires_grad=True))")
test_errors = agreement(
    "torch.minimum(f, 1)", "torch.minimum(1, f)", "torch.minimum(f, None)", "torch.minimum(c, f)", "torch.minimum(f, c)",
    "torch.minimum(f, f2)", "torch.minimum(f, f, out=i)", "torch.minimum(r, f, out=f)", "hasattr(f, 'minimum_')")
