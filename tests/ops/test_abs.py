"""abs against PyTorch: every clause of its contract."""
from __future__ import annotations

import numpy as np

from reftorch.numerics.bounds import complex_abs

from ._common import FLOATS, INTS, agreement, bounded, dtypes, forms, gradients, layouts, values

CALLS = {"plain": lambda ns, x: ns.abs(x)}

test_values = values("abs", CALLS, (*FLOATS, *INTS))
test_complex = bounded(CALLS, lambda x: (np.abs(x.value), 2 * complex_abs(x.value, x.format_name)))
test_dtypes = dtypes(CALLS)
test_layouts = layouts(CALLS)
test_forms = forms("abs", CALLS)
test_gradients = gradients(CALLS)
test_kinks = agreement(
    "(lambda x: torch.autograd.grad([x.abs()], [x], [t([1.] * 5)]))(t([-1., -0., 0., 2., nan], requires_grad=True))",
    "(lambda x: torch.autograd.grad([x.abs()], [x], [t([1.] * 3)]))(t([3+4j, 0j, -2j], requires_grad=True))")
test_complex_specials = agreement("t([complex(inf, nan), complex(-inf, 1), 0j, -0j, complex(nan, 1)]).abs()")
test_names = agreement("abs(-f)", "torch.absolute(i8)", "f.absolute()", "f.absolute_()")
test_targets = agreement(
    "c.abs_()", "torch.abs(c, out=f)", "torch.abs(c, out=d)", "torch.abs(c, out=c)", "torch.abs(f, out=d)",
    "torch.abs(i, out=f)", "torch.abs(c, out=i)", "torch.abs(base[:4], out=base[1:5])")
test_errors = agreement("torch.abs(1)", "torch.abs(f, 1)", "b.abs()", "r.abs_()")
