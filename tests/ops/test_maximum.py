"""maximum against PyTorch: every clause of its contract."""
from __future__ import annotations

import numpy as np

from ._common import FLOATS, INTS, agreement, carrier, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x, y: ns.maximum(x, y)}
TIES = {
    "zeros": lambda ns, x: ns.maximum(x * 0, x * -0.0),
    "equal": lambda ns, x: ns.maximum(x, x),
    "0-dim": lambda ns, x: ns.maximum(x, ns.tensor(0.3, dtype=ns.float64)),
}

test_floats = values("maximum", CALLS | TIES, FLOATS)
test_integers = values("maximum", CALLS, (*INTS, "bool"))
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("maximum", CALLS, in_place=False)
test_gradients = gradients(CALLS)
test_gradients_of_ties = gradients(CALLS, draw=lambda dtype, shape, *_: carrier(np.zeros(shape), dtype))
test_nan = agreement("torch.maximum(t([nan, 1.]), t([1., nan]))", "torch.maximum(t([inf, -inf]), t([nan, 0.]))")
test_promotion = agreement("torch.maximum(h, t(1e6))", "torch.maximum(i8, t(300))", "torch.maximum(i8, t([300]))",
                           "torch.maximum(i, t(1.5))")
test_kinks = agreement(
    "(lambda x, y: torch.autograd.grad([torch.maximum(x, y)], [x, y], [t([1.] * 5)]))("
    "t([0., 1., nan, -0., inf], requires_grad=True), t([0., 2., 1., 0., inf], requires_grad=True))")
test_errors = agreement(
    "torch.maximum(f, 1)", "torch.maximum(1, f)", "torch.maximum(f, None)", "torch.maximum(c, f)", "torch.maximum(f, c)",
    "torch.maximum(f, f2)", "torch.maximum(f, f, out=i)", "torch.maximum(r, f, out=f)", "hasattr(f, 'maximum_')")
