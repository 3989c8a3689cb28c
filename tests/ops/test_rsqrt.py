"""rsqrt against PyTorch: every clause of its contract."""
from __future__ import annotations

import numpy as np

from reftorch.numerics.bounds import complex_rsqrt

from ._common import FLOATS, INTS, agreement, bounded, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x: ns.rsqrt(x)}

test_values = values("rsqrt", CALLS, (*FLOATS, *INTS, "bool"))
test_complex = bounded(CALLS, lambda x: (1 / np.sqrt(x.value), 2 * complex_rsqrt(x.value, x.format_name)))
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("rsqrt", CALLS)
test_gradients = gradients({"of squares": lambda ns, x: ns.rsqrt(x * x)})
test_specials = agreement("t([0., -0., inf, -inf, -1., nan, 4., 1e-45]).rsqrt()", "t([0, 1, 4, -1]).rsqrt()", "b.rsqrt()")
test_targets = agreement("i.rsqrt_()", "torch.rsqrt(i, out=torch.empty(3, dtype=torch.float64))", "torch.rsqrt(f, out=i)")
test_errors = agreement("torch.rsqrt(2.)", "torch.rsqrt()", "r.rsqrt_()")
