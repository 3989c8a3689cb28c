"""reciprocal against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, INTS, agreement, bounded, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x: ns.reciprocal(x)}

test_values = values("reciprocal", CALLS, (*FLOATS, *INTS, "bool"))
test_complex = bounded(CALLS, lambda x: 1 / x)
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("reciprocal", CALLS)
test_gradients = gradients(CALLS)
test_specials = agreement("t([0., -0., inf, -inf, nan, 1e-45, -1e39]).reciprocal()", "t([0, 1, 3]).reciprocal()",
                          "b.reciprocal()")
test_targets = agreement("i.reciprocal_()", "torch.reciprocal(i, out=torch.empty(3, dtype=torch.float64))",
                         "torch.reciprocal(f, out=i)")
test_errors = agreement("torch.reciprocal(2)", "torch.reciprocal(f, f)", "r.reciprocal_()")
