"""sub and rsub against PyTorch: every clause of sub's contract."""
from __future__ import annotations

from ._common import COMPLEX, FLOATS, INTS, agreement, dtypes, forms, gradients, layouts, values

CALLS = {
    "plain": lambda ns, x, y: ns.sub(x, y),
    "alpha": lambda ns, x, y: ns.sub(x, y, alpha=0.3),
    "negative": lambda ns, x, y: ns.sub(x, y, alpha=-2.5),
}
NUMBERS = {
    "number": lambda ns, x: x - 0.3,
    "number first": lambda ns, x: 0.3 - x,
    "rsub": lambda ns, x: ns.rsub(x, 0.3, alpha=0.7),
}
INTEGERS = {"plain": CALLS["plain"], "alpha": lambda ns, x, y: ns.sub(x, y, alpha=3), "number": lambda ns, x: 1000 - x}

test_floats = values("sub", CALLS | NUMBERS | {"rsub tensors": lambda ns, x, y: ns.rsub(x, y, alpha=0.3)}, FLOATS)
test_integers = values("sub", INTEGERS, INTS)
test_complex = values("sub", {"plain": CALLS["plain"]}, COMPLEX)
test_dtypes = dtypes({"plain": CALLS["plain"], "one": lambda ns, x: x - 1, "half": lambda ns, x: 0.5 - x})
test_layouts = layouts({"plain": CALLS["plain"], "number": NUMBERS["number first"]})
test_forms = forms("sub", {k: CALLS[k] for k in ("plain", "alpha")})
test_gradients = gradients(CALLS | NUMBERS)
test_complex_gradients = gradients({"alpha": lambda ns, x, y: ns.sub(x, y, alpha=2j)}, ("complex128",))
test_numbers = agreement("u8 - 2", "2 - u8", "i8 - 1000", "h - 1e6", "1 - i64", "torch.sub(1, f)", "torch.sub(3, 2)",
                         "f.subtract(1)", "torch.subtract(f, f, alpha=2)", "torch.rsub(f, f)", "torch.rsub(f, 2)")
test_bool = agreement("b - b", "b - 1", "1 - b", "torch.sub(i, b)", "torch.sub(b, 1.)", "torch.sub(b, True)",
                      "torch.sub(f, True)", "torch.rsub(b, 1)", "torch.rsub(b, b)", "b.sub_(1)",
                      "torch.sub(b, torch.tensor(1))")
test_alpha = agreement(
    "torch.sub(i, 1, alpha=2.5)", "torch.sub(f, f, alpha=True)", "torch.sub(f, f, alpha=1j)",
    "torch.sub(i8, i8, alpha=200)", "torch.sub(u8, u8, alpha=2)", "torch.sub(h, h, alpha=1e6)",
    "torch.rsub(i, 1, alpha=2.5)")
test_errors = agreement("torch.sub(f)", "f - None", "None - f", "f - f2", "i.sub_(0.5)", "r.sub_(1)",
                        "torch.sub(f, f, out=i)", "torch.sub(base[:4], 1, out=base[1:5])")
