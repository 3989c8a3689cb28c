"""addcmul against PyTorch: every clause of its contract."""
from __future__ import annotations

import pytest

import reftorch

from ._common import FLOATS, INTS, agreement, bounded, dtypes, forms, gradients, layouts, values

CALLS = {
    "plain": lambda ns, s, a, b: ns.addcmul(s, a, b),
    "value": lambda ns, s, a, b: ns.addcmul(s, a, b, value=0.3),
    "negative": lambda ns, s, a, b: ns.addcmul(s, a, b, value=-2.5),
    "large": lambda ns, s, a, b: ns.addcmul(s, a, b, value=1e6),
    "0-dim": lambda ns, s, a: ns.addcmul(s, a, ns.tensor(0.3, dtype=ns.float64), value=0.7),
}

test_floats = values("addcmul", CALLS, FLOATS)
test_integers = values("addcmul", {"plain": CALLS["plain"], "value": lambda ns, s, a, b: ns.addcmul(s, a, b, value=2.5)},
                       INTS)
test_complex = bounded({"value": lambda ns, s, a, b: ns.addcmul(s, a, b, value=0.5 - 2j)},
                       lambda s, a, b: s + ((0.5 - 2j) * a) * b)
test_dtypes = dtypes({"plain": CALLS["plain"], "pair": lambda ns, s, a: ns.addcmul(s, a, a)})
test_layouts = layouts({"value": CALLS["value"]})
test_forms = forms("addcmul", {k: CALLS[k] for k in ("plain", "value")})
test_gradients = gradients({k: CALLS[k] for k in ("plain", "negative")})
test_numbers = agreement(
    "torch.addcmul(i, i, i, value=2.5)", "torch.addcmul(i, i, i, value=1e300)", "torch.addcmul(i, i, i, value=nan)",
    "torch.addcmul(f, f, f, value=1e300)", "torch.addcmul(f, f, f, value=inf)", "torch.addcmul(h, h, h, value=1e6)",
    "torch.addcmul(h, h, h, value=1e300)", "torch.addcmul(i8, i8, i8, value=300)", "torch.addcmul(u8, u8, u8, value=-1)",
    "torch.addcmul(f, f, f, value=1j)", "torch.addcmul(f, f, f, value=2**127)", "torch.addcmul(i, i, i, value=True)",
    "torch.addcmul(f, f, f, value=t(2.))", "torch.addcmul(f, f, f, value=t([2.]))",
    "torch.addcmul(f, f, f, value=r.sum())", "torch.addcmul(f, f, f, value='x')",
    "torch.addcmul(i, i, i, value=2.5, out=torch.empty(3))")
test_promotion = agreement("torch.addcmul(f, i, i)", "torch.addcmul(i, i, f, value=.5)", "torch.addcmul(t(1.), i, i)",
                           "torch.addcmul(b, b, i)", "torch.addcmul(h, bf, h)", "torch.addcmul(i, t(2.), i)")
test_errors = agreement("torch.addcmul(f, f)", "torch.addcmul(f, f, 1)", "torch.addcmul(f, 1, f)", "torch.addcmul(1, f, f)",
                        "torch.addcmul(f, f, f, 2)", "torch.addcmul(f, f, f, val=2)", "torch.addcmul(f, f2, f)",
                        "torch.addcmul(b, b, b, value=1e300)", "torch.addcmul(b[:0], b[:0], b[:0])", "r.addcmul_(f, f)",
                        "i.addcmul_(f, f)", "torch.addcmul(f, f, f, out=i)")


def test_cpu_scalars_on_cuda():
    on_cuda, scalar = reftorch.tensor([1.0, 2.0], device="cuda"), reftorch.tensor(3.0)
    assert reftorch.addcmul(on_cuda, on_cuda, scalar).tolist() == [4.0, 8.0]
    for args, name in (((scalar, on_cuda, on_cuda), "self"), ((on_cuda, scalar, on_cuda), "tensor1")):
        with pytest.raises(RuntimeError, match=f"CPU Scalar support for {name} argument is not supported"):
            reftorch.addcmul(*args)
