"""Random programs of views, in-place and ordinary operators, run on any torch-shaped namespace.

A program is data: leaves and steps. `run` executes it and returns what can be observed after each step, as plain values,
so that two libraries can be compared.
"""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from hypothesis import strategies as st

SHAPES = [(2, 3), (3,), (1, 3), (2, 1), (), (3, 2)]
LIMIT = 2.0**50  # beyond, sums of integers are no longer exact and may differ in the last bit

small = st.integers(-3, 3)
tensor_at = st.integers(0, 30)

VIEWS = {
    "select": lambda t, a, b: t.select(a % max(t.dim(), 1), b),
    "slice": lambda t, a, b: t[a % 2:],
    "step": lambda t, a, b: t[..., ::2],
    "item": lambda t, a, b: t[a % 2],
    "transpose": lambda t, a, b: t.transpose(0, -1),
    "t": lambda t, a, b: t.t(),
    "permute": lambda t, a, b: t.permute(*reversed(range(t.dim()))),
    "expand": lambda t, a, b: t.expand(2, *t.shape),
    "stretch": lambda t, a, b: t.expand(2, 3),
    "unsqueeze": lambda t, a, b: t.unsqueeze(a % 2),
    "squeeze": lambda t, a, b: t.squeeze(),
    "squeeze0": lambda t, a, b: t.squeeze(0),
    "flat": lambda t, a, b: t.view(-1),
    "reshape": lambda t, a, b: t.reshape(-1),
    "flatten": lambda t, a, b: t.flatten(),
    "whole": lambda t, a, b: t[...],
    "newaxis": lambda t, a, b: t[None, ..., 0],
    "as_strided": lambda t, a, b: t.as_strided((2,), (1,)),
    "as_strided_overlap": lambda t, a, b: t.as_strided((2, 2), (1, 1)).clone(),
    "unbind": lambda t, a, b: t.unbind()[a % 2],
    "detach": lambda t, a, b: t.detach(),
    "view_as": lambda t, a, b: t.view_as(t),
    "narrow": lambda t, a, b: t.narrow(0, 0, 1),
    "contiguous": lambda t, a, b: t.contiguous(),
    "data": lambda t, a, b: t.data,
}
BINARY = {
    "add": lambda torch, x, y, n: x + y,
    "sub": lambda torch, x, y, n: x - y,
    "mul": lambda torch, x, y, n: x * y,
    "add_alpha": lambda torch, x, y, n: torch.add(x, y, alpha=n),
    "mul_number": lambda torch, x, y, n: x * n,
    "sub_number": lambda torch, x, y, n: x - n,
    "neg": lambda torch, x, y, n: -x,
    "clone": lambda torch, x, y, n: x.clone(),
    "float": lambda torch, x, y, n: x.to(torch.float32).to(torch.float64),
    "sum": lambda torch, x, y, n: x.sum(),
    "sum0": lambda torch, x, y, n: x.sum(0),
    "sum_keep": lambda torch, x, y, n: x.sum(-1, keepdim=True),
    "addcmul": lambda torch, x, y, n: torch.addcmul(x, y, x, value=n),
    "maximum": lambda torch, x, y, n: torch.maximum(x, y + 0.5),
    "abs": lambda torch, x, y, n: (x + 0.5).abs(),
}
WRITES = {
    "add_": lambda torch, x, y, n: x.add_(y),
    "iadd": lambda torch, x, y, n: x.__iadd__(n),
    "sub_": lambda torch, x, y, n: x.sub_(y, alpha=n),
    "mul_": lambda torch, x, y, n: x.mul_(y),
    "mul_number_": lambda torch, x, y, n: x.mul_(n),
    "neg_": lambda torch, x, y, n: x.neg_(),
    "copy_": lambda torch, x, y, n: x.copy_(y),
    "fill_": lambda torch, x, y, n: x.fill_(n),
    "zero_": lambda torch, x, y, n: x.zero_(),
    "addcmul_": lambda torch, x, y, n: x.addcmul_(y, y, value=n),
    "set": lambda torch, x, y, n: x.__setitem__(0, n),
    "set_tensor": lambda torch, x, y, n: x.__setitem__(Ellipsis, y),
    "set_part": lambda torch, x, y, n: x.__setitem__(slice(0, 1), y),
    "detach_": lambda torch, x, y, n: x.detach_(),
    "requires_grad_": lambda torch, x, y, n: x.requires_grad_(),
    "requires_grad_false": lambda torch, x, y, n: x.requires_grad_(False),
    "retain_grad": lambda torch, x, y, n: x.retain_grad(),
}

leaf = st.tuples(st.sampled_from(SHAPES), st.lists(small, min_size=6, max_size=6), st.booleans())
step = st.one_of(
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), tensor_at, small, small, st.just(False)),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), tensor_at, small, small,
              st.sampled_from([False, False, True])),
    st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), tensor_at, tensor_at, small, st.just(False)),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), tensor_at, tensor_at, small,
              st.sampled_from([False, False, False, True])),
)
programs = st.tuples(st.lists(leaf, min_size=2, max_size=3), st.lists(step, min_size=5, max_size=15),
                     st.lists(st.lists(small, min_size=12, max_size=12), min_size=1, max_size=3),
                     st.sampled_from(["backward", "grad", "double"]))


def run(torch: Any, program: Any, device: str = "cpu") -> list[Any]:
    """What happens, step by step. Raises OverflowError where exactness ends."""
    leaves, steps, weights, ending = program
    tensors = []
    for shape, values, wants in leaves:
        n = 1
        for s in shape:
            n *= s
        t = torch.tensor([float(v) for v in values[:n]], dtype=torch.float64, device=device).reshape(shape)
        tensors.append(t.clone().requires_grad_(wants))
    seen: list[Any] = [observe_all(tensors)]
    for kind, name, i, j, n, off in steps:
        x, y = tensors[i % len(tensors)], tensors[j % len(tensors)]
        if kind == "write" and x is not y and same_memory(x, y) and not (x.is_contiguous() and y.is_contiguous()):
            y = y.detach().clone()  # what a write that overlaps its source gives is nobody's business
        with torch.no_grad() if off else nullcontext():
            try:
                if kind == "view":
                    result = VIEWS[name](x, j, n)
                else:
                    result = (BINARY if kind == "binary" else WRITES)[name](torch, x, y, n)
            except Exception as error:  # noqa: BLE001 (the error is what is compared)
                seen.append((kind, name, failure(error)))
                continue
        if kind != "write":
            tensors.append(result)
        seen.append((kind, name, observe_all(tensors)))
    seen.append(finish(torch, tensors, weights, ending))
    return seen


def same_memory(x: Any, y: Any) -> bool:
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def failure(error: Exception) -> tuple[str, str]:
    return type(error).__name__, str(error).split("\n")[0].replace("torch.cuda.", "torch.")


def observe_all(tensors: list[Any]) -> list[Any]:
    return [observe(t) for t in tensors]


def observe(t: Any) -> Any:
    try:
        history = t.grad_fn.name() if t.grad_fn is not None else None, t.is_leaf
        edges = [node.name() if node is not None else None for node, _ in t.grad_fn.next_functions] if t.grad_fn else []
    except Exception as error:  # noqa: BLE001
        history, edges = failure(error), []
    values = t.tolist()
    if t.numel() and max(abs(v) for v in flat(values)) > LIMIT:
        raise OverflowError
    return t.requires_grad, history, edges, t._version, tuple(t.shape), tuple(t.stride()), t._is_view(), values


def flat(values: Any) -> list[float]:
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


def finish(torch: Any, tensors: list[Any], weights: list[list[int]], ending: str) -> Any:
    """Gradients of some weighted sum of the last tensors with respect to all that require grad."""
    try:
        wanted = [t for t in tensors if t.requires_grad]
        outputs, grads = [], []
        for t, w in zip(reversed(wanted), weights):
            outputs.append(t)
            values = (w * (t.numel() // len(w) + 1))[:t.numel()]
            grads.append(torch.tensor([float(v) for v in values], dtype=torch.float64, device=t.device).reshape(t.shape))
        if ending == "backward":
            torch.autograd.backward(outputs, grads)
        else:
            found = torch.autograd.grad(outputs, wanted, grads, allow_unused=True, create_graph=ending == "double")
            result = [None if g is None else observe_gradient(g) for g in found]
            if ending == "double":
                again = [g for g in found if g is not None and g.requires_grad]
                torch.autograd.backward(again, [torch.ones_like(g) for g in again])
                return result, [g.requires_grad for g in found if g is not None], gradients(tensors)
            return result
    except OverflowError:
        raise
    except Exception as error:  # noqa: BLE001
        return failure(error)
    return gradients(tensors)


def gradients(tensors: list[Any]) -> list[Any]:
    # Strides of dimensions of size 1 say nothing: PyTorch keeps whatever a gradient that it does not copy has.
    return [None if g is None else (observe_gradient(g), [s for n, s in zip(g.shape, g.stride()) if n != 1])
            for g in map(gradient, tensors)]


def gradient(t: Any) -> Any:
    try:
        return t.grad if t.is_leaf or t.retains_grad else None
    except RuntimeError:  # a view whose history is lost
        return None


def observe_gradient(g: Any) -> Any:
    try:
        values = g.tolist()
    except RuntimeError:  # PyTorch's zero tensors have no memory
        values = (g + 0).tolist()
    if g.numel() and max(abs(v) for v in flat(values)) > LIMIT:
        raise OverflowError
    return tuple(g.shape), values
