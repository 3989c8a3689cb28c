"""div, floor_divide and 2 / x against PyTorch: every clause of div's contract."""
from __future__ import annotations

from ._common import FLOATS, INTS, agreement, bounded, dtypes, forms, gradients, layouts, values

PLAIN = {"plain": lambda ns, x, y: ns.div(x, y)}
NUMBERS = {
    "number": lambda ns, x: x / 0.3,
    "rounded number": lambda ns, x: ns.div(0.3, x),
    "0-dim": lambda ns, x: x / ns.tensor(0.3, dtype=ns.float64),
}
ROUNDED = {
    "trunc": lambda ns, x, y: ns.div(x, y, rounding_mode="trunc"),
    "floor": lambda ns, x, y: ns.div(x, y, rounding_mode="floor"),
    "trunc number": lambda ns, x: ns.div(x, -0.3, rounding_mode="trunc"),
    "floor number": lambda ns, x: ns.div(x, -0.3, rounding_mode="floor"),
    "// number": lambda ns, x: x // 3,
    "number //": lambda ns, x: 7 // x,
}


def nonzero(ns, y):
    return y + (y == 0).to(y.dtype)


INTEGERS = {
    "trunc": lambda ns, x, y: ns.div(x, nonzero(ns, y.abs()), rounding_mode="trunc"),
    "floor": lambda ns, x, y: ns.div(x, nonzero(ns, y), rounding_mode="floor"),
    "//": lambda ns, x: x // 3,
}

test_floats = values("div", PLAIN | NUMBERS | ROUNDED, FLOATS)
test_number_by_tensor = values("mul", {"2 /": lambda ns, x: 0.3 / x}, FLOATS)
test_integers = values("div", INTEGERS, INTS)
test_true_division_of_integers = values("div", PLAIN, (*INTS, "bool"))
test_complex = bounded(PLAIN, lambda x, y: x / y)
test_dtypes = dtypes(PLAIN | {"trunc": ROUNDED["trunc"], "floor": ROUNDED["floor"], "two": lambda ns, x: x / 2,
                              "1 /": lambda ns, x: 1 / x, "// 1.5": lambda ns, x: x // 1.5})
test_layouts = layouts(PLAIN | {"floor": ROUNDED["floor"]})
test_forms = forms("div", PLAIN | {"floor": ROUNDED["floor"]})
test_gradients = gradients(PLAIN | {"number": NUMBERS["number"]})
test_no_slope = gradients({k: ROUNDED[k] for k in ("trunc", "floor")}, twice=False)
test_zero_divisors = agreement(
    "i / 0", "torch.div(i, 0, rounding_mode='trunc')", "torch.div(i, 0, rounding_mode='floor')", "i // 0",
    "torch.div(u8, t([1, 0, 2], 'uint8'), rounding_mode='floor')", "torch.div(i[:0], 0, rounding_mode='floor')",
    "i8 // 256", "i8 // 2**40", "i.div_(0, rounding_mode='floor')", "f // 0", "torch.div(f, -0., rounding_mode='trunc')")
test_wrap = agreement(
    "torch.div(i8, -1, rounding_mode='trunc')", "torch.div(i8, t(-1, 'int8'), rounding_mode='floor')",
    "torch.div(i32, -1, rounding_mode='floor')", "torch.div(i64, -1, rounding_mode='floor')",
    "torch.div(u8, -1, rounding_mode='floor')", "u8 / -1", "t([-7, 7, -7, 7]) // t([2, -2, -2, 2])")
test_specials = agreement(
    "t([nan, inf, -inf, 0., -0.]) // 2.", "t([1., -1.]) // inf", "torch.div(t([1., -1.]), inf, rounding_mode='trunc')",
    "torch.div(t([-.5, .5, -0.]), 1., rounding_mode='trunc')", "t([0., -1., 1., nan]) / t([0., 0., -0., 1.])", "b / b")
test_names = agreement(
    "torch.true_divide(i, i)", "torch.divide(f, f, rounding_mode='floor')", "f.true_divide(2)", "f.divide_(2)",
    "torch.floor_divide(i, 2)", "f.floor_divide(f)", "f.floor_divide_(2)", "i.__ifloordiv__(2)", "f.__rtruediv__(2)",
    "torch.div(f, f, rounding_mode=None)")
test_errors = agreement(
    "torch.div(f, f, rounding_mode='round')", "torch.div(i, i, rounding_mode='')", "torch.div(f, f, rounding_mode=1)",
    "torch.div(f, f, 'floor')", "torch.div(c, c, rounding_mode='floor')", "torch.div(b, True, rounding_mode='floor')",
    "i.div_(2)", "i.__itruediv__(2)", "torch.div(i, i, out=i)", "f / None", "f / f2",
    "torch.div(i, i, rounding_mode='floor', out=torch.empty(3, dtype=torch.int8))")
