"""Views, copies and factories do what PyTorch's do: geometry, values, aliasing, exception types and texts."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reftorch

torch = pytest.importorskip("torch")

TENSORS = {
    "scalar": lambda t: t.tensor(1.5),
    "vector": lambda t: t.arange(5.0),
    "matrix": lambda t: t.arange(6.0).view(2, 3),
    "turned": lambda t: t.arange(6.0).view(2, 3).t(),
    "cube": lambda t: t.arange(24.0).view(2, 3, 4),
    "ones": lambda t: t.arange(3.0).view(1, 3, 1),
    "expanded": lambda t: t.arange(3.0).view(1, 3).expand(2, 3),
    "gaps": lambda t: t.arange(24.0).view(4, 6)[::2, 1::2],
    "empty": lambda t: t.zeros(0, 3),
    "ints": lambda t: t.arange(6).view(2, 3),
    "complex": lambda t: t.tensor([1 + 2j, 3 - 1j]),
    "half": lambda t: t.tensor([1.5, 2.5, -3.0], dtype=t.float16),
    "bfloat": lambda t: t.tensor([1.5, 2.5, -3.0, 0.1], dtype=t.bfloat16),
}
CALLS = [
    "x.view(-1)", "x.view(6)", "x.view(3, 2)", "x.view(2, -1)", "x.view((6, 1))", "x.view(-1, -1)", "x.view(4, -1)", "x.view(-2)",
    "x.view(0, -1)", "x.view(1, *x.shape, 1)", "x.view(torch.int32)", "x.view(torch.float64)", "x.view(torch.int16)",
    "x.view(torch.bool)", "x.view(dtype=torch.uint8)", "x.view(size=(3, 2))", "x.view('a')", "x.view(2.0)", "x.view()",
    "x.reshape(-1)", "x.reshape(3, -1)", "x.reshape(7)", "x.reshape((6,))", "torch.reshape(x, (-1, 1))", "torch.reshape(x, -1)",
    "x.flatten()", "x.flatten(1)", "x.flatten(0, 1)", "x.flatten(1, 0)", "x.flatten(5)", "x.ravel()",
    "x.permute(1, 0)", "x.permute((0,))", "x.permute(0, 0)", "x.permute(2, 0, 1)", "x.permute(-1, 0)", "torch.permute(x, (1, 0))",
    "x.transpose(0, 1)", "x.transpose(-1, 0)", "x.transpose(0, 2)", "torch.transpose(x, 1, 1)", "x.t()", "x.T", "x.mT",
    "x.expand(2, 3)", "x.expand(4, -1, -1)", "x.expand(-1, 3)", "x.expand(2, 2, 3, 4)", "x.expand(3)", "x.expand((2, *x.shape))",
    "x.expand(1, *x.shape)", "x.expand_as(torch.ones(2, 3))", "x.expand_as(3)", "x.view_as(torch.ones(3, 2))", "x.view_as(x)",
    "x.as_strided((2, 2), (1, 2))", "x.as_strided((2,), (1,), 1)", "x.as_strided((100,), (1,))", "x.as_strided((2,), (1, 1))",
    "x.as_strided((2,), (-1,))", "x.as_strided((2, 2), (0, 1))", "x.as_strided((), (), 2)", "torch.as_strided(x, (1,), (7,))",
    "x.select(0, 1)", "x.select(1, -1)", "x.select(-1, 0)", "x.select(0, 7)", "x.select(3, 0)", "torch.select(x, 0, 0)",
    "x.select('a', 0)", "x.select(0, 1.0)", "x.select(True, 0)", "x.select(torch.tensor(0), torch.tensor(1))",
    "x.narrow(0, 1, 1)", "x.narrow(0, -1, 1)", "x.narrow(0, 1, 9)", "x.narrow(1, 0, 2)",
    "x.unsqueeze(0)", "x.unsqueeze(-1)", "x.unsqueeze(1)", "x.unsqueeze(5)", "x.unsqueeze(1.0)", "torch.unsqueeze(x, 0)",
    "x.squeeze()", "x.squeeze(0)", "x.squeeze(-1)", "x.squeeze((0, 2))", "x.squeeze(3)", "x.squeeze((0, 0))",
    "x.unbind()[0]", "x.unbind(1)[-1]", "x.unbind(7)", "list(x)[1]", "torch.unbind(x, -1)[0]",
    "x.detach()", "x.real", "x.imag", "torch.real(x)", "torch.view_as_real(x)", "torch.view_as_complex(x)",
    "torch.view_as_complex(torch.view_as_real(x))", "x.conj().resolve_conj()", "x.conj().resolve_conj().imag",
    "x.clone()", "x.clone(memory_format=torch.contiguous_format)", "x.contiguous()", "x[::1].contiguous()",
    "x.to(torch.float64)", "x.to(torch.int32)", "x.to(torch.bool)", "x.to('cpu', torch.float16)", "x.to(x)", "x.to(torch.ones(1).double())",
    "x.to(dtype=torch.bfloat16)", "x.to(torch.float32, copy=True)", "x.to(torch.float32, True, True)", "x.to('nowhere:x')",
    "x.double()", "x.half()", "x.bfloat16()", "x.int()", "x.long()", "x.bool()", "x.float()", "x.type()", "x.type(torch.int16)",
    "x.cpu()", "x.type_as(torch.ones(1).int())",
    "x.sum()", "x.sum(0)", "x.sum((0, 1))", "x.sum(-1, keepdim=True)", "x.sum(5)", "x.sum((0, 0))", "x.sum(dtype=torch.float64)",
    "x.sum_to_size(1, 3)", "x.sum_to_size(3)", "x.sum_to_size(())", "x.sum_to_size(7)", "x.sum(dim=())",
    "torch.equal(x, x)", "torch.equal(x, x.t())", "torch.equal(x, x.double())", "torch.allclose(x, x)", "torch.allclose(x, x + 1)",
    "torch.allclose(x, x * (1 + 1e-6))", "torch.allclose(x, x.double())", "torch.allclose(x, x, rtol=-1.0)",
    "x.clone().fill_(7)", "x.clone().fill_(2.5)", "x.clone().fill_(1e39)", "x.clone().fill_(torch.tensor(3))", "x.clone().fill_('a')",
    "x.clone().fill_(torch.ones(2))", "x.clone().fill_(1j)", "x.clone().zero_()", "x.clone().copy_(x)", "x.clone().copy_(torch.ones(3))",
    "x.clone().copy_(torch.ones(9, 9))", "x.clone().copy_(torch.ones(4, 2, 3))", "x.clone().copy_(1)", "x.copy_(x)", "x.fill_(3)",
    "x.copy_(x.clone())", "x.view(-1)[1:].copy_(x.view(-1)[:-1])", "x.clone().resize_(2).shape", "x.clone().resize_(2, 2).stride()", "x.clone().resize_(-1)",
    "torch.zeros_like(x)", "torch.ones_like(x, dtype=torch.int64)", "torch.full_like(x, 3)", "torch.full_like(x, 1e39)",
    "torch.empty_like(x).stride()", "x.new_zeros(2, 3)", "x.new_ones((2,))", "x.new_full((2,), 3)", "x.new_empty(3).dtype",
    "x.new_tensor([1, 2])", "torch.as_tensor(x) is x", "torch.tensor(x)", "x.is_contiguous()", "x.is_nonzero()", "x.size(-1)", "x.stride(0)",
    "x.size(9)", "len(x)", "x.item()", "bool(x)", "float(x)", "x.numel()", "x.element_size()", "x.is_floating_point()",
]


def outcome(call: str, namespace) -> object:
    """What the expression gives, as plain values, or the exception's type and first line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(call, namespace))  # noqa: S307 (our own expressions)
        except Exception as error:  # noqa: BLE001
            text = str(error).split("\n")[0]
            return type(error).__name__, "" if "invalid combination" in text or "device string" in text else text


def plain(value) -> object:
    if isinstance(value, (torch.Tensor, reftorch.Tensor)):
        return ("tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()), value.storage_offset(), value._is_view(),
                repr(value.tolist()))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return str(value)


@pytest.mark.parametrize("name", TENSORS)
def test_calls(name):
    different = []
    for call in CALLS:
        theirs = outcome(call, {"torch": torch, "x": TENSORS[name](torch)})
        ours = outcome(call, {"torch": reftorch, "x": TENSORS[name](reftorch)})
        if ours != theirs and not (isinstance(theirs, tuple) and theirs[0] == "TypeError" == ours[0] and "" in (theirs[1], ours[1])):
            different.append(f"{call}\n  ours  {ours}\n  torch {theirs}")
    assert not different, "\n".join(different)
