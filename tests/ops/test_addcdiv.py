"""addcdiv against PyTorch: every clause of its contract."""
from __future__ import annotations

from ._common import FLOATS, agreement, bounded, dtypes, forms, gradients, layouts, values

CALLS = {
    "plain": lambda ns, s, a, b: ns.addcdiv(s, a, b),
    "value": lambda ns, s, a, b: ns.addcdiv(s, a, b, value=0.3),
    "negative": lambda ns, s, a, b: ns.addcdiv(s, a, b, value=-2.5),
    "large": lambda ns, s, a, b: ns.addcdiv(s, a, b, value=1e6),
    "0-dim": lambda ns, s, a: ns.addcdiv(s, a, ns.tensor(0.3, dtype=ns.float64), value=0.7),
}

test_floats = values("addcdiv", CALLS, FLOATS)
test_complex = bounded({"value": lambda ns, s, a, b: ns.addcdiv(s, a, b, value=0.5 - 2j)},
                       lambda s, a, b: s + ((0.5 - 2j) * a) / b)
test_dtypes = dtypes({"plain": CALLS["plain"], "pair": lambda ns, s, a: ns.addcdiv(s, a, a)})
test_layouts = layouts({"value": CALLS["value"]})
test_forms = forms("addcdiv", {k: CALLS[k] for k in ("plain", "value")})
test_gradients = gradients({k: CALLS[k] for k in ("plain", "negative")})
test_specials = agreement("torch.addcdiv(f, f, t([0., -0., nan]))", "torch.addcdiv(f, t([0., 0., inf]), t([0., 1., 1.]))",
                          "torch.addcdiv(f, f, t([0., 1., 1.]), value=0)", "torch.addcdiv(b, f, b)")
test_integers = agreement("torch.addcdiv(i, i, i)", "torch.addcdiv(f, i, i)", "torch.addcdiv(f, b, i)",
                          "torch.addcdiv(i, f, i)", "torch.addcdiv(f, f, i)", "torch.addcdiv(i[:0], i[:0], i[:0])",
                          "i.addcdiv_(f, f)")
test_numbers = agreement("torch.addcdiv(f, f, f, value=1e300)", "torch.addcdiv(h, h, h, value=1e6)",
                         "torch.addcdiv(f, f, f, value=1j)", "torch.addcdiv(f, f, f, value=True)",
                         "torch.addcdiv(f, f, f, value=t(2.))", "torch.addcdiv(f, f, f, value=nan)")
test_errors = agreement("torch.addcdiv(f, f)", "torch.addcdiv(f, f, 1)", "torch.addcdiv(f, f2, f)",
                        "torch.addcdiv(f, f, f, out=i)", "r.addcdiv_(f, f)", "torch.addcdiv(h, bf, h)")
