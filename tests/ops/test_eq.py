"""eq against PyTorch: every clause of its contract. The other comparisons share its rules."""
from __future__ import annotations

from ._common import ALL, FLOATS, INTS, agreement, dtypes, forms, layouts, values

CALLS = {
    "plain": lambda ns, x, y: ns.eq(x, y),
    "self": lambda ns, x: ns.eq(x, x),
    "number": lambda ns, x: x == 1,
}
ORDER = {name: eval(f"lambda ns, x, y: ns.{name}(x, y)") for name in ("lt", "le", "gt", "ge")}

test_values = values("eq", CALLS | {"mostly equal": lambda ns, x, y: ns.eq(x, ns.where(x == y, x, y))}, ALL)
test_dtypes = dtypes({"plain": CALLS["plain"], "number": CALLS["number"], "half": lambda ns, x: x == 0.5,
                      "i": lambda ns, x: x == 1j})
test_layouts = layouts(CALLS)
test_forms = forms("eq", {"plain": CALLS["plain"]}, in_place=False, dtype="bool")
test_rounding = agreement(
    "t([16777217]) == 16777216.", "t([2**53 + 1]) == 2.**53", "t([2**53 + 1]) == t([2.**53], 'float64')", "t([.1]) == .1",
    "t([.1], 'float16') == .1", "t([.1], 'bfloat16') == .1", "t([.1]) == t(.1, 'float64')", "t([.1]) == t([.1], 'float64')",
    "t([nan, 0.]) == t([nan, -0.])", "h == bf")
test_wrapping = agreement(
    "i8 == 128", "i8 == -129", "i8 == 127.5", "u8 == -1", "u8 == 256", "u8 == -1.", "b == 2", "b == 1", "b == 0.5",
    "i == 2**63", "i == 2**64", "i == -2**63 - 1", "h == 1e6", "f == 1e300", "f == inf", "i8 == t(300)", "i8 == t([300])",
    "u8 == t(-1)", "u8 == t(-1, 'int8')", "u8 == t([-1], 'int8')", "t([2**64 - 1], 'uint64') == 2**64 - 1",
    "t([1], 'uint64') == t([1])", "f == 1+1j", "c == 1", "c == f")
test_special_methods = agreement("f == None", "f == 'x'", "f == [1.]", "f != None", "None == f", "1 == f", "f.__eq__(1)",
                                 "f != 3", "f < 5", "2 < f", "hash(f) == hash(f)", "f in [f]")
test_targets = agreement(
    "f.eq_(3)", "f.eq_(2j)", "i.eq_(0.5)", "i.eq_(f)", "i8.eq_(300)", "b.eq_(1)", "torch.eq(f, f, out=torch.empty(3))",
    "torch.eq(f, f, out=i8)", "torch.eq(d, d, out=h)", "torch.eq(f, 3, out=c)",
    "torch.eq(base[:4], base[:4], out=base[1:5])")
test_no_gradient = agreement(
    "r == 1", "torch.eq(r, r, out=b)", "r.eq_(1)",
    "(lambda x: torch.autograd.grad([(x * 1).eq_(x)], [x], [t([1., 2., 3.])]))(r)")
test_errors = agreement("torch.eq(f)", "torch.eq(f, 'x')", "torch.eq(f, None)", "torch.eq(1, f)", "torch.eq(f, f, f)",
                        "f == f2", "t([1], 'uint16') == t([1], 'int16')")

for _name, _call in ORDER.items():
    globals()[f"test_{_name}"] = values(_name, {_name: _call}, (*FLOATS, *INTS, "bool"))
test_order_dtypes = dtypes(ORDER, mixed=False)
