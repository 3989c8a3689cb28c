"""copysign against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, INTS, agreement, dtypes, forms, gradients, layouts, values

CALLS = {
    "plain": lambda ns, x, y: ns.copysign(x, y),
    "number": lambda ns, x: ns.copysign(x, -2.5),
    "zero": lambda ns, x: ns.copysign(x, -0.0),
    "tiny": lambda ns, x: ns.copysign(x, -1e-300),
}

test_values = values("copysign", CALLS, (*FLOATS, *INTS, "bool"))
test_dtypes = dtypes({"plain": CALLS["plain"], "number": CALLS["number"]})
test_layouts = layouts({k: CALLS[k] for k in ("plain", "number")})
test_forms = forms("copysign", {k: CALLS[k] for k in ("plain", "number")})
test_gradients = gradients({k: CALLS[k] for k in ("plain", "number")})
test_kinks = agreement(
    "(lambda x, y: torch.autograd.grad([torch.copysign(x, y)], [x, y], [t([1.] * 6)]))("
    "t([1., -1., 0., -0., nan, 2.], requires_grad=True), t([-1., 1., -1., 0., 1., inf], requires_grad=True))")
test_specials = agreement(
    "1 / torch.copysign(t([0., -0.]), t([-1., 1.]))", "torch.copysign(t([1., -1.]), -nan)", "torch.copysign(i, -2)",
    "torch.copysign(f, t(-1., 'float64'))", "torch.copysign(h, 1e6)", "torch.copysign(bf, -1e300)",
    "torch.copysign(t([1., 2., 3.]), t([-0., -nan, nan]))", "torch.copysign(f, True)")
test_errors = agreement("torch.copysign(f)", "torch.copysign(f, 'x')", "torch.copysign(1, f)", "torch.copysign(f, 1j)",
                        "torch.copysign(f, c)", "i.copysign_(-1)", "torch.copysign(i, i, out=i)", "torch.copysign(f, f2)",
                        "torch.copysign(i, i, out=torch.empty(3, dtype=torch.float64))", "r.copysign_(1)")
