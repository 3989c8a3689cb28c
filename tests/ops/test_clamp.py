"""clamp against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, INTS, agreement, dtypes, forms, gradients, layouts, values

TENSORS = {
    "both": lambda ns, x, lo, hi: ns.clamp(x, lo, hi),
    "min": lambda ns, x, lo: ns.clamp(x, lo),
    "max": lambda ns, x, hi: ns.clamp(x, max=hi),
}
NUMBERS = {
    "numbers": lambda ns, x: ns.clamp(x, -0.3, 0.7),
    "min number": lambda ns, x: ns.clamp(x, 0.0),
    "max number": lambda ns, x: ns.clamp(x, max=-0.0),
    "min above max": lambda ns, x: ns.clamp(x, 2.0, 1.0),
    "nan": lambda ns, x: ns.clamp(x, float("nan"), 1.0),
    "zeros": lambda ns, x: ns.clamp(x * 0, 0.0, -0.0),
}
INTEGERS = {"numbers": lambda ns, x: ns.clamp(x, 1, 5), "tensors": TENSORS["both"], "min": lambda ns, x: x.clamp(min=3)}

test_floats = values("clamp", TENSORS | NUMBERS, FLOATS)
test_integers = values("clamp", INTEGERS, INTS)
test_bool = values("clamp", {"min": TENSORS["min"], "max": TENSORS["max"]}, ("bool",))
test_dtypes = dtypes({"min": TENSORS["min"], "both of one": lambda ns, x: ns.clamp(x, x, x),
                      "integers": lambda ns, x: ns.clamp(x, 0, 1), "half": lambda ns, x: ns.clamp(x, max=0.5),
                      "bool": lambda ns, x: ns.clamp(x, True)})
test_layouts = layouts({"both": TENSORS["both"], "numbers": NUMBERS["numbers"]})
test_forms = forms("clamp", {"both": TENSORS["both"], "numbers": NUMBERS["numbers"]})
test_gradients = gradients(TENSORS | {k: NUMBERS[k] for k in ("numbers", "min number", "max number", "min above max")})
test_kinks = agreement(
    "(lambda x, a, b: torch.autograd.grad([x.clamp(a, b)], [x, a, b], [t([1.] * 6)]))("
    "t([-1., 0., .5, 1., 2., nan], requires_grad=True), t(0., requires_grad=True), t([1.] * 6, requires_grad=True))",
    "(lambda x, a, b: torch.autograd.grad([x.clamp(a, b)], [x, a, b], [t([1.] * 4)]))("
    "t([-1., 0., .5, 2.], requires_grad=True), t([1.] * 4, requires_grad=True), t([0., 1., nan, .5], requires_grad=True))",
    "(lambda x: torch.autograd.grad([x.clamp(0, 1)], [x], [t([1.] * 6)]))("
    "t([-1., 0., .5, 1., 2., nan], requires_grad=True))")
test_numbers = agreement(
    "torch.clamp(i8, min=300)", "torch.clamp(i8, max=-300)", "torch.clamp(u8, min=-1)", "torch.clamp(u8, -1, 300)",
    "torch.clamp(i8, min=1.5)", "torch.clamp(i8, min=1e300)", "torch.clamp(f, max=1e300)", "torch.clamp(f, -inf, inf)",
    "torch.clamp(h, 0, 65520)", "torch.clamp(bf, max=1e39)", "torch.clamp(i, max=2**63)", "torch.clamp(i, max=2**64)",
    "torch.clamp(b, 0, 1)", "torch.clamp(b, 0., 1)", "torch.clamp(b, True)", "torch.clamp(i, True, 5)",
    "torch.clamp(t(5), max=2.5)", "torch.clamp(f, t(4.), 5)", "torch.clamp(f, 4, t(5.))")
test_tensors = agreement(
    "torch.clamp(b, t(True))", "torch.clamp(b, t([0, 0, 0]), t([1, 1, 1]))", "torch.clamp(i, t(1.5))",
    "torch.clamp(i8, t(300))", "torch.clamp(f, t([4.] * 3, 'float64'))", "torch.clamp(f, t(4., 'float64'))",
    "torch.clamp(f, min=None, max=t(4.))", "torch.clamp(torch.ones(2, 3), t([2., 0., 1.]))", "torch.clip(f, 4, 7)",
    "f.clip_(4, 7)")
test_errors = agreement(
    "torch.clamp(f)", "f.clamp()", "f.clamp_(None)", "torch.clamp(f, 'x')", "torch.clamp(f, f, 1)", "torch.clamp(f, 1, f)",
    "torch.clamp(1, 0, 1)", "torch.clamp(f, 0, 1, 2)", "torch.clamp(c, 0, 1)", "torch.clamp(c)", "torch.clamp(f, 1j)",
    "torch.clamp(i, 1j)", "torch.clamp(f, min=c)", "torch.clamp(f, f2)", "torch.clamp(f, r.sum(), 2.)")
test_targets = agreement(
    "i.clamp_(f)", "i.clamp_(0.5)", "b.clamp_(0, 1)", "torch.clamp(f, 0, 1, out=d)", "torch.clamp(i, 0, 1, out=f)",
    "torch.clamp(i, 0.5, 1, out=i)", "torch.clamp(f, f, f, out=d)", "torch.clamp(f, f, out=i)",
    "torch.clamp(base[:4], 0, 1, out=base[1:5])")
