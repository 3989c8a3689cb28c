"""where against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import ALL, agreement, dtypes, forms, gradients, layouts, values

CALLS = {
    "tensors": lambda ns, x, y: ns.where(ns.eq(x, y), x, y),
    "choice": lambda ns, x, y: ns.where(y == y, x, y),
    "number": lambda ns, x: ns.where(x == x, x, 0),
    "number first": lambda ns, x: ns.where(x == x, 1, x),
    "method": lambda ns, x, y: x.where(x != y, y),
}
FIXED = {
    "tensors": lambda ns, x, y: ns.where(ns.tensor([[True, False, True, True]] * 3), x, y),
    "row": lambda ns, x, y: ns.where(ns.tensor([True, False, False, True]), x, y),
}

test_values = values("where", CALLS, ALL)
test_dtypes = dtypes({"tensors": lambda ns, x, y: ns.where(ns.tensor(True), x, y),
                      "condition": lambda ns, c, x: ns.where(c, x, x), "one": lambda ns, x: ns.where(ns.tensor(True), x, 1),
                      "half": lambda ns, x: ns.where(ns.tensor(True), 0.5, x), "alone": lambda ns, x: ns.where(x, x, x)})
test_layouts = layouts({"condition": lambda ns, c, x, y: ns.where(c == c, x, y),
                        "number": lambda ns, c, x: ns.where(c > 0, x, 1.5)})
test_forms = forms("where", FIXED, in_place=False)
test_gradients = gradients({
    "tensors": lambda ns, x, y: ns.where(ns.tensor([[True, False], [False, True], [True, True]]), x, y),
    "number": lambda ns, x: ns.where(ns.tensor([[True, False]] * 3), x, 2.0)})
test_no_leak = agreement(
    "(lambda x, y: torch.autograd.grad([torch.where(b, x, y)], [x, y], [t([1., 2., nan])]))("
    "t([1., 2., 3.], requires_grad=True), t([nan, inf, nan], requires_grad=True))")
test_condition = agreement(
    "torch.where(f, f, f)", "torch.where(i, f, f)", "torch.where(u8, f, -f)", "torch.where(True, f, f)",
    "torch.where(b, f2, f)", "torch.where(t(True), f, -f)", "torch.where(t([[True], [False]]), f, i)")
test_numbers = agreement(
    "torch.where(b, 1, 2)", "torch.where(b, 1., 2)", "torch.where(b, 1, True)", "torch.where(b, True, False)",
    "torch.where(b, 1j, 2)", "torch.where(b, i8, 300)", "torch.where(b, 2**40, i8)", "torch.where(b, u8, -1)",
    "torch.where(b, f, 1e300)", "torch.where(b, h, 1e6)", "torch.where(b, 1e6, h)", "torch.where(b, bf, 1e300)",
    "torch.where(b, 1e39, h)", "torch.where(b, i, 2.5)",
    "torch.where(b, f, t(2.5, 'float64'))", "torch.where(b, h, bf)")
test_errors = agreement(
    "torch.where(b, f)", "torch.where(b, f, 'x')", "torch.where(b, None, f)", "torch.where(b, f, f, out=d)",
    "torch.where(b, f, d, out=d)", "torch.where(b, f, 2., out=f)", "torch.where(b, 1., 2., out=f)", "f.where(b)",
    "hasattr(f, 'where_')", "torch.where(base[:4] > 1, base[:4], base[:4], out=base[1:5])", "f.where(b, 0)")
