"""Short pieces of code that give the same result, or the same exception and text, as PyTorch."""
from __future__ import annotations

import warnings

import pytest

import reftorch

torch = pytest.importorskip("torch")

LEAVES = """
x = torch.ones(3, requires_grad=True)
"""
PIECES = {
    # ---- leaves ----
    "leaf in place": "x.add_(1)",
    "leaf in place, no_grad": "with torch.no_grad(): x.add_(1)\nr = x, x._version, x.requires_grad",
    "view of leaf in place": "x[0].add_(1)",
    "view of leaf that is a leaf": "b = torch.ones(3); v = b[:2]; v.requires_grad_(); v.mul_(2)",
    "leaf moved": "y = x * x\nwith torch.no_grad(): x.mul_(2)\ny.sum().backward()",
    "int leaf": "torch.ones(2, dtype=torch.int32).requires_grad_()",
    "int leaf by assignment": "t = torch.ones(2, dtype=torch.int32)\nt.requires_grad = True",
    "int leaf in factory": "torch.zeros(2, dtype=torch.int64, requires_grad=True)",
    "requires_grad not bool": "x.requires_grad_(1)",
    "requires_grad not bool by assignment": "x.requires_grad = 1",
    "requires_grad of non-leaf off": "(x * 1).requires_grad_(False)",
    "requires_grad of non-leaf on": "r = (x * 1).requires_grad_().requires_grad",
    "factory requires_grad": "t = torch.zeros(2, requires_grad=True); r = t.requires_grad, t.is_leaf, t.grad_fn, t.grad",
    "grad after toggling": "(x * 2).sum().backward(); x.requires_grad_(False); r = x.grad, x.requires_grad",
    "same leaf after toggling": "y = x * 2; x.requires_grad_(False); x.requires_grad_(); y.sum().backward(); r = x.grad",
    "detach_": "y = x * 1; y.detach_(); r = y.requires_grad, y.is_leaf, y.grad_fn",
    "detach_ of view": "(x * 1)[0].detach_()",
    "saved and detached in place": "y = x * 2; z = y * y; y.detach_(); z.sum().backward()",
    "output_nr": "r = [t.output_nr for t in x.unbind()], x.output_nr",
    # ---- grad ----
    "assign grad": "x.grad = torch.ones(3); r = x.grad",
    "assign None": "(x * 1).sum().backward(); x.grad = None; r = x.grad",
    "assign wrong size": "x.grad = torch.ones(4)",
    "assign wrong dtype": "x.grad = torch.ones(3, dtype=torch.float64)",
    "assign int dtype": "x.grad = torch.ones(3, dtype=torch.int64)",
    "assign to int": "t = torch.ones(3, dtype=torch.int32); t.grad = torch.ones(3)",
    "assign number": "x.grad = 3",
    "assign itself": "x.grad = x",
    "assign to no-grad tensor": "t = torch.ones(3); t.grad = torch.ones(3); r = t.grad",
    "assign transposed": "t = torch.ones(2, 2, requires_grad=True); t.grad = torch.ones(2, 2).t(); r = t.grad.stride()",
    "accumulates in place": "(x * 1).sum().backward(); g = x.grad; (x * 2).sum().backward(); r = g is x.grad, g, g._version",
    "accumulates out of place": "(x * 1).sum().backward(create_graph=True); g = x.grad\n"
                                "(x * 2).sum().backward(create_graph=True); r = g is x.grad, g, x.grad",
    "strides of transposed leaf": "t = torch.ones(2, 3).t().requires_grad_(); (t * 2).backward(torch.ones(3, 2)); r = t.grad.stride()",
    "strides of expanded leaf": "t = torch.ones(1, 3).expand(2, 3).requires_grad_(); (t * 2).sum().backward(); r = t.grad.stride()",
    "strides from transposed gradient": "t = torch.ones(2, 3, requires_grad=True); t.t().backward(torch.ones(3, 2)); r = t.grad.stride()",
    "gradient is not shared": "g = torch.ones(3); (x + 0).backward(g); g.zero_(); r = x.grad",
    "grad is None at first": "r = x.grad, (x * 1).requires_grad",
    # ---- backward and grad ----
    "backward of no-grad": "torch.ones(3).backward()",
    "backward of vector": "(x * 1).backward()",
    "backward of one element": "t = torch.ones(1, requires_grad=True); (t * 2).backward(); r = t.grad",
    "backward wrong shape": "(x * 1).backward(torch.ones(4))",
    "backward wrong shape scalar": "(x * 1).sum().backward(gradient=torch.ones(1))",
    "backward complex for real": "(x * 1).backward(torch.ones(3, dtype=torch.complex64))",
    "backward other float dtype": "(x * 1).backward(torch.ones(3, dtype=torch.float64)); r = x.grad",
    "backward complex scalar": "(x[0] * (1 + 1j)).backward()",
    "backward bad gradient": "(x * 1).backward(3)",
    "backward on leaf": "x.backward(torch.ones(3)); r = x.grad",
    "backward no outputs": "r = torch.autograd.backward([])",
    "backward empty inputs": "(x * 1).sum().backward(inputs=[])",
    "backward no-grad input": "(x * 1).sum().backward(inputs=[torch.ones(2)])",
    "backward inputs": "t = torch.ones(3, requires_grad=True); (x * t).sum().backward(inputs=[t]); r = x.grad, t.grad",
    "backward input tensor": "t = torch.ones(3, requires_grad=True); (x * t).sum().backward(inputs=t); r = x.grad, t.grad",
    "backward non-leaf input": "y = x * 2; (y * y).sum().backward(inputs=[y]); r = y.grad, x.grad",
    "backward several": "torch.autograd.backward([x * 2, (x * 3).sum()], [torch.ones(3), None]); r = x.grad",
    "backward several, one without grad": "torch.autograd.backward([x * 2, torch.ones(1)], [torch.ones(3), None])",
    "backward twice": "y = (x * x).sum(); y.backward(); y.backward()",
    "backward twice, nothing saved": "y = (x + x).sum(); y.backward(); y.backward(); r = x.grad",
    "backward twice, number": "y = (x * 2.0).sum(); y.backward(); y.backward(); r = x.grad",
    "backward twice, retained": "y = (x * x).sum(); y.backward(retain_graph=True); y.backward(); r = x.grad",
    "backward twice, create_graph": "y = (x * x).sum(); y.backward(create_graph=True); y.backward(); r = x.grad.detach()",
    "backward twice through a view write": "y = x * 1; y[0].mul_(2); z = y.sum(); z.backward(); z.backward()",
    "backward within no_grad": "y = (x * x).sum()\nwith torch.no_grad(): y.backward()\nr = x.grad, x.grad.requires_grad",
    "grad": "r = torch.autograd.grad((x * x).sum(), x)",
    "grad with weights": "r = torch.autograd.grad(x * x, [x], torch.tensor([1.0, 2.0, 3.0])), x.grad",
    "grad unused": "torch.autograd.grad((x * 1).sum(), [x, torch.ones(3, requires_grad=True)])",
    "grad allow_unused": "r = torch.autograd.grad((x * 1).sum(), [x, torch.ones(3, requires_grad=True)], allow_unused=True)",
    "grad materialize": "r = torch.autograd.grad((x * 1).sum(), [x, torch.ones(3, requires_grad=True)], materialize_grads=True)",
    "grad materialize, not unused": "torch.autograd.grad((x * 1).sum(), x, materialize_grads=True, allow_unused=False)",
    "grad of no-grad input": "torch.autograd.grad((x * 1).sum(), torch.ones(3))",
    "grad no inputs": "torch.autograd.grad((x * 1).sum(), [])",
    "grad no outputs": "torch.autograd.grad([], [x])",
    "grad bad input": "torch.autograd.grad((x * 1).sum(), 3)",
    "grad bad output": "torch.autograd.grad(3, x)",
    "grad wrong weights": "torch.autograd.grad((x * 1).sum(), x, grad_outputs=torch.ones(3))",
    "grad of itself": "r = torch.autograd.grad(x, x, torch.ones(3)); y = x * 2; r += torch.autograd.grad(y.sum(), y)",
    "grad of several": "y = x * 2; z = y * 3; r = torch.autograd.grad([z.sum(), y.sum()], [x, y])",
    "grad stops": "y = x * x; z = y * y; g = torch.autograd.grad(z.sum(), y, retain_graph=True); z.sum().backward(); r = g, x.grad",
    "grad through unused branch": "y = x * x; w = x * y.detach(); r = torch.autograd.grad(w.sum(), x)",
    "third derivative": "g = (x * x * x).sum()\nfor _ in range(3): g, = torch.autograd.grad(g.sum(), x, create_graph=True)\nr = g, g.requires_grad",
    "retain_grad": "y = x * 2; y.retain_grad(); (y * y).sum().backward(); r = y.grad, y.retains_grad, x.retains_grad",
    "retain_grad twice": "y = x * 2; y.retain_grad(); y.sum().backward(); (y * 3).sum().backward(); r = y.grad",
    "retain_grad of leaf": "x.retain_grad(); r = x.retains_grad",
    "retain_grad of no-grad": "torch.ones(2).retain_grad()",
    "retain_grad moves": "y = x * 1; y.retain_grad(); z = y * 2; y.mul_(3); (z.sum() + y.sum()).backward(); r = y.grad, x.grad",
    "non-leaf grad": "y = x * 2; y.sum().backward(); r = y.grad",
    # ---- versions ----
    "overwritten input": "y = x * 1; z = y * y; y.add_(1); z.sum().backward()",
    "overwritten leaf": "w = torch.ones(3); z = x * w; w.add_(1); z.sum().backward()",
    "overwritten result": "z = x.sqrt(); z.add_(1); z.sum().backward()",
    "overwritten through view": "y = x * 1; z = y * y; y[0] = 1; z.sum().backward()",
    "overwritten through detach": "y = x * 1; z = y * y; y.detach().add_(1); z.sum().backward()",
    "overwritten through data": "y = x * 1; z = y * y; y.data.add_(1); z.sum().backward(); r = x.grad",
    "overwritten float64": "y = x.double() * 1; z = y * y; y.zero_(); z.sum().backward()",
    "overwritten and not needed": "y = x * 1; z = y + y; y.add_(1); z.sum().backward(); r = x.grad",
    "overwritten scalar factor": "w = torch.ones(3); z = x * w; w.add_(1); r = torch.autograd.grad(z.sum(), x)",
    "in place with itself": "y = x * 1; y.mul_(y); y.sum().backward()",
    "in place saves a copy": "t = torch.ones(3, requires_grad=True); y = x * 3; y.mul_(t); y.sum().backward(); r = x.grad, t.grad",
    "in place saves its result": "y = x * 4; y.sqrt_(); y.sum().backward(); r = x.grad",
    "in place on view saves its result": "y = x * 4; y[:2].sqrt_(); g, = torch.autograd.grad(y.sum(), x, create_graph=True)\n"
                                         "r = g.detach(), torch.autograd.grad(g.sum(), x)",
    "versions": "y = x * 1; v = y[0]; d = y.detach(); e = y.data; y.add_(1); v.add_(1); r = y._version, v._version, d._version, e._version",
    "set data": "x.data = torch.zeros(2); r = x, x._version, x.requires_grad, x.is_leaf",
    "set data int": "x.data = torch.zeros(2, dtype=torch.int32)",
    "set data number": "x.data = 3",
    # ---- views and in-place ----
    "unbind in place": "y = x * 1; y.unbind()[0].add_(1)",
    "unbind of leaf in place": "x.unbind()[0].add_(1)",
    "view of unbind in place": "y = torch.ones(2, 2, requires_grad=True) * 1; y.unbind()[0][0].add_(1)",
    "base of unbind in place": "y = x * 1; u = y.unbind(); y.mul_(2); u[0].grad_fn",
    "base of unbind in place, used": "y = x * 1; u = y.unbind(); y.mul_(2); u[0] * 2",
    "unbind under no_grad in place": "y = x * 1\nwith torch.no_grad(): u = y.unbind()\nu[0].mul_(2)",
    "no_grad view in place": "y = x * 1\nwith torch.no_grad(): v = y[0]\nv.add_(1)",
    "no_grad view of leaf in place": "with torch.no_grad(): v = x[0]\nv.add_(1)",
    "no_grad view, both inside": "y = x * 1\nwith torch.no_grad():\n    v = y[0]; v.mul_(2)\nr = y.detach(), y._version, v.requires_grad",
    "no_grad view of no-grad base by grad": "b = torch.ones(3)\nwith torch.no_grad(): v = b[0]\nv.mul_(x[0])",
    "no_grad view, base in place": "y = x * 1\nwith torch.no_grad(): v = y[0]\ny.mul_(2)\nv.grad_fn",
    "view of no_grad view in place": "y = x * 1\nwith torch.no_grad(): v = y[:2]\nv[0].mul_(2)",
    "no_grad view requires grad": "with torch.no_grad(): v = x[0]\nr = v.requires_grad, v.is_leaf, v.grad_fn, (v * 2).grad_fn.next_functions",
    "no_grad result": "with torch.no_grad(): y = x * 2\nr = y.requires_grad, y.is_leaf",
    "view before requires_grad": "b = torch.ones(3); v = b[0]; b.requires_grad_()\nr = v.requires_grad, v.is_leaf, (v * 2).grad_fn.next_functions",
    "view after requires_grad off": "b = torch.ones(3); v = b[0]; b.requires_grad_(); b.requires_grad_(False); r = v.requires_grad",
    "view of base written with grad": "b = torch.ones(3); v = b[:2]; b.mul_(x); r = v.grad_fn.name(), v.requires_grad\nv.sum().backward(); r += (x.grad,)",
    "base of view written with grad": "b = torch.ones(3); v = b[:2]; w = b[1:]; v.mul_(x[0])\n"
                                      "r = b.grad_fn.name(), w.grad_fn.name(), w.grad_fn.next_functions[0][0].name()\nw.sum().backward(); r += (x.grad,)",
    "write in no_grad, view's history": "y = x * 1; v = y[0]\nwith torch.no_grad(): y.mul_(2)\nr = v.grad_fn.name(), v.requires_grad",
    "chain of writes": "y = x * 1; v = y.view(3, 1); v[0].mul_(2); v.t().add_(x); y.neg_(); (v * v).sum().backward(); r = x.grad",
    "write through transposed view": "t = torch.ones(2, 3, requires_grad=True) * 1; t.t()[0].mul_(3); r = torch.autograd.grad(t.sum(), t)",
    "write overlapping": "x.detach().expand(2, 3).add_(1)",
    "copy_ of expanded gradient": "y = torch.zeros(2, 3); y.copy_(x); y.sum().backward(); r = x.grad",
    "copy_ over other dtype": "y = torch.zeros(3, dtype=torch.float64); y.copy_(x); (y * y).sum().backward(); r = x.grad, y.grad_fn.name()",
    "copy_ over int": "y = torch.zeros(3, dtype=torch.int64); y.copy_(x); r = y.requires_grad",
    "setitem": "y = x * 1; y[0] = x[1] * 5; y.sum().backward(); r = x.grad, y.grad_fn.name()",
    "setitem number": "y = x * 1; y[0] = 5; r = y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()\ny.sum().backward(); r += (x.grad,)",
    "setitem leaf": "x[0] = 1",
    "fill_": "y = x * 1; y.fill_(2); y.sum().backward(); r = x.grad, y.grad_fn.name()",
    "fill_ with grad": "y = torch.zeros(2, 2); y.fill_(x[0]); y.sum().backward(); r = x.grad, y.grad_fn.name()",
    "as_strided overlapping": "t = torch.arange(4.0, requires_grad=True); (t.as_strided((3, 2), (1, 1)) * 2).sum().backward(); r = t.grad",
    "as_strided of view": "t = torch.arange(6.0, requires_grad=True); v = t[1:]; (v.as_strided((2, 2), (2, 1), 2)).sum().backward(); r = t.grad",
    "as_strided of overlapping input": "t = torch.ones(1, 3, requires_grad=True); v = t.expand(2, 3); v.as_strided((3,), (1,)).sum().backward(); r = t.grad",
    "view chain names": "m = torch.ones(2, 3, requires_grad=True)\nr = [f.grad_fn.name() for f in (m.view(6), m.reshape(6), m.t().reshape(6), m[:, 1:2].t().reshape(2)"
                        ", m.t(), m.T, m.transpose(0, 1), m.permute(1, 0), m.expand(2, 2, 3), m[0], m[:1], m[:, 1], m[None], m[...], m.unsqueeze(0), m.squeeze()"
                        ", m.squeeze(0), m.squeeze((0, 1)), m.as_strided((1,), (1,)), m.unbind()[1], m.clone(), m.double(), m.sum(), m.sum(0), m.flatten()"
                        ", m.t().contiguous(), m.narrow(0, 0, 1), m.view_as(m), m.expand_as(m), m.sum_to_size(3), m.sum_to_size(1, 3), m * 2, -m, m.abs())]",
    "AccumulateGrad": "n = (x * 1).grad_fn.next_functions[0][0]; r = n.name(), n.variable is x, type(n).__name__",
    "names": "r = (x * 1).grad_fn.name(), type((x * 1).grad_fn).__name__, (x * 1).grad_fn.next_functions[1:]",
    "call a node": "r = (x * 2.0).grad_fn(torch.ones(3))",
    # ---- modes ----
    "no_grad": "with torch.no_grad(): r = torch.is_grad_enabled()\nr = r, torch.is_grad_enabled()",
    "no_grad decorator": "@torch.no_grad()\ndef f(a): return torch.is_grad_enabled(), (a * 2).requires_grad\nr = f(x), torch.is_grad_enabled(), f.__name__",
    "no_grad decorator bare": "@torch.no_grad\ndef f(): return torch.is_grad_enabled()\nr = f()",
    "no_grad generator": "@torch.no_grad()\ndef f():\n    got = yield torch.is_grad_enabled()\n    yield got, torch.is_grad_enabled()\n"
                         "g = f(); r = [next(g), torch.is_grad_enabled(), g.send(5), torch.is_grad_enabled()]",
    "no_grad exception": "try:\n    with torch.no_grad(): raise ValueError\nexcept ValueError: r = torch.is_grad_enabled()",
    "enable_grad": "with torch.no_grad():\n    with torch.enable_grad(): r = (x * 2).requires_grad",
    "set_grad_enabled": "torch.set_grad_enabled(False); r = [torch.is_grad_enabled()]; torch.set_grad_enabled(True); r += [torch.is_grad_enabled()]",
    "set_grad_enabled block": "with torch.set_grad_enabled(False): r = torch.is_grad_enabled()\nr = r, torch.is_grad_enabled()",
    "set_grad_enabled decorator": "@torch.set_grad_enabled(False)\ndef f(): return torch.is_grad_enabled()\nr = torch.is_grad_enabled(), f(), torch.is_grad_enabled()",
    "inference mode": "with torch.inference_mode(): r = torch.is_grad_enabled(), torch.is_inference_mode_enabled()",
    "inference mode off inside": "with torch.inference_mode():\n    with torch.inference_mode(False): r = torch.is_grad_enabled(), torch.is_inference_mode_enabled()",
    "inference mode decorator": "@torch.inference_mode()\ndef f(): return torch.is_inference_mode_enabled()\nr = f(), torch.is_inference_mode_enabled()",
    "inference mode decorator bare": "@torch.inference_mode\ndef f(): return torch.is_inference_mode_enabled()\nr = f()",
    "inference tensor": "with torch.inference_mode(): t = torch.ones(3); u = x * 2; v = t[0]; w = torch.tensor([1.0]); c = x.clone()\n"
                        "r = [a.is_inference() for a in (t, u, v, w, c, t[0], t * 2)], u.requires_grad, t._is_view(), v._is_view()",
    "inference tensor version": "with torch.inference_mode(): t = torch.ones(3)\nt._version",
    "inference tensor in place outside": "with torch.inference_mode(): t = torch.ones(3)\nt.add_(1)",
    "inference tensor out outside": "with torch.inference_mode(): t = torch.ones(3)\ntorch.add(torch.ones(3), 1, out=t)",
    "inference tensor copy_ outside": "with torch.inference_mode(): t = torch.ones(3)\nt.copy_(x)",
    "inference tensor in place inside": "with torch.inference_mode():\n    t = torch.ones(3); t.add_(1); t[0] = 5\nr = t",
    "inference tensor saved": "with torch.inference_mode(): t = torch.ones(3)\nt * x",
    "inference tensor not saved": "with torch.inference_mode(): t = torch.ones(3)\nr = (t + x).requires_grad, (t.clone() * x).requires_grad",
    "inference tensor requires_grad outside": "with torch.inference_mode(): t = torch.ones(3)\nt.requires_grad_()",
    "inference tensor requires_grad inside": "with torch.inference_mode(): t = torch.ones(3, requires_grad=True); r = t.requires_grad, (t * 2).requires_grad",
    "normal tensor in place in inference mode": "b = torch.ones(3)\nwith torch.inference_mode(): b.add_(1)\nr = b, b._version, b.is_inference()",
    "view in inference mode": "b = torch.ones(3)\nwith torch.inference_mode(): v = b[0]\nr = v.is_inference(), v._is_view(), v._base is b, v.requires_grad",
    "view of grad tensor in inference mode": "with torch.inference_mode(): v = x[0]\nr = v.is_inference(), v.requires_grad, v.is_leaf",
    "view in inference mode in place": "y = x * 1\nwith torch.inference_mode(): v = y[0]\nv.add_(1)",
    "view in inference mode, base in place": "y = x * 1\nwith torch.inference_mode(): v = y[0]\ny.mul_(2)\nv.grad_fn",
    "view of view in inference mode in place": "y = x * 1\nwith torch.inference_mode(): v = y[:2]\nv[0].add_(1)",
    "enable_grad in inference mode": "with torch.inference_mode():\n    with torch.enable_grad(): r = torch.is_grad_enabled(), (x * 2).requires_grad, x[0].requires_grad",
    "out with grad": "torch.mul(x, x, out=torch.ones(3))",
    "out with grad, no_grad": "with torch.no_grad(): r = torch.mul(x, x, out=torch.ones(3))",
    "numpy of grad": "x.numpy()",
    "item and float": "r = (x * 2)[0].item(), float(x[0])",
    "number with grad as alpha": "torch.add(x, x, alpha=x[0])",
    "resize_ grad": "x.resize_(2)",
    "eq records nothing": "r = (x == 1).requires_grad, torch.eq(x, x).grad_fn",
    "eq_ records": "y = x * 1; y.eq_(1); r = y.grad_fn.name(); y.sum().backward(); r = r, x.grad",
    "int result": "r = x.to(torch.int64).requires_grad, x.detach().requires_grad, x.view(torch.int32).requires_grad",
    # ---- complex and mixed dtypes ----
    "complex": "z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True); (z * z.conj()).real.sum().backward(); r = z.grad",
    "complex imag": "z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True); z.imag.sum().backward(); r = z.grad",
    "complex times real": "z = torch.tensor([1 + 2j, 3 - 1j, 1j], requires_grad=True); (z * x).real.sum().backward(); r = z.grad, x.grad",
    "complex number": "(x * (1 + 2j)).imag.sum().backward(); r = x.grad",
    "complex view write": "z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True) * 1; z.real.mul_(3); r = torch.autograd.grad(z.imag.sum() + z.real.sum(), z)",
    "complex view write reaches": "z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True); y = z * 1; y.real.mul_(3); (y.imag.sum() + y.real.sum()).backward()\n"
                                  "r = z.grad, y.grad_fn.name()",
    "complex double backward": "z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True); g, = torch.autograd.grad((z * z * z.conj()).real.sum(), z, create_graph=True)\n"
                               "r = g.detach(), torch.autograd.grad(torch.view_as_real(g).sum(), z)",
    "promotion": "t = torch.ones(3, dtype=torch.float64, requires_grad=True); (x * t).sum().backward(); r = x.grad, t.grad",
    "half": "t = torch.tensor([1.5, 2.5], dtype=torch.float16, requires_grad=True); (t * t).backward(torch.ones(2, dtype=torch.float16)); r = t.grad",
    "bfloat16": "t = torch.tensor([1.5, 2.5], dtype=torch.bfloat16, requires_grad=True); (t * 3).backward(torch.ones(2, dtype=torch.bfloat16)); r = t.grad",
    "int factor": "(x * torch.tensor([1, 2, 3])).sum().backward(); r = x.grad",
    "broadcast": "t = torch.ones(2, 1, requires_grad=True); (x * t).sum().backward(); r = x.grad, t.grad",
    "broadcast scalar": "t = torch.tensor(2.0, requires_grad=True); (x * t + t).sum().backward(); r = x.grad, t.grad",
    "to and back": "x.to(torch.float64).mul(2).to(torch.float16).to(torch.float32).sum().backward(); r = x.grad",
    "sum of many uses": "y = x * 1; (y + y * 2 + y * y + x).sum().backward(); r = x.grad",
    "leaf is kept out": "w = torch.ones(3, requires_grad=True); y = x * w; del w; y.sum().backward(); r = x.grad",
    "deep graph": "y = x\nfor _ in range(3000): y = y + 1\ny.sum().backward(); r = x.grad",
}


def outcome(piece: str, namespace: dict) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(LEAVES, namespace)
            exec(piece, namespace)  # noqa: S102 (our own code)
            return plain(namespace.get("r"))
        except Exception as error:  # noqa: BLE001
            return type(error).__name__, str(error).split("\n")[0]


def plain(value) -> object:
    if isinstance(value, (torch.Tensor, reftorch.Tensor)):
        return "tensor", str(value.dtype), tuple(value.shape), repr(value.detach().resolve_conj().tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize("name", PIECES)
def test_piece(name):
    theirs = outcome(PIECES[name], {"torch": torch})
    ours = outcome(PIECES[name], {"torch": reftorch})
    assert ours == theirs
