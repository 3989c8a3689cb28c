"""sign against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, INTS, agreement, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x: ns.sign(x)}

test_values = values("sign", CALLS, (*FLOATS, *INTS, "bool"))
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("sign", CALLS)
test_gradients = gradients(CALLS, twice=False)
test_specials = agreement("t([nan, inf, -inf, 0., -0., 1e-45]).sign()", "1 / t([0., -0.]).sign()")
test_errors = agreement("torch.sign(1)", "torch.sign(c)", "c.sign_()", "torch.sign(f, out=d)", "torch.sign(f, out=i)",
                        "torch.sign(c[:0])", "r.sign_()", "torch.sign(base[:4], out=base[1:5])")
