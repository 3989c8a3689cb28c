"""add against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import COMPLEX, FLOATS, INTS, agreement, dtypes, forms, gradients, layouts, values

CALLS = {
    "plain": lambda ns, x, y: ns.add(x, y),
    "alpha": lambda ns, x, y: ns.add(x, y, alpha=0.3),
    "unit": lambda ns, x, y: ns.add(x, y, alpha=1.0),
    "negative": lambda ns, x, y: ns.add(x, y, alpha=-2.5),
}
NUMBERS = {
    "number": lambda ns, x: x + 0.3,
    "number first": lambda ns, x: 0.3 + x,
    "large": lambda ns, x: ns.add(x, 1e6),
    "number and alpha": lambda ns, x: ns.add(0.3, x, alpha=0.7),
}
INTEGERS = {"plain": CALLS["plain"], "alpha": lambda ns, x, y: ns.add(x, y, alpha=3), "number": lambda ns, x: x + 1000}

test_floats = values("add", CALLS | NUMBERS, FLOATS)
test_integers = values("add", INTEGERS, (*INTS, "bool"))
test_complex = values("add", {"plain": CALLS["plain"], "real": lambda ns, x, y: ns.add(x, y, alpha=2)}, COMPLEX)
test_dtypes = dtypes({"plain": CALLS["plain"], "one": lambda ns, x: x + 1, "half": lambda ns, x: x + 0.5,
                      "i": lambda ns, x: x + 1j})
test_layouts = layouts({"plain": CALLS["plain"], "number": NUMBERS["number"]})
test_forms = forms("add", {k: CALLS[k] for k in ("plain", "alpha")})
test_gradients = gradients(CALLS | NUMBERS)
test_complex_gradients = gradients({"alpha": lambda ns, x, y: ns.add(x, y, alpha=2j)}, ("complex128",))
test_numbers = agreement(
    "i8 + 1000", "i8 + 128", "u8 + (-1)", "i + 2**63", "i + 2**64", "h + 1e6", "f + 1e300", "bf + 1e300", "f + 2**70",
    "torch.add(1, f)", "torch.add(1, 2)", "f + torch.tensor(2.5, dtype=torch.float64)", "i + torch.tensor(2.5)")
test_bool = agreement("torch.add(b, b)", "torch.add(b, b, alpha=False)", "torch.add(b, b, alpha=2)", "b + True", "b + 1")
test_alpha = agreement(
    "torch.add(i, i, alpha=2.5)", "torch.add(b, b, alpha=2.)", "torch.add(i, i, alpha=True)",
    "torch.add(f, f, alpha=True)", "torch.add(f, f, alpha=1j)", "torch.add(i8, i8, alpha=200)",
    "torch.add(u8, u8, alpha=-1)", "torch.add(u8, u8, alpha=300)", "torch.add(h, h, alpha=1e6)",
    "torch.add(bf, bf, alpha=3.4e38)",
    "torch.add(f, f, alpha=1e300)", "torch.add(f, f, alpha=inf)", "torch.add(f, f, alpha=torch.tensor(2.))",
    "torch.add(f, f, alpha=f)", "torch.add(f, f, alpha='x')", "torch.add(i, f, alpha=2.5)",
    "torch.add(f[:0], f[:0], alpha=1e300)")
test_errors = agreement(
    "torch.add(f)", "torch.add(f, 'x')", "torch.add(None, f)", "torch.add(f, f, f)", "f + None", "f + [1.]", "f + f2",
    "i.add_(0.5)", "f2.add_(torch.ones(2, 2))", "r.add_(1)", "torch.add(r, 1, out=f)", "torch.add(f, f, out='x')",
    "torch.add(f, f, out=i)", "torch.add(base[:4], 1, out=base[1:5])", "torch.ones(1).expand(3).add_(1)",
    "torch.add(f, f, out=torch.empty(3, dtype=torch.float64))", "torch.add(i, i, out=torch.empty(3))")
