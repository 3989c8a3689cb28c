"""neg and positive against PyTorch: every clause of neg's contract."""
from __future__ import annotations

from ._common import COMPLEX, FLOATS, INTS, agreement, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x: ns.neg(x)}

test_values = values("neg", CALLS, (*FLOATS, *INTS, *COMPLEX))
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("neg", CALLS)
test_gradients = gradients(CALLS, ("float32", "complex64"))
test_names = agreement("-f", "-i8", "-u8", "torch.negative(f)", "f.negative_()", "torch.positive(f)", "+f", "+b", "-b",
                       "b.neg_()", "torch.positive(b)", "torch.neg(b[:0])")
test_specials = agreement("torch.copysign(t(1.), -t([0., -0., inf, -inf]))")
test_errors = agreement("torch.neg(1)", "torch.neg()", "torch.neg(f, f)", "torch.neg(f, out=d)", "torch.neg(i, out=f)",
                        "torch.neg(f, out=[1])", "torch.neg(base[:4], out=base[1:5])", "r.neg_()")
