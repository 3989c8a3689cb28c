"""lerp against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, agreement, bounded, dtypes, forms, gradients, layouts, values

WEIGHTS = (0.0, 0.3, -0.4, 0.499999, 0.5, 0.7, 1.0, 1.7, -3.0, float("nan"), float("inf"))


def weighted(weight):
    return lambda ns, s, e: ns.lerp(s, e, weight)


NUMBERS = {str(w): weighted(w) for w in WEIGHTS}
TENSORS = {
    "weights": lambda ns, s, e, w: ns.lerp(s, e, w),
    "0-dim": lambda ns, s, e: ns.lerp(s, e, ns.tensor(0.3, dtype=ns.float64)),
}

# Where the two ends are nearly opposite, what end - input rounds away shows from which end the formula starts.
OPPOSITE = {
    "0.5 of opposites": lambda ns, s, e: ns.lerp(s, ns.nextafter(-s, e), 0.5),
    "0.499 of opposites": lambda ns, s, e: ns.lerp(s, ns.nextafter(-s, e), 0.499),
}

test_floats = values("lerp", NUMBERS | TENSORS | OPPOSITE, FLOATS)
test_complex = bounded({"small": lambda ns, s, e: ns.lerp(s, e, 0.25 + 0.125j)}, lambda s, e: s + (0.25 + 0.125j) * (e - s))
test_complex_near_end = bounded({"large": lambda ns, s, e: ns.lerp(s, e, 0.75 + 0.125j)},
                                lambda s, e: e + (-0.25 + 0.125j) * (e - s))
test_dtypes = dtypes({"weights": TENSORS["weights"], "number": lambda ns, s, e: ns.lerp(s, e, 0.5),
                      "alone": lambda ns, s: ns.lerp(s, s, 0.5)})
test_switch = layouts(OPPOSITE)
test_layouts = layouts({"weights": TENSORS["weights"], "number": NUMBERS["0.3"]})
test_forms = forms("lerp", {"weights": TENSORS["weights"], "number": NUMBERS["0.3"]})
test_gradients = gradients({"weights": TENSORS["weights"], "0.3": NUMBERS["0.3"], "0.7": NUMBERS["0.7"]})
test_weights = agreement(
    "torch.lerp(f, f, 1e300)", "torch.lerp(h, h, 1e6)", "torch.lerp(f, f, 1j)", "torch.lerp(f, f, True)",
    "torch.lerp(f, f, t(1))", "torch.lerp(f, f, t(.5, 'float64'))", "torch.lerp(t(1.), t(2.), t(.5, 'float64'))",
    "torch.lerp(f, f, d)", "torch.lerp(f, f, i)", "torch.lerp(bf, bf, 1e300)", "torch.lerp(f, f + 1, inf)")
test_errors = agreement(
    "torch.lerp(f, f)", "torch.lerp(f, 1, 0.5)", "torch.lerp(f, f, 'x')", "torch.lerp(f, f, None)", "torch.lerp(f, d, 0.5)",
    "torch.lerp(d, f, 0.5)", "torch.lerp(f, i, 0.5)", "torch.lerp(f, h, 0.5)", "torch.lerp(i, i, 0.5)",
    "torch.lerp(c, f, .5)", "torch.lerp(f, t(1., 'float64'), 0.5)", "torch.lerp(f, f2, 0.5)", "r.lerp_(f, 0.5)",
    "torch.lerp(f, f, .5, out=d)", "torch.lerp(f, f, .5, out=i)", "torch.lerp(f, f, f, out=d)",
    "torch.lerp(i[:0], i[:0], .5)")
