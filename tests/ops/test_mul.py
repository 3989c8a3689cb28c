"""mul against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, INTS, agreement, bounded, dtypes, forms, gradients, layouts, values

PLAIN = {"plain": lambda ns, x, y: ns.mul(x, y)}
NUMBERS = {
    "number": lambda ns, x: x * 0.3,
    "number first": lambda ns, x: 0.3 * x,
    "rounded number": lambda ns, x: ns.mul(0.3, x),
    "large": lambda ns, x: x * 1e5,
    "0-dim": lambda ns, x: x * ns.tensor(0.3, dtype=ns.float64),
    "0-dim first": lambda ns, x: ns.tensor(0.3, dtype=ns.float64) * x,
}

test_floats = values("mul", PLAIN | NUMBERS, FLOATS)
test_integers = values("mul", PLAIN | {"number": lambda ns, x: x * 1000}, INTS)
test_bool = values("mul", PLAIN, ("bool",))
test_wide_unsigned = values("mul", PLAIN, ("uint16",))
test_complex = bounded(PLAIN, lambda x, y: x * y)
test_complex_number = bounded({"number": lambda ns, x: x * (0.5 - 2j)}, lambda x: x * (0.5 - 2j))
test_dtypes = dtypes(PLAIN | {"two": lambda ns, x: x * 2, "half": lambda ns, x: 0.5 * x, "i": lambda ns, x: x * 1j})
test_layouts = layouts(PLAIN | {"number": NUMBERS["number"]})
test_forms = forms("mul", PLAIN)
test_gradients = gradients(PLAIN | {k: NUMBERS[k] for k in ("number", "number first")})
test_numbers = agreement("i8 * 1000", "h * 1e300", "bf * 1e300", "f * 1e-300", "torch.mul(True, b)", "b * 2", "b * 2.5",
                         "f.multiply(2)", "torch.multiply(f, f)", "i * True", "c * 2", "f * (1+2j)")
test_specials = agreement("t([0., inf, nan, -0.]) * 0", "t([0., inf, nan, -0.]) * inf", "t([0., inf, nan, -0.]) * -1.")
test_errors = agreement("torch.mul(f)", "torch.mul(f, f, alpha=1)", "torch.mul(f, 'x')", "f * f2", "i.mul_(0.5)",
                        "f.mul_(1j)", "r.mul_(2)", "torch.mul(c, c, out=i)")
